from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relprev
from relprev.checks.registry import CHECKS
from relprev.codes import CodeSet
from relprev.cohort import CohortSpec
from relprev.cohort.spec import GroupVariable, Include
from relprev.disclosure import NOT_SHOWN, Rule
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.messages import Message
from relprev.simulate import ed_visits
from relprev.store import modules
from relprev.store.modules import source_digest
from relprev.study import CheckOptions, EstimateOptions, InferenceOptions, SourceOptions, Study
from relprev.study import run as run_module
from relprev.study.folder import working_folder
from relprev.study.variable import Variable
from tests.study.conftest import csv_files, write_tables

FILES = {
    "report.html", "estimates.csv", "estimates.parquet", "checks.csv", "attrition.csv",
    "symptoms.csv", "methods.txt", "manifest.json", "run.log", "figures", "tables",
}  # fmt: skip


def stop(*args, **options):
    raise KeyboardInterrupt


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
        patch.setattr(run_module, "run_check", stop)
        with pytest.raises(KeyboardInterrupt):
            study.run(out, verbose=False)
    assert not out.exists()
    work = out.parent / "results.work"
    assert (work.stat().st_mode & 0o777) == 0o700
    assert "stopped: KeyboardInterrupt" in (work / "run.log").read_text()
    with monkeypatch.context() as patch:

        def never(*args, **options):
            raise AssertionError("made again")

        patch.setattr(run_module, "build", never)
        patch.setattr(Variable, "estimate", never)
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
        ("report/figures.py", False, False, False),
        ("cli/app.py", False, False, False),
        ("study/run.py", False, False, False),
        ("study/options.py", False, False, False),
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
        estimates = run_module.estimate_key(study, "group", "1f")
        own = source_digest(*run_module.CHECKING)
        return run_module.cohort_key(study), estimates, own

    before = keys()
    with (source / module).open("a") as file:
        file.write("# a comment\n")
    changed = [one != other for one, other in zip(before, keys(), strict=True)]
    modules._running_digest.cache_clear()
    assert changed == [cohort_again, estimates_again, checks_again]


def test_working_folders_of_others_eyes_are_closed(tmp_path):
    """A folder left open to all, by hand or by an unpacked archive."""
    work = tmp_path / "results.work"
    work.mkdir(mode=0o755)
    (work / ".partial-old.npz").write_text("half a file of a killed run")
    with working_folder(tmp_path / "results") as folder:
        assert folder == work
        assert work.stat().st_mode & 0o777 == 0o700
        assert not (work / ".partial-old.npz").exists()


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


def test_control_characters_in_the_data_s_names_fail_before_anything_is_fitted(tables_study):
    visits = tables_study.parent / "visits.csv"
    visits.write_text(visits.read_text().replace(",N,", ",N\x07,"))
    text = tables_study.read_text()
    tables_study.write_text(text.partition("[groups.recode]")[0] + "[checks]\nrun = []\n")
    with pytest.raises(
        InvalidInputError, match=r"line 21: groups\[1\].column: .*control"
    ) as caught:
        Study.from_toml(tables_study).run(verbose=False)
    assert "recode" in str(caught.value)


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

    monkeypatch.setitem(CHECKS.loaded, "calibration", replace(CHECKS["calibration"], run=thin))
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
    left_out = result.report.variables[0].left_out
    assert {group: str(why) for group, why in left_out.items()} == {"Group D": "too few visits"}
    assert any("excluded" in text for text in result.report.warnings)


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
        disclosure=Rule(hide=False),
    )
    found = study.run(verbose=False).report.variables[0]
    thin = found.groups.loc[found.groups["n_diagnosed"] < 2, "group"].tolist()
    assert thin
    assert set(thin) <= set(found.left_out)
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
    study = simulated()
    variable = Variable("group", lambda: visits.cohort, study.estimate, study.inference)
    table = variable.estimate("purple").tables["symptoms"]
    feature = table["feature"][0]
    j = list(visits.cohort.feature_names).index(feature)
    has = visits.cohort.X.matvec(np.eye(visits.cohort.n_cols)[j]) != 0
    assert table["visits"][0] == has.sum()
    assert table["patients"][0] == len(np.unique(visits.cohort.clusters[has]))
