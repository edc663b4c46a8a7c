"""A study in memory, out of core and on two Dask workers gives the same results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from relprev import DebiasedPURPLE
from relprev.cli import app
from relprev.codes import CodeSet
from relprev.cohort import Cohort, CohortSpec, GroupVariable, build_cohorts
from relprev.errors import ClusterError, InvalidInputError
from relprev.inference.folds import make_folds
from relprev.inference.sampling import SamplingDesign
from relprev.parallel import cluster
from relprev.simulate.neds import write_neds
from relprev.sources import read_nhds
from relprev.study import Study
from relprev.study import run as run_module
from relprev.study.file.template import study_template
from relprev.study.inspect import inspect_study
from tests.study.conftest import nothing_made_again, write_tables

SAME = 1e-8
NUMBERS = ["estimate", "std_error", "ci_low", "ci_high", "observed_ratio", "diagnosis_ratio", "n"]


@pytest.fixture(scope="module")
def client():
    """Of a cluster that runs already, and to which an address is enough."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as running,
        distributed.Client(running) as connected,
    ):
        yield connected


def on_disk(study, rows=1_000):
    return replace(study, compute=replace(study.compute, out_of_core=True, rows_per_part=rows))


def assert_same_results(one, other):
    """Estimates and checks of two results; the latter to six digits, as they divide by little."""
    for first, second in zip(one.report.variables, other.report.variables, strict=True):
        assert list(first.estimates) == list(second.estimates)
        for method, expected in first.estimates.items():
            found = second.estimates[method]
            assert found["group"].tolist() == expected["group"].tolist()
            columns = [name for name in NUMBERS if name in expected]
            np.testing.assert_allclose(
                found[columns].to_numpy(float), expected[columns].to_numpy(float), rtol=SAME
            )
        assert [check.name for check in first.checks] == [check.name for check in second.checks]
        for expected, found in zip(first.checks, second.checks, strict=True):
            assert found.verdict == expected.verdict
            pd.testing.assert_frame_equal(found.table, expected.table, rtol=1e-6)
        pd.testing.assert_frame_equal(first.attrition, second.attrition)
        pd.testing.assert_frame_equal(first.groups, second.groups)
        pd.testing.assert_frame_equal(first.symptoms, second.symptoms, rtol=1e-6)


@pytest.fixture(scope="module", autouse=True)
def one_deal():
    """Folds are dealt once: further deals are the same work again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("relprev.inference.repeats.MOST_REPEATS", 1)
        yield


@pytest.fixture(scope="module")
def neds(tmp_path_factory):
    """A study of a small simulated NEDS file: survey design, two payers."""
    folder = tmp_path_factory.mktemp("neds")
    write_neds(folder / "NEDS_2019_Core.csv", 25_000, n_codes=100, prevalence=0.3, seed=3)
    text = study_template("neds").replace('# cache = "cache"', 'cache = "cache"')
    (folder / "neds.toml").write_text(text)
    study = Study.from_toml(folder / "neds.toml")
    payer = tuple(group for group in study.cohort.groups if group.name == "payer")
    inference = replace(study.inference, folds=2)
    return replace(study, cohort=replace(study.cohort, groups=payer), inference=inference)


@pytest.fixture(scope="module")
def in_memory(neds):
    return neds.run(verbose=False)


def test_neds_out_of_core(neds, in_memory):
    assert_same_results(in_memory, on_disk(neds, 3_001).run(verbose=False))


def test_neds_on_two_workers(neds, in_memory, client):
    few = replace(neds, checks=replace(neds.checks, run=("overlap", "leakage")))
    found = on_disk(few, 9_001).run(verbose=False, client=client)
    kinds = [check.kind for check in found.report.variables[0].checks]
    assert kinds == ["overlap", "leakage"]
    variables = tuple(
        replace(item, checks=tuple(check for check in item.checks if check.kind in kinds))
        for item in in_memory.report.variables
    )
    expected = replace(in_memory, report=replace(in_memory.report, variables=variables))
    assert_same_results(expected, found)


def test_nhds_in_memory_on_disk_and_on_two_workers(real_data, tmp_path, client):
    """Depression by race: the same folds, estimates and standard errors."""
    source = read_nhds(real_data("nhds-2010/NHDS10.PU.txt.bz2"))
    race = GroupVariable("race", {"White": ["White"], "Black": ["Black"]})
    spec = CohortSpec(CodeSet.of("depression", ["ICD9:311"]), (race,))
    spec = replace(spec, features=replace(spec.features, roll_up="category", min_count=1000))
    whole = build_cohorts(spec, source)["race"].cohort
    build_cohorts(spec, source, folder=tmp_path, rows_per_part=80_000)

    def fitted(cohort):
        linear = DebiasedPURPLE("ridge", "purple", strengths=[100.0], lambdas=[1e-3], folds=2)
        return linear.fit(cohort)

    expected = fitted(whole).relative_prevalence().to_frame()
    folds = make_folds(whole, SamplingDesign.from_cohort(whole), 2, 0)
    for connected in (None, client):
        parts = Cohort.open(tmp_path / "cohort-0", connected)
        own = make_folds(parts, SamplingDesign.from_cohort(parts), 2, 0)
        for one, other in zip(folds, own, strict=True):
            np.testing.assert_array_equal(one, other)
        found = fitted(parts).relative_prevalence().to_frame()
        np.testing.assert_allclose(
            found[NUMBERS].to_numpy(float), expected[NUMBERS].to_numpy(float), rtol=SAME
        )


def test_truth_of_simulated_visits_does_not_depend_on_the_parts(tmp_path):
    (tmp_path / "study.toml").write_text(study_template("simulated"))
    study = Study.from_toml(tmp_path / "study.toml")
    source = replace(study.source, arguments={"visits": 6_000, "codes": 60, "survey": True})
    estimate = replace(study.estimate, methods=("purple",))
    study = replace(study, source=source, estimate=estimate, checks=replace(study.checks, run=()))
    expected = study.run(verbose=False).table("group")["truth"]
    found = on_disk(study).run(verbose=False).table("group")["truth"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_look_before_a_run_is_the_same(tables_study):
    study = Study.from_toml(tables_study)
    one, other = inspect_study(study), inspect_study(on_disk(study))
    assert (one.codes, one.words, one.notes) == (other.codes, other.words, other.notes)
    pd.testing.assert_frame_equal(one.variables[0].groups, other.variables[0].groups)


# -- stopped, damaged, lost ----------------------------------------------------------------


def lines(out):
    return (out.parent / f"{out.name}.work" / "run.log").read_text()


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_damaged_or_missing_part_is_written_again(damage, tables_study, monkeypatch):
    study = on_disk(Study.from_toml(tables_study))
    out = tables_study.parent / "results"

    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "run_check", stop)
        with pytest.raises(KeyboardInterrupt):
            study.run(out, verbose=False)
    work = out.parent / "results.work"
    (part, *_) = sorted(work.glob("parts-*/cohort-0/part-00001.arrow"))
    content = part.read_bytes()
    if damage == "missing":
        part.unlink()
    else:
        part.write_bytes(content[:-20] + bytes(20))
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "run_check", stop)
        with pytest.raises(KeyboardInterrupt):
            study.run(out, verbose=False)
    assert "cohort: what was kept is damaged or gone; it is made again" in lines(out)
    assert "cohort: begun" in lines(out)
    assert "ward: debiased: kept" in lines(out)  # the same parts, so the estimates hold
    assert part.read_bytes() == content


def test_a_lost_cluster_stops_the_study_and_a_rerun_goes_on(tables_study, monkeypatch):
    """Not a warning in the report: nothing is written, and what is finished is kept."""
    study = on_disk(Study.from_toml(tables_study))
    out = tables_study.parent / "results"

    def lost(*args):
        raise ClusterError("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "run_check", lost)
        with pytest.raises(ClusterError, match="lost"):
            study.run(out, verbose=False)
    assert not out.exists()
    assert "the connection was lost" in lines(out)
    with nothing_made_again(monkeypatch):
        study.run(out, verbose=False)
    assert (out / "report.html").is_file()
    assert not (out.parent / "results.work").exists()


# -- command line --------------------------------------------------------------------------


def test_the_option_in_the_file_is_checked(tables_study):
    for wrong, words in (
        ("rows_per_part = 10", "compute.rows_per_part"),
        ("workers = 2", "compute.workers: there is no such key"),
    ):
        tables_study.write_text(tables_study.read_text() + f"\n[compute]\n{wrong}\n")
        with pytest.raises(InvalidInputError, match=words):
            Study.from_toml(tables_study)
        tables_study.write_text(tables_study.read_text().partition("\n[compute]")[0])


def test_options_of_the_command_line_leave_the_results_as_they_are(
    tables_study, client, monkeypatch
):
    """Also where the workers are in another directory and the results folder is relative."""
    tables_study.write_text(tables_study.read_text().replace('"debiased", "purple"', '"purple"'))
    monkeypatch.chdir(tables_study.parent)
    address = client.scheduler.address
    options = {
        "a": [],
        "b": ["--out-of-core"],
        "c": ["--cluster", address],
        "d": ["--workers", "1"],
    }
    for name, given in options.items():
        done = CliRunner().invoke(app, ["run", "pain.toml", "--out", name, "--quiet", *given])
        assert done.exit_code == 0, done.output
    tables = [pd.read_csv(Path(name, "estimates.csv")) for name in options]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0], rtol=SAME)


def test_mistakes_on_the_command_line_leave_nothing_behind(tables_study, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS", 0.5)
    out = tables_study.parent / "results"
    run = ["run", str(tables_study), "--out", str(out), "--quiet"]
    for options, words in (
        (["--cluster", "tcp://127.0.0.1:1"], "no scheduler answers at tcp://127.0.0.1:1"),
        (["--workers", "2", "--cluster", "tcp://127.0.0.1:1"], "give one of them"),
    ):
        error = CliRunner().invoke(app, run + options).exception
        assert isinstance(error, ClusterError | InvalidInputError)
        assert words in str(error)
    assert {file.name for file in tables_study.parent.iterdir()} == {
        "codes.csv", "pain.toml", "visits.csv",
    }  # fmt: skip


@pytest.mark.slow
def test_a_run_on_workers_that_is_killed_leaves_no_process_behind(tmp_path):
    """SIGKILL of the run: its workers end, and a rerun without them finishes the study."""
    file = write_tables(tmp_path, 1_000)
    file.write_text(file.read_text().replace('"debiased", ', ""))
    command = [sys.executable, "-m", "relprev", "run", str(file)]
    command += ["--out", str(tmp_path / "results"), "--quiet"]
    running = subprocess.Popen([*command, "--workers", "1"], stderr=subprocess.PIPE)
    assert running.stderr is not None
    work = tmp_path / "results.work"
    while not list(work.glob("cohort-*.json")):
        assert running.poll() is None
    os.kill(running.pid, signal.SIGKILL)
    running.stderr.read()  # ends when the last process that holds it does
    running.wait()
    assert subprocess.run([*command, "--out-of-core"], check=False).returncode == 0
    assert (tmp_path / "results" / "report.html").is_file()
