"""Replicates are seeded and resumable."""

import json
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulations import replicates
from simulations.replicates import MODULES, RESULTS, run_all, seed_of
from simulations.scenarios import Scenario, draw

from relprev.store.modules import upstream

SMALL = Scenario(n=3000, intercept=-2.0)


def fake_run(job):
    return [{"scenario": job[0], "replicate": job[1], "value": float(job[1])}]


def test_a_replicate_has_its_own_seed():
    one, two = draw(SMALL, seed_of(("x", 1))), draw(SMALL, seed_of(("x", 1)))
    other = draw(SMALL, seed_of(("x", 2)))
    np.testing.assert_array_equal(one.cohort.diagnosed, two.cohort.diagnosed)
    assert (one.cohort.diagnosed != other.cohort.diagnosed).any()


def test_a_file_is_continued_not_run_again(tmp_path):
    out = tmp_path / "rows.csv"
    run_all(fake_run, [("a", 0), ("a", 1)], out, processes=1, command="first")
    kept = pd.read_csv(out).assign(value=100.0)
    kept.to_csv(out, index=False)
    table = run_all(fake_run, [("a", 0), ("a", 1), ("b", 0)], out, 1, "second")
    assert table["value"].tolist() == [100.0, 100.0, 0.0]
    assert len(pd.read_csv(out)) == 3
    assert json.loads(out.with_suffix(".json").read_text())["command"] == "second"


def test_the_number_of_processes_does_not_matter(tmp_path):
    jobs = [("a", number) for number in range(5)]
    tables = [run_all(fake_run, jobs, tmp_path / f"{count}.csv", count, "x") for count in (1, 2)]
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert len(tables[1]) == 5


def refused(job):
    raise AssertionError(f"{job} was run again")


def stopped(job, at):
    if job[1] == at:
        raise KeyboardInterrupt
    return fake_run(job)


def test_a_stopped_run_has_its_replicates_in_the_file(tmp_path):
    out = tmp_path / "rows.csv"
    jobs = [("a", number) for number in range(5)]
    with pytest.raises(KeyboardInterrupt):
        run_all(partial(stopped, at=3), jobs, out, 1, "x")
    assert pd.read_csv(out)["replicate"].tolist() == [0, 1, 2]
    run_all(fake_run, jobs, out, 1, "x")
    calm = tmp_path / "calm.csv"
    run_all(fake_run, jobs, calm, 1, "x")
    assert out.read_bytes() == calm.read_bytes()
    assert sorted(path.name for path in tmp_path.glob("rows*")) == ["rows.csv", "rows.json"]


SCRIPT = """
import time
from simulations import replicates
from tests.simulation_studies.test_replicates import fake_run
replicates.provenance = lambda modules: {}

def slow(job):
    time.sleep(0.05 if job[1] < 3 else 600)
    return fake_run(job)

slow.__module__, slow.__qualname__ = fake_run.__module__, fake_run.__qualname__
replicates.run_all(slow, [("a", k) for k in range(5)], replicates.Path(r"OUT"), 1, "x")
"""


def test_a_killed_run_loses_only_the_replicate_in_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(replicates, "provenance", lambda modules: {})
    out = tmp_path / "rows.csv"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT.replace("OUT", str(out))])
    deadline = time.monotonic() + 120
    while len(list(out.with_suffix(".cells").glob("[!.]*.json"))) < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not out.exists()
    seen = []

    def watched(job):
        seen.append(job)
        return fake_run(job)

    watched.__module__, watched.__qualname__ = fake_run.__module__, fake_run.__qualname__
    table = run_all(watched, [("a", k) for k in range(5)], out, 1, "x")
    assert seen == [("a", 3), ("a", 4)]
    assert table["value"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_replicates_of_other_code_or_options_are_run_again(tmp_path, monkeypatch):
    keys = replicates._marks(partial(stopped, at=1))
    assert keys != replicates._marks(partial(stopped, at=2))
    assert keys != replicates._marks(fake_run)
    monkeypatch.setattr(replicates, "provenance", lambda modules: {"source_digest": "other"})
    assert keys != replicates._marks(partial(stopped, at=1))


def test_replicates_depend_on_modules_that_exist():
    assert set(MODULES) <= set(upstream(*MODULES))


@pytest.mark.parametrize("stored", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_stored_results_are_continued_as_they_are(stored, tmp_path):
    """A run that finds everything in the file changes neither it nor its note."""
    for path in (stored, stored.with_suffix(".csv")):
        shutil.copy(path, tmp_path)
    out = Path(tmp_path / stored.name).with_suffix(".csv")
    before = out.read_bytes()
    table = pd.read_csv(out)
    jobs = list(zip(table["scenario"], table["replicate"], strict=True))[:200]
    found = run_all(refused, jobs, out, 1, "again")
    pd.testing.assert_frame_equal(found, table)
    assert out.read_bytes() == before
    assert (tmp_path / stored.name).read_bytes() == stored.read_bytes()
