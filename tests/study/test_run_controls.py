"""Control conditions in a study: from the study file to the report's headline."""

import numpy as np
import pandas as pd
import pytest

from relprev import Study
from relprev.errors import InvalidInputError
from relprev.report import render_page
from relprev.report.page.layout import lay_out
from relprev.simulate import visits_with_controls
from relprev.study.inspect import inspect_study
from tests.report.pages import Page
from tests.study.conftest import WARDS

STUDY = """
[features]
min_count = 0
[controls.conditions]
{controls}
[checks]
run = ["controls"]
[inference]
folds = 2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Visits whose conditions break the assumption by a factor that differs between them."""
    place = tmp_path_factory.mktemp("controls")
    world = visits_with_controls(8_000, n_controls=6, n_codes=50, mean=0.3, prevalence=0.03, seed=4)
    part = world.cohort.in_memory()
    X = part.X.to_scipy().tocoo()
    rows = [pd.DataFrame({"visit": X.row, "code": [f"A{column:02}" for column in X.col]})]
    rows.append(pd.DataFrame({"visit": part.diagnosed.nonzero()[0], "code": "Z99"}))
    for number in range(6):
        recorded = (part.controls >> number & 1).nonzero()[0]
        rows.append(pd.DataFrame({"visit": recorded, "code": f"B{number:02}"}))
    pd.concat(rows).assign(version="10").to_csv(place / "codes.csv", index=False)
    visits = pd.DataFrame({"visit": range(part.n), "ward": part.group_labels})
    visits.to_csv(place / "visits.csv", index=False)
    return place


def study(folder, controls):
    (folder / "study.toml").write_text(WARDS + STUDY.format(controls=controls))
    return Study.from_toml(folder / "study.toml")


def six():
    return "\n".join(f'"control {k}" = ["ICD10:B{k:02}"]' for k in range(6))


@pytest.fixture(scope="module")
def whole(folder):
    return study(folder, six()).run(verbose=False).report


def test_the_calibrated_answer_comes_first(whole):
    (found,) = whole.variables
    assert list(found.estimates) == ["calibrated", "debiased"]
    calibrated, plain = (frame.iloc[0] for frame in found.estimates.values())
    moved = abs(np.log(calibrated["estimate"] / plain["estimate"]))
    assert moved == pytest.approx(0.3, abs=0.15)  # the controls' common error is taken off
    assert calibrated["observed_ratio"] == plain["observed_ratio"]
    (check,) = found.checks
    assert check.kind == "controls"
    assert len(check.table) == 7
    assert not any(name.startswith("ICD10:B") for name in found.symptoms.get("feature", ()))


def test_too_few_controls_leave_the_estimate_as_it_is(folder):
    three = "\n".join(six().splitlines()[:3])
    report = study(folder, three).run(verbose=False).report
    assert list(report.variables[0].estimates) == ["debiased"]
    assert "Too few control conditions" in str(report.variables[0].checks[0].effect)


def test_without_controls_the_check_cannot_tell(folder):
    report = study(folder, "").run(verbose=False).report
    (check,) = report.variables[0].checks
    assert check.verdict == "cannot tell"


@pytest.mark.parametrize(
    ("controls", "words"),
    [
        ('"itself" = ["ICD10:Z99"]', "has codes of the condition"),
        ('"nobody" = ["ICD10:Q99"]', "has no codes in the data"),
        ('"empty" = []', "no codes"),
    ],
)
def test_bad_controls_are_named(folder, controls, words):
    with pytest.raises(InvalidInputError, match=words):
        study(folder, controls).run(verbose=False)


def test_unknown_sets_are_named_with_their_line(folder):
    text = WARDS + STUDY.format(controls="").replace(
        "[controls.conditions]", '[controls]\nsets = ["ed"]'
    )
    (folder / "bad.toml").write_text(text)
    with pytest.raises(InvalidInputError, match=r"controls.*'ed'"):
        Study.from_toml(folder / "bad.toml")


def test_results_in_parts_are_the_same(folder, whole):
    study(folder, six())
    text = (folder / "study.toml").read_text() + "\n[compute]\nout_of_core = true\n"
    (folder / "parts.toml").write_text(text + "rows_per_part = 5000\n")
    parts = Study.from_toml(folder / "parts.toml").run(folder / "out", verbose=False).report
    pd.testing.assert_frame_equal(whole.variables[0].main, parts.variables[0].main, rtol=1e-5)


@pytest.mark.parametrize("look", [inspect_study, lambda one: one.run(verbose=False)])
def test_blocks_without_features_are_named_before_anything_is_fitted(folder, look):
    """The report only said "a warning whose text may hold counts is not shown"."""
    text = WARDS + '\n[checks]\nrun = ["benchmarks"]\n[checks.blocks]\nburns = ["ICD10:T2*"]\n'
    (folder / "blocks.toml").write_text(text)
    with pytest.raises(
        InvalidInputError, match=r"blocks.toml, line \d+: checks.blocks: .*ICD10:T2"
    ):
        look(Study.from_toml(folder / "blocks.toml"))


def test_the_condition_s_own_count_is_not_called_hidden(whole):
    """It stands with the estimates, and the table of the controls leaves it out."""
    shown = lay_out(whole).variables[0].checks[0].table.texts().iloc[-1]
    assert shown["Control"] == "the condition itself"
    assert shown["Recorded"] != "hidden"


def test_what_could_overturn_a_calibrated_answer_says_where_it_starts(folder):
    study(folder, six())
    text = (
        (folder / "study.toml").read_text().replace('["controls"]', '["controls", "sensitivity"]')
    )
    (folder / "both.toml").write_text(text)
    report = Study.from_toml(folder / "both.toml").run(verbose=False).report
    assert (
        "these start from the estimate and the interval before calibration"
        in Page(render_page(report)).words
    )
