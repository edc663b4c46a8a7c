from __future__ import annotations

import json
import os
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from relprev.checks.registry import CHECKS
from relprev.codes import CodeSet
from relprev.cohort import CohortSpec
from relprev.cohort.spec import GroupVariable, Include
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.messages import Message
from relprev.simulate import ed_visits
from relprev.study import CheckOptions, EstimateOptions, InferenceOptions, SourceOptions, Study
from relprev.study import run as run_module
from relprev.study.variable import Variable
from tests.study.conftest import csv_files, write_tables

FILES = {
    "report.html", "estimates.csv", "estimates.parquet", "checks.csv", "attrition.csv",
    "symptoms.csv", "methods.txt", "manifest.json", "run.log", "figures", "tables",
}  # fmt: skip


def simulated(**changes):
    """A study of simulated visits with PURPLE only and no checks: seconds."""
    study = Study(
        SourceOptions("simulated", {"visits": 8_000, "codes": 60, "prevalence": 0.25, "seed": 1}),
        CohortSpec(CodeSet.of("it", ["SIMULATED:CONDITION"]), (GroupVariable("group"),)),
        EstimateOptions(methods=("purple",)),
        checks=CheckOptions(run=()),
    )
    return replace(study, **changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The small study of plain tables, run once: its file and its results."""
    file = write_tables(tmp_path_factory.mktemp("finished"))
    Study.from_toml(file).run(file.parent / "results", verbose=False)
    return file, file.parent / "results"


@pytest.fixture(scope="module")
def whole():
    """Both estimators and all checks, in memory."""
    return simulated(estimate=EstimateOptions(), checks=CheckOptions()).run(verbose=False)


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

        def stop(self, name):
            raise KeyboardInterrupt

        patch.setattr(Variable, "check", stop)
        with pytest.raises(KeyboardInterrupt):
            study.run(out, verbose=False)
    assert not out.exists()
    work = out.parent / "results.work"
    assert (work.stat().st_mode & 0o777) == 0o700
    assert "stopped: KeyboardInterrupt" in (work / "run.log").read_text()
    with monkeypatch.context() as patch:

        def never(*args, **options):
            raise AssertionError("made again")

        patch.setattr(run_module, "study_cohorts", never)
        patch.setattr(Variable, "estimate", never)
        study.run(out, verbose=False)
    assert csv_files(out) == csv_files(finished[1])
    assert len(csv_files(out)) > 5
    assert not work.exists()


def test_changed_data_or_settings_are_not_taken_from_an_earlier_run(tables_study, monkeypatch):
    study = Study.from_toml(tables_study)
    out = tables_study.parent / "results"

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "write_report", stop)
    with pytest.raises(KeyboardInterrupt):
        study.run(out, verbose=False)
    log = out.parent / "results.work" / "run.log"

    def kept_stages(study):
        log.unlink()
        with pytest.raises(KeyboardInterrupt):
            study.run(out, verbose=False)
        lines = log.read_text().splitlines()
        return [re.search(r"(\w+): kept", line)[1] for line in lines if ": kept" in line]

    fitted = ["debiased", "purple", "overlap", "leakage"]
    assert kept_stages(study) == ["cohort", *fitted]
    assert kept_stages(replace(study, seed=2)) == ["cohort"]
    visits = tables_study.parent / "visits.csv"
    os.utime(visits, ns=(0, 0))  # same content: the cohort is read again, the rest is kept
    assert kept_stages(study) == fitted
    visits.write_text(visits.read_text().replace(",N,", ",S,", 1))
    assert kept_stages(study) == []


def test_a_damaged_stage_is_made_again(finished, tables_study, monkeypatch):
    study = Study.from_toml(tables_study)
    out = tables_study.parent / "results"

    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "write_report", stop)
        with pytest.raises(KeyboardInterrupt):
            study.run(out, verbose=False)
    work = out.parent / "results.work"
    for file in [*work.glob("*.parquet"), *work.glob("purple*.json")]:
        file.write_bytes(file.read_bytes()[:40])
    study.run(out, verbose=False)
    assert csv_files(out) == csv_files(finished[1])


def test_foreign_files_are_never_touched(tmp_path):
    out = tmp_path / "results"
    out.mkdir()
    (out / "thesis.docx").write_text("years of work")
    for force in (False, True):
        with pytest.raises(InvalidInputError, match="relprev did not write"):
            simulated().run(out, force=force, verbose=False)
    assert (out / "thesis.docx").read_text() == "years of work"
    out = tmp_path / "file"
    out.write_text("x")
    with pytest.raises(InvalidInputError, match="is a file"):
        simulated().run(out, verbose=False)


def test_results_are_replaced_for_the_same_study_only(tmp_path):
    out = tmp_path / "results"
    out.mkdir()  # an empty folder will do
    simulated().run(out, verbose=False)
    first = (out / "run.log").read_text()
    simulated().run(out, verbose=False)
    assert (out / "run.log").read_text() != first
    other = simulated(name="other")
    with pytest.raises(InvalidInputError, match="results of the study 'study', not of 'other'"):
        other.run(out, verbose=False)
    other.run(out, force=True, verbose=False)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"1 files .* such as notes.txt"):
        other.run(out, force=True, verbose=False)


def test_two_runs_cannot_write_to_one_folder(tmp_path):
    from relprev.study.folder import working_folder

    with (
        working_folder(tmp_path / "results"),
        pytest.raises(InvalidInputError, match="another run is writing"),
    ):
        simulated().run(tmp_path / "results", verbose=False)


def test_truth_of_simulated_visits_is_that_of_the_simulation(whole):
    visits = ed_visits(8_000, n_codes=60, prevalence=0.25, seed=1)
    truth = visits.relative_prevalence().to_frame()
    found = whole.table("group")
    np.testing.assert_allclose(found["truth"], truth["estimate"], rtol=1e-12)
    np.testing.assert_allclose(found["observed_ratio"], truth["observed_ratio"], rtol=1e-12)
    assert abs(np.log(found["estimate"] / found["truth"])).max() < 0.3


def test_all_checks_are_made_and_read_back_with_their_drawings(whole):
    checks = whole.report.variables[0].checks
    kinds = [check.kind for check in checks]
    assert set(kinds) == set(CHECKS)
    assert kinds.count("sensitivity") == 3  # each group versus the largest
    assert all("versus Group B" in c.name for c in checks if c.kind == "sensitivity")
    for check in checks:
        check.plot()


def test_results_show_in_notebooks_and_as_text(whole):
    assert "Group A" in whole._repr_html_()
    assert repr(whole) == "<StudyResult 'Relative prevalence of it': group>"
    with pytest.raises(InvalidInputError, match="the study has"):
        whole.table("groups")
    with pytest.raises(InvalidInputError, match="the study has"):
        whole.table("group", "purpel")


def test_checks_without_their_methods_are_named_not_dropped():
    result = simulated(checks=CheckOptions(run=("overlap", "leakage"))).run(verbose=False)
    assert [check.kind for check in result.report.variables[0].checks] == ["leakage"]
    assert any("overlap" in text for text in result.report.warnings)


def test_a_check_the_data_are_too_thin_for_is_named_and_the_study_goes_on(monkeypatch):
    def thin(inputs):
        raise TooFewCasesError(Message("every split needs a diagnosed patient"))

    monkeypatch.setitem(CHECKS, "calibration", replace(CHECKS["calibration"], run=thin))
    result = simulated(checks=CheckOptions(run=("calibration", "leakage"))).run(verbose=False)
    assert [check.kind for check in result.report.variables[0].checks] == ["leakage"]
    words = "group: the check calibration could not be made: every split needs"
    assert any(text.startswith(words) for text in result.report.warnings)


def test_contrasts_follow_versus_and_reference():
    estimate = EstimateOptions(("purple",), "reference", {"group": "Group D"})
    table = simulated(estimate=estimate).run(verbose=False).table("group")
    assert table["versus"].tolist() == ["Group D"] * 3
    wrong = EstimateOptions(("purple",), "reference", {"group": "Group E"})
    with pytest.raises(InvalidInputError, match="'Group E' has no visits"):
        simulated(estimate=wrong).run(verbose=False)


def test_a_group_variable_may_have_any_name():
    """Also one that the stages use themselves, or that could not name a file."""
    variables = tuple(
        GroupVariable("group", name=name) for name in ("source", "variables", "../a b/ü")
    )
    cohort = CohortSpec(CodeSet.of("it", ["SIMULATED:CONDITION"]), variables)
    result = simulated(cohort=cohort).run(verbose=False)
    tables = [result.table(variable.name) for variable in variables]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_small_groups_are_left_out_with_a_reason():
    cohort = CohortSpec(
        CodeSet.of("it", ["SIMULATED:CONDITION"]), (GroupVariable("group", minimum_size=1500),)
    )
    result = simulated(cohort=cohort).run(verbose=False)
    assert result.report.variables[0].left_out == {"Group D": "fewer than 1,500 visits"}
    assert any("left out" in text for text in result.report.warnings)


def test_groups_withheld_by_the_estimator_are_named():
    """Only one diagnosed patient in a group: it gets no estimate, and the report says why."""
    cohort = CohortSpec(
        CodeSet.of("it", ["SIMULATED:CONDITION"]),
        (GroupVariable("group"),),
        (Include("age", maximum=12),),
    )
    source = {"visits": 8_000, "codes": 60, "prevalence": 0.2, "seed": 3}
    study = simulated(
        cohort=cohort,
        source=SourceOptions("simulated", source),
        estimate=EstimateOptions(methods=("debiased",)),
    )
    found = study.run(verbose=False).report.variables[0]
    thin = list(found.left_out)
    assert thin
    assert found.groups.set_index("group").loc[thin, "n_diagnosed"].isna().all()
    table = found.estimates["debiased"].set_index("group")
    assert table.loc[thin, "estimate"].isna().all()


def test_a_method_the_data_are_too_thin_for_is_named_and_the_other_one_stays():
    """PURPLE needs a diagnosed patient of every group in every part of a split."""
    cohort = CohortSpec(
        CodeSet.of("it", ["SIMULATED:CONDITION"]),
        (GroupVariable("group"),),
        (Include("age", maximum=13),),
    )
    source = {"visits": 8_000, "codes": 60, "prevalence": 0.2, "seed": 4}
    study = simulated(cohort=cohort, source=SourceOptions("simulated", source))
    with pytest.raises(InvalidInputError, match="group: no purple estimate: group 'Group"):
        study.run(verbose=False)
    report = replace(study, estimate=EstimateOptions()).run(verbose=False).report
    assert list(report.variables[0].estimates) == ["debiased"]
    assert any(text.startswith("group: no purple estimate") for text in report.warnings)


def test_survey_designs_and_patients_are_used_unless_turned_off():
    """Standard errors differ with the design, with patients only, and with neither."""
    source = {"visits": 8_000, "codes": 60, "prevalence": 0.25, "seed": 1, "survey": True}
    errors = []
    for inference in (
        InferenceOptions(),
        InferenceOptions(design=False),
        InferenceOptions(design=False, clusters=False),
    ):
        study = simulated(
            source=SourceOptions("simulated", source),
            estimate=EstimateOptions(methods=("debiased",)),
            inference=inference,
        )
        table = study.run(verbose=False).table("group")
        errors.append(tuple(table["std_error"]))
    assert len(set(errors)) == 3


def test_checks_that_fit_again_are_made_on_a_sample():
    study = simulated(checks=CheckOptions(run=("calibration",), max_visits=4_000))
    check = study.run(verbose=False).report.variables[0].checks[0]
    assert re.search(r"a random sample of [34],\d{3} visits out of 8,000 visits", str(check.effect))


def test_patients_with_a_symptom_are_counted_once(visits):
    variable = Variable(simulated(), "group", visits.cohort)
    table = variable.estimate("purple").tables["symptoms"]
    feature = table["feature"][0]
    j = list(visits.cohort.feature_names).index(feature)
    has = visits.cohort.X.matvec(np.eye(visits.cohort.n_cols)[j]) != 0
    assert table["visits"][0] == has.sum()
    assert table["patients"][0] == len(np.unique(visits.cohort.clusters[has]))
