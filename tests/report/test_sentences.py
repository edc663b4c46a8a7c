import re
from dataclasses import replace

from relprev.messages import Message
from relprev.report import render_page
from tests.report.conftest import LONG
from tests.report.pages import Page
from tests.report.studies import study


def test_groups_without_estimate_are_named(page):
    assert "No estimate by race for Other: only fewer than 11 visits." in page.words
    assert "No estimate by region for east." in page.words


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


def test_study_without_checks_is_not_judged(bare):
    words = Page(render_page(study(bare))).words
    assert "No check of the assumptions was run" in words


def test_methods_hold_the_numbers_of_the_run(folder, race):
    text = (folder / "methods.txt").read_text()
    joined = re.sub(r"\s+", " ", text)
    assert f"{int(race.attrition['visits'].iloc[-1]):,} visits" in joined
    assert "Seed 4" in joined
    assert "Shanmugam" in joined
    assert "Chernozhukov" in joined
    assert max(len(line) for line in text.splitlines() if LONG not in line) <= 90


def test_methods_say_what_standard_errors_allow_for(bare):
    words = Page(render_page(study(bare, sampling="repeat visits of patients"))).words
    assert "Standard errors allow for repeat visits of patients." in words
