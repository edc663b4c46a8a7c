"""kill -9 at random moments: nothing half-written, and the rerun gives the same bytes."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import time

import pytest

from relprev.study import Study
from tests.study.conftest import csv_files, write_tables


def _run(file, out):
    Study.from_toml(file).run(out, verbose=False)


def _start(file, out):
    context = multiprocessing.get_context("forkserver")  # imports once, then forks
    context.set_forkserver_preload(["relprev.study.run"])
    process = context.Process(target=_run, args=(file, out))
    process.start()
    return process


def _finish(file, out):
    began = time.monotonic()
    process = _start(file, out)
    process.join()
    assert process.exitcode == 0
    return time.monotonic() - began


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """A study file, the CSV files of its results, and the seconds a run takes."""
    folder = tmp_path_factory.mktemp("kill")
    file = write_tables(folder)
    _finish(file, folder / "warm")  # compiled code is in the cache from here on
    seconds = _finish(file, folder / "reference")
    return file, csv_files(folder / "reference"), seconds


def _killed(file, out, seconds, reference):
    """Start a run and kill it after so many seconds; whether it was still running."""
    process = _start(file, out)
    process.join(seconds)
    alive = process.is_alive()
    process.kill()
    process.join()
    if out.exists():  # then it is whole
        assert csv_files(out) == reference
        assert (out / "manifest.json").is_file()
    return alive


def _require_same_results(file, out, reference):
    _finish(file, out)
    assert csv_files(out) == reference
    assert not (out.parent / f"{out.name}.work").exists()


def test_a_run_killed_five_times_ends_with_the_same_results(whole_run, tmp_path):
    """Each run goes on from what the killed ones before it had finished."""
    file, reference, seconds = whole_run
    moments = random.Random(0)
    killed = [
        _killed(file, tmp_path / "results", moments.uniform(0.05, 0.7) * seconds, reference)
        for _ in range(5)
    ]
    assert sum(killed) >= 2
    _require_same_results(file, tmp_path / "results", reference)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_sixty_kills_each_followed_by_a_rerun(whole_run, tmp_path):
    """A run that is done before its moment comes does not count; on a busy machine some are."""
    file, reference, seconds = whole_run
    moments = random.Random(1)
    killed = 0
    for number in range(120):
        out = tmp_path / f"results-{number}"
        killed += _killed(file, out, moments.uniform(0.0, 0.7) * seconds, reference)
        _require_same_results(file, out, reference)
        shutil.rmtree(out)
        if killed == 60:
            return
    pytest.fail(f"only {killed} runs were still running when they were to be killed")
