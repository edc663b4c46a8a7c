"""Bands and tipping points, checked by simulating what they guard against."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from relprev.checks import Verdict, check_sensitivity
from relprev.checks.sensitivity import FRAGILE, compared, tipping_alpha, tipping_factor
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from tests.checks.conftest import FAST, make_cohort


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


@pytest.mark.parametrize("rates", [(0.3, 0.6), (0.6, 0.3)])
def test_tipping_point_takes_the_interval_to_one(rates):
    cohort, _ = make_cohort(n=40_000, rates=rates, shift=0.3)
    fitted = DebiasedPURPLE(**FAST).fit(cohort)
    found = check_sensitivity(fitted, "a", "b")
    assert "the interval would reach 1" in str(found.effect)
    assert found.table["assumption"].iloc[-1] == "alpha at which the interval reaches 1"
    at_tip = check_sensitivity(fitted, "a", "b", alpha=(found.statistic,)).table
    row = at_tip[at_tip["assumption"] == "p(y|x) differs by alpha"].iloc[0]
    nearest = min(abs(np.log(row["ci_low"])), abs(np.log(row["ci_high"])))
    assert nearest == pytest.approx(0, abs=1e-9)


def test_an_interval_around_one_has_tipping_points_too():
    """It was said that there is nothing to explain away, whatever had been recorded."""
    fitted = DebiasedPURPLE(**FAST).fit(make_cohort(n=3000, shift=-0.03)[0])
    found = check_sensitivity(fitted, "a", "b")
    first = found.table.iloc[0]
    assert first["ci_low"] < 1 < first["ci_high"]
    row = fitted.relative_prevalence("b").rows[0]
    assert first["recorded_right"] == pytest.approx(row["observed_ratio"] / row["estimate"])
    assert found.statistic == pytest.approx(first["recorded_right"])
    assert f"{first['recorded_right']:.2f} times, the recorded ratio of" in str(found.effect)
    leaving = found.table.set_index("assumption")["size"]
    assert leaving["alpha at which the interval lies above 1"] == 1 / first["ci_low"]
    assert leaving["alpha at which the interval lies below 1"] == 1 / first["ci_high"]


@pytest.mark.parametrize(
    ("base", "recorded", "alpha"),
    [((1.08, 1.01, 1.15), 1.6, 1 / 1.01), ((1.0, 0.9, 1.1), 1.6, 1.6), ((1.0, 0.9, 1.1), 0.5, 0.5),
     ((1.0, 0.9, 1.1), 1.05, 1.0)],
)  # fmt: skip
def test_what_tips_is_a_difference_or_the_recorded_ratio(base, recorded, alpha):
    assert tipping_alpha(base, recorded) == pytest.approx(alpha)


def test_recorded_ratios_are_hidden_with_the_counts_they_are_made_of(steady):
    fitted = steady[2]
    *_, right, recorded = check_sensitivity(fitted, "a", "b").effect.counts()
    assert right.cells == recorded.cells == (("n_diagnosed", "a"), ("n_diagnosed", "b"))


def test_everyone_else_is_compared_like_the_table_does(steady):
    fitted = steady[2]
    found = check_sensitivity(fitted, "a", "complement")
    row = fitted.relative_prevalence().rows[0]
    assert found.table["ci_low"][0] == pytest.approx(row["ci_low"])
    assert found.name == "Sensitivity of a versus everyone else"
    assert "false positives in everyone else" in set(found.table["assumption"])


def test_every_comparison_of_the_table_is_made_once(steady):
    assert compared(steady[2], "complement") == [("a", "complement"), ("b", "complement")]
    assert compared(steady[2], "pairwise") == [("a", "b")]


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
        factor = max(firm.statistic, 1 / firm.statistic)
        assert factor > FRAGILE
        for margin, verdict in ((1.3, Verdict.NO_CONCERN), (9.0, Verdict.CANNOT_TELL)):
            assert check_sensitivity(large, group, versus, margin=margin).verdict is verdict


def test_everyone_else_needs_an_estimate_of_everyone(steady):
    fitted = copy(steady[2])
    fitted.moments_ = replace(fitted.moments_, mixing=np.array([1.0, 0.0]))  # b is told apart
    assert compared(fitted, "complement") == []
    with pytest.raises(InvalidInputError, match="needs an estimate of every group; b has none"):
        check_sensitivity(fitted, "a", "complement")


@pytest.mark.parametrize(
    ("keywords", "name"),
    [({"alpha": [-1]}, "alpha"), ({"gamma": [0.5]}, "gamma"),
     ({"false_positives": [1.0]}, "false_positives"), ({"group": "b"}, "must differ"),
     ({"versus": "z"}, "versus")],
)  # fmt: skip
def test_wrong_parameters_are_named(steady, keywords, name):
    with pytest.raises(InvalidInputError, match=name):
        check_sensitivity(steady[2], **({"group": "a", "versus": "b"} | keywords))
