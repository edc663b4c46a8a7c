"""Bands and tipping points, checked by simulating what they guard against."""

import numpy as np
import pytest

from relprev.checks import Verdict, check_sensitivity
from relprev.checks.sensitivity import FRAGILE, tipping_factor, with_false_positives
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from tests.checks.conftest import FAST, make_cohort


def estimate(moments):
    return np.exp(moments.contrast(0, np.array([1])).values[0])


def test_alpha_band_holds_the_truth_when_p_differs_by_alpha():
    cohort, truth = make_cohort(n=60_000, alpha=0.6)
    fitted = DebiasedPURPLE(**FAST).fit(cohort)
    table = check_sensitivity(fitted, "a", "b", alpha=(0.6,)).table.set_index("assumption")
    assert not table.loc["as estimated", "ci_low"] < truth < table.loc["as estimated", "ci_high"]
    row = table.loc["p(y|x) differs by alpha"]
    assert row["ci_low"] < truth < row["ci_high"]


def test_gamma_band_holds_the_truth_when_diagnosis_drifts():
    cohort, truth = make_cohort(n=60_000, drift=0.3)
    fitted = DebiasedPURPLE(**FAST).fit(cohort)
    table = check_sensitivity(fitted, "a", "b", gamma=(2.0,)).table.set_index("assumption")
    row = table.loc["diagnosis varies"]
    assert row["estimate_low"] < truth < row["estimate_high"]


def test_false_positives_are_corrected_for():
    """Three tenths of a's recorded cases false at random: only the corrected estimate is right."""
    cohort, truth = make_cohort(n=120_000, false_share=(0.3, 0.0), shift=0.25)
    fitted = DebiasedPURPLE(**(FAST | {"risk": None})).fit(cohort)
    plain = abs(np.log(estimate(fitted.moments_) / truth))
    corrected = abs(np.log(estimate(with_false_positives(fitted, {"a": 0.3})) / truth))
    assert corrected < 0.5 * plain


def test_no_false_positives_change_nothing(steady):
    fitted = steady[2]
    assert estimate(with_false_positives(fitted, {})) == pytest.approx(estimate(fitted.moments_))


@pytest.mark.parametrize("rates", [(0.3, 0.6), (0.6, 0.3)])
def test_tipping_point_takes_the_interval_to_one(rates):
    cohort, _ = make_cohort(n=40_000, rates=rates, shift=0.3)
    fitted = DebiasedPURPLE(**FAST).fit(cohort)
    found = check_sensitivity(fitted, "a", "b")
    assert "The interval reaches 1" in str(found.effect)
    at_tip = check_sensitivity(fitted, "a", "b", alpha=(found.statistic,)).table
    row = at_tip[at_tip["assumption"] == "p(y|x) differs by alpha"].iloc[0]
    nearest = min(abs(np.log(row["ci_low"])), abs(np.log(row["ci_high"])))
    assert nearest == pytest.approx(0, abs=1e-9)


def test_an_interval_around_one_has_nothing_to_tip():
    fitted = DebiasedPURPLE(**FAST).fit(make_cohort(n=3000, shift=-0.03)[0])
    found = check_sensitivity(fitted, "a", "b")
    assert found.table["ci_low"][0] < 1 < found.table["ci_high"][0]
    assert found.statistic == 1.0
    assert found.verdict is Verdict.NO_CONCERN
    assert "already includes 1" in str(found.effect)


@pytest.mark.parametrize(
    ("low", "high", "alpha"),
    [(1.1, 1.4, 1 / 1.1), (1.5, 2.0, 1 / 1.5), (0.5, 0.7, 1 / 0.7), (0.7, 0.9, 1 / 0.9),
     (0.9, 1.3, 1.0)],
)  # fmt: skip
def test_tipping_factor_is_the_inverse_of_the_nearer_end(low, high, alpha):
    assert tipping_factor(np.sqrt(low * high), low, high) == pytest.approx(alpha)


def test_a_difference_that_a_small_violation_explains_is_of_concern(steady):
    fragile = check_sensitivity(steady[2], "a", "b")
    assert 1 / FRAGILE < fragile.statistic < 1
    assert fragile.verdict is Verdict.CONCERN
    large = DebiasedPURPLE(**FAST).fit(make_cohort(shift=0.3)[0])
    for group, versus in (("a", "b"), ("b", "a")):
        firm = check_sensitivity(large, group, versus)
        assert max(firm.statistic, 1 / firm.statistic) > FRAGILE
        assert firm.verdict is Verdict.NO_CONCERN


@pytest.mark.parametrize(
    ("keywords", "name"),
    [({"alpha": [-1]}, "alpha"), ({"gamma": [0.5]}, "gamma"),
     ({"false_positives": [1.0]}, "false_positives"), ({"group": "b"}, "must differ"),
     ({"versus": "z"}, "versus")],
)  # fmt: skip
def test_wrong_parameters_are_named(steady, keywords, name):
    with pytest.raises(InvalidInputError, match=name):
        check_sensitivity(steady[2], **({"group": "a", "versus": "b"} | keywords))
