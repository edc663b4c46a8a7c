from dataclasses import replace

import numpy as np
import pytest

from relprev.checks import Verdict, check_controls
from relprev.controls import Calibration
from relprev.estimates import withheld
from relprev.messages import Message
from relprev.report import render_page
from relprev.report.sentences.answers import NOT_CALIBRATED, answer, trust
from tests.controls.tables import controls, estimates
from tests.report.pages import Page
from tests.report.studies import study


def test_groups_without_estimate_are_named(report, page):
    points = trust(report).points
    assert "No estimate by race for Other: only fewer than 11 visits." in points
    assert "No estimate by region for east." in points
    assert "No estimate for Other, by race; east, by region." in page.words  # the front, in short
    assert "Other: only fewer than 11 visits" in page.words  # and why


def test_group_left_out_is_named_once(withheld):
    found = replace(withheld, checks=(), left_out={"east": Message("too few diagnosed")})
    words = Page(render_page(study(found))).words
    assert words.count("No estimate by region for") == 1


def test_interval_that_includes_one_is_called_so(bare):
    frame = bare.estimates["DebiasedPURPLE"].assign(ci_low=0.9, ci_high=1.1, estimate=1.0)
    words = Page(render_page(study(replace(bare, estimates={"DebiasedPURPLE": frame})))).words
    assert "The interval includes 1" in words


def test_a_recorded_ratio_that_is_not_excluded_is_not_called_wrong(bare):
    """It said "a case in a is 1.72 times as likely to be diagnosed", without a doubt."""
    frame = bare.estimates["DebiasedPURPLE"].assign(
        estimate=1.13, ci_low=0.58, ci_high=2.2, observed_ratio=1.94, diagnosis_ratio=1.72,
        diagnosis_ci_low=float("nan"), diagnosis_ci_high=float("nan"),
    )  # fmt: skip
    words = Page(render_page(study(replace(bare, estimates={"DebiasedPURPLE": frame})))).words
    assert "Recorded diagnoses alone give 1.94, which the interval does not exclude" in words
    assert "as likely to be diagnosed." not in words


def test_an_answer_that_controls_could_not_calibrate_says_so(bare):
    """It stood in bold beside calibrated ones, with an interval a quarter as long."""
    (found,) = check_controls(Calibration(estimates(), controls([0.3, -0.3, 0.2])))
    words = Page(render_page(study(replace(bare, checks=(found,))))).words
    assert NOT_CALIBRATED in words
    calibrated = {"calibrated": bare.estimates["DebiasedPURPLE"], **bare.estimates}
    both = replace(bare, checks=(found,), estimates=calibrated)
    assert NOT_CALIBRATED not in Page(render_page(study(both))).words
    assert NOT_CALIBRATED not in Page(render_page(study(bare))).words


def test_study_without_checks_is_not_judged(bare):
    words = Page(render_page(study(bare))).words
    assert "No check of the assumptions was run" in words


def answered(bare, level=0.95, **columns):
    """The answer of a study whose first comparison has these values, and the others are nulls."""
    frame = bare.estimates["DebiasedPURPLE"].assign(ci_low=0.9, ci_high=1.1, estimate=1.0)
    for name, value in columns.items():
        frame[name] = frame[name].astype(object) if isinstance(value, str) else frame[name]
        frame.loc[frame.index[0], name] = value
    report = replace(study(replace(bare, estimates={"DebiasedPURPLE": frame})), level=level)
    return answer(report, report.variables[0])


def test_firm_evidence_stands_out(bare):
    assert answered(bare, estimate=2.0, ci_low=1.5, ci_high=2.6).estimate == "2.00 times"


@pytest.mark.parametrize("weak", [
    {"ci_low": 1.05, "ci_high": 3.8},  # a relative standard error of a third
    {"few_cases": True},
])  # fmt: skip
def test_weak_evidence_is_never_the_bold_number(bare, weak):
    found = answered(bare, **{"estimate": 2.0, "ci_low": 1.5, "ci_high": 2.6} | weak)
    assert found.estimate != "2.00 times"


def test_a_short_interval_of_a_low_level_does_not_make_evidence_strong(bare):
    """Standard errors were read off every interval as if it were one of 95%."""
    ends = {"estimate": 2.0, "ci_low": 1.3, "ci_high": 3.08}  # se .34 at 80%, .22 at 95%
    assert answered(bare, **ends).estimate == "2.00 times"
    assert answered(bare, level=0.8, **ends).estimate != "2.00 times"


def test_a_withheld_interval_is_no_headline(bare):
    """Without an interval a row was ranked among those of strong evidence."""
    found = answered(bare, estimate=9.0, ci_low=np.nan, ci_high=np.nan,
                     withheld=withheld({"few diagnosed": ["c"]}))  # fmt: skip
    assert "9.00" not in found.sentence


def clear(race):
    """A check that finds nothing."""
    (found,) = [one for one in race.checks if one.kind == "leakage"]
    return replace(found, verdict=Verdict.NO_CONCERN)


def test_a_summary_is_green_only_if_every_check_was_run(race, bare):
    """One check was enough: whoever left the others out had a green report."""
    found = replace(bare, checks=(clear(race),))
    assert trust(study(found)).verdict == "no concern"
    some = trust(study(found, unchecked=("Overlap of the groups", "Sensitivity")))
    assert some.verdict == "cannot tell"
    assert some.heading == (
        "Not fully examined: of 1 checks of the assumptions, 0 raise a concern, 1 finds none that "
        "matters, and 0 cannot tell; 1 was not run"
    )
    assert "Not run: overlap of the groups." in some.points
    analyses = trust(study(found, unchecked=("Sensitivity",)))
    assert analyses.verdict == "no concern"  # it examines no assumption
