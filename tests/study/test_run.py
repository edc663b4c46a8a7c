from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import relprev
from relprev.checks.registry import CHECKS
from relprev.disclosure import NOT_SHOWN
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.messages import Message
from relprev.store import modules
from relprev.store.modules import source_digest
from relprev.study import CheckOptions, EstimateOptions, Study
from relprev.study import run as run_module
from relprev.study.stages import keys as keys_module
from relprev.study.stages.variable import Variable
from tests.study.conftest import (
    csv_files,
    nothing_made_again,
    simulated,
    with_a_small_ward,
    write_tables,
)

FILES = {
    "report.html", "estimates.csv", "estimates.parquet", "checks.csv", "attrition.csv",
    "symptoms.csv", "characteristics.csv", "methods.txt", "manifest.json", "run.log", "tables",
}  # fmt: skip


def stop(*args, **options):
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The small study of plain tables, run once: its file and its results."""
    file = write_tables(tmp_path_factory.mktemp("finished"))
    Study.from_toml(file).run(file.parent / "results", verbose=False)
    return file, file.parent / "results"


def test_a_run_writes_everything_and_leaves_nothing_behind(finished):
    file, out = finished
    assert {file.name for file in out.iterdir()} >= FILES
    assert not (out.parent / "results.work").exists()
    table = pd.read_csv(out / "estimates.csv")
    assert set(table["method"]) == {"DebiasedPURPLE", "PURPLE"}
    debiased = table[table["method"] == "DebiasedPURPLE"].set_index("group")
    assert (debiased["ci_low"] < debiased["estimate"]).all()
    assert debiased.loc["North", "observed_ratio"] < debiased.loc["North", "estimate"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["study"]["source"]["visits"] == "visits.csv"
    assert {item["name"] for item in manifest["data"]["files"]} == {"visits.csv", "codes.csv"}
    assert "ward: debiased" in manifest["seconds"]
    log = (out / "run.log").read_text()
    assert "cohort: finished in" in log
    assert "results complete" in log
    for name in ("manifest.json", "run.log", "report.html"):
        assert str(file.parent) not in (out / name).read_text()


def test_a_stopped_run_goes_on_where_it_was(finished, tables_study, monkeypatch):
    """Stopped in the checks: the cohort and the estimates are not made again.

    The results are, byte for byte, those of a run that was not stopped.
    """
    study = Study.from_toml(tables_study)
    out = tables_study.parent / "results"
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "run_check", stop)
        with pytest.raises(KeyboardInterrupt):
            study.run(out, verbose=False)
    assert not out.exists()
    work = out.parent / "results.work"
    assert (work.stat().st_mode & 0o777) == 0o700
    assert "stopped: KeyboardInterrupt" in (work / "run.log").read_text()
    with nothing_made_again(monkeypatch):
        study.run(out, verbose=False)
    assert csv_files(out) == csv_files(finished[1])
    assert len(csv_files(out)) > 5
    assert not work.exists()


@pytest.fixture
def stopped(tables_study, monkeypatch):
    """A study that was stopped before its report: its file, and the log of a run that was too."""
    monkeypatch.setattr(run_module, "write_report", stop)
    out = tables_study.parent / "results"

    def run(study):
        with pytest.raises(KeyboardInterrupt):
            study.run(out, verbose=False)
        return (out.parent / "results.work" / "run.log").read_text()

    run(Study.from_toml(tables_study))
    return tables_study, run


def kept_stages(log):
    return [re.search(r"(\w+): kept", line)[1] for line in log.splitlines() if ": kept" in line]


FITTED = ["debiased", "purple", "overlap", "leakage"]


def test_changed_data_or_settings_are_not_taken_from_an_earlier_run(stopped):
    file, run = stopped
    study = Study.from_toml(file)
    assert kept_stages(run(study)) == ["cohort", *FITTED]
    assert kept_stages(run(replace(study, seed=2))) == ["cohort"]
    visits = file.parent / "visits.csv"
    os.utime(visits, ns=(0, 0))  # the same content
    assert kept_stages(run(study)) == ["cohort", *FITTED]
    visits.write_text(visits.read_text().replace(",N,", ",S,", 1))
    assert kept_stages(run(study)) == []


def test_changed_input_of_the_same_size_and_time_is_noticed(stopped):
    file, run = stopped
    visits = file.parent / "visits.csv"
    before = visits.stat()
    visits.write_text(visits.read_text().replace(",N,", ",S,", 1))
    os.utime(visits, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert visits.stat().st_size == before.st_size
    assert kept_stages(run(Study.from_toml(file))) == []


@pytest.mark.parametrize("pattern", ["cohort-*.npz", "debiased-estimates-*.parquet",
                                     "purple-*.json", "leakage-table0-*.parquet"])  # fmt: skip
def test_one_flipped_bit_in_a_kept_file_is_noticed_and_said(pattern, stopped):
    """It used to change the estimates, or to fail for ever."""
    file, run = stopped
    work = file.parent / "results.work"
    (kept, *_) = sorted(work.glob(pattern))
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 1
    kept.write_bytes(content)
    log = run(Study.from_toml(file))
    stage = pattern.partition("-")[0]
    assert re.search(rf"WARNING {stage}.*damaged.*made again", log)
    assert len(kept_stages(log)) == 4  # all but the one
    assert kept_stages(run(Study.from_toml(file))) == ["cohort", *FITTED]


@pytest.mark.parametrize(
    ("module", "cohort_again", "estimates_again", "checks_again"),
    [
        ("report/figures/plots.py", False, False, False),
        ("cli/app.py", False, False, False),
        ("study/run.py", False, False, False),
        ("study/file/options.py", False, False, False),
        ("checks/overlap.py", False, False, True),
        ("inference/score.py", False, True, True),
        ("model/solver.py", False, True, True),
        ("sources/tables.py", True, False, False),
    ],
)
def test_a_stage_is_made_again_only_if_code_upstream_of_it_changed(
    module, cohort_again, estimates_again, checks_again, tmp_path, monkeypatch
):
    """A comment in the report must not refit a national study."""
    source = tmp_path / "relprev"
    shutil.copytree(Path(relprev.__file__).parent, source)
    monkeypatch.setattr(modules, "_root", lambda: source)

    def keys():
        modules._running_digest.cache_clear()  # as in a new process
        study = simulated()
        estimates = keys_module.estimate_key(study, "group", "1f")
        own = source_digest(*keys_module.CHECKING)
        return keys_module.cohort_key(study), estimates, own

    before = keys()
    assert (source / module).is_file()
    with (source / module).open("a") as file:
        file.write("# a comment\n")
    changed = [one != other for one, other in zip(before, keys(), strict=True)]
    modules._running_digest.cache_clear()
    assert changed == [cohort_again, estimates_again, checks_again]


def test_only_the_log_of_the_run_itself_is_published(stopped, monkeypatch):
    """An earlier run's lines, of another state of the data, are gone."""
    file, _ = stopped
    log = file.parent / "results.work" / "run.log"
    log.write_text(log.read_text() + "three patients of the north\n")
    monkeypatch.undo()
    result = Study.from_toml(file).run(file.parent / "results", verbose=False)
    text = (result.folder / "run.log").read_text()
    assert "three patients" not in text
    assert "KeyboardInterrupt" not in text
    assert text.count("results complete") == 1


def test_a_plain_warning_is_not_shown(monkeypatch):
    """Its text may hold counts that nobody declared."""

    def talkative(self, method):
        warnings.warn(DataWarning("3 of 40 patients are diagnosed"), stacklevel=2)
        return original(self, method)

    original = Variable.estimate
    monkeypatch.setattr(Variable, "estimate", talkative)
    said = simulated().run(verbose=False).report.warnings
    assert NOT_SHOWN in said
    assert "3 of 40" not in " ".join(said)


def test_checks_without_their_methods_are_named_not_dropped():
    result = simulated(checks=CheckOptions(run=("overlap", "leakage"))).run(verbose=False)
    assert [check.kind for check in result.report.variables[0].checks] == ["leakage"]
    assert any("overlap" in text for text in result.report.warnings)


def test_a_check_the_data_are_too_thin_for_is_named_and_the_study_goes_on(monkeypatch):
    def thin(inputs):
        raise TooFewCasesError(Message("every split needs a diagnosed patient"))

    monkeypatch.setitem(CHECKS.loaded, "calibration", replace(CHECKS["calibration"], run=thin))
    result = simulated(checks=CheckOptions(run=("calibration", "leakage"))).run(verbose=False)
    assert [check.kind for check in result.report.variables[0].checks] == ["leakage"]
    words = "group: the check calibration could not be run: every split needs"
    assert any(text.startswith(words) for text in result.report.warnings)


def test_a_method_the_data_are_too_thin_for_is_named_and_the_other_one_stays(monkeypatch):
    def thin(variable):
        raise TooFewCasesError(Message("group 'Group D' is too thin"))

    monkeypatch.setattr(Variable, "purple", property(thin))
    study = simulated(checks=CheckOptions(run=()))
    with pytest.raises(InvalidInputError, match="group: no purple estimate: group 'Group"):
        study.run(verbose=False)
    report = replace(study, estimate=EstimateOptions()).run(verbose=False).report
    assert list(report.variables[0].estimates) == ["debiased"]
    assert any(text.startswith("group: no purple estimate") for text in report.warnings)


def test_groups_with_one_and_without_diagnosed_patients_read_alike(tmp_path):
    """Purple was refused for one, and said to have 'no diagnosed row' for none."""
    file = with_a_small_ward(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    codes = pd.read_csv(tmp_path / "codes.csv")
    west = visits.loc[visits["ward"] == "S", "visit"].head(200)
    visits.loc[visits["visit"].isin(west), "ward"] = "W"
    visits.to_csv(tmp_path / "visits.csv", index=False)
    codes[~(codes["visit"].isin(west) & (codes["code"] == "R52.1"))].to_csv(
        tmp_path / "codes.csv", index=False
    )
    text = file.read_text().replace('Tiny = ["T"]', 'Tiny = ["T"]\nWest = ["W"]')
    text = text.replace('"leakage"]', '"leakage", "agreement"]')
    file.write_text(text)
    said = " ".join(Study.from_toml(file).run(verbose=False).report.warnings)
    assert "excluded for having too few diagnosed patients: Tiny, West" in said
    file.write_text(text.replace('column = "ward"', 'column = "ward"\nfew_diagnosed = "keep"'))
    said = " ".join(Study.from_toml(file).run(verbose=False).report.warnings)
    assert "no purple estimate" not in said
    assert "no estimate for Tiny, West: too few diagnosed patients" in said
    assert "few diagnosed rows or none: 'Tiny', 'West'" in said
