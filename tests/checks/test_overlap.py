"""Do the groups share symptoms?"""

import pytest

from relprev.checks import Verdict, check_overlap
from relprev.inference import DebiasedPURPLE
from tests.checks.conftest import FAST, make_cohort


def test_overlap_is_full_when_symptoms_say_nothing_of_the_group(steady):
    cohort, _, fitted = steady
    found = check_overlap(fitted, cohort)
    assert found.verdict is Verdict.NO_CONCERN
    assert (found.table["mixing"] > 0.8).all()
    assert (found.table["exclusive_codes"] == 0).all()


def test_overlap_names_codes_of_one_group_only():
    def marker(s, g, rng):
        return ((g == 0) & (rng.random(len(g)) < 0.5)).astype(float)

    cohort, _ = make_cohort(extra=marker)
    table = check_overlap(DebiasedPURPLE(**FAST).fit(cohort), cohort).table.set_index("group")
    assert table.loc["a", "exclusive_codes"] == 1
    assert table.loc["a", "diagnosed_with_exclusive_codes"] == pytest.approx(0.5, abs=0.05)
    assert table.loc["b", "exclusive_codes"] == 0


def test_few_informative_cases_cannot_tell():
    cohort, _ = make_cohort(n=400)
    found = check_overlap(DebiasedPURPLE(**FAST).fit(cohort), cohort)
    assert found.verdict is Verdict.CANNOT_TELL
    assert "few informative cases" in str(found.effect)


def test_little_that_cannot_be_compared_is_no_concern():
    def marker(s, g, rng):
        return ((g == 0) & (rng.random(len(g)) < 0.1)).astype(float)

    cohort, _ = make_cohort(extra=marker)
    fitted = DebiasedPURPLE(**FAST).fit(cohort)
    assert check_overlap(fitted, cohort).verdict is Verdict.NO_CONCERN
    assert check_overlap(fitted, cohort, margin=1.05).verdict is Verdict.CONCERN


def test_a_concern_says_its_reason_and_declares_its_counts():
    def marker(s, g, rng):
        return ((g == 0) & (rng.random(len(g)) < 0.5)).astype(float)

    cohort, _ = make_cohort(extra=marker)
    found = check_overlap(DebiasedPURPLE(**FAST).fit(cohort), cohort)
    assert found.verdict is Verdict.CONCERN
    assert "Least overlap in a (many diagnosed with codes that no other group has)" in str(
        found.effect
    )
    own = found.table.set_index("group").loc["a"]
    counts = {item.noun: item for item in found.effect.counts() if hasattr(item, "noun")}
    informative = counts["effective informative case"]
    assert informative.value == round(own["effective_cases"])
    assert informative.cells == (("n_diagnosed", "a"), ("n_diagnosed", "b"))
    assert counts["diagnosed visit"].value == pytest.approx(
        own["diagnosed_with_exclusive_codes"] * own["n_diagnosed"]
    )
