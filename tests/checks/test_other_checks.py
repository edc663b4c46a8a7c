"""Overlap, leakage, calibration, the unconstrained model, agreement; and the common result."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from scipy import stats

from relprev import PURPLE, as_cohort
from relprev.checks import (
    check_agreement,
    check_calibration,
    check_constant_ratio,
    check_leakage,
    check_overlap,
    check_sensitivity,
    check_unconstrained,
)
from relprev.checks.held_out import rotations
from relprev.checks.leakage import wilson
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from relprev.simulate import ed_visits
from tests.checks.conftest import FAST, make_cohort

ONE = PURPLE(lambdas=[1e-4])


@pytest.fixture(scope="module")
def different():
    """p(y|x) is not shared between the groups."""
    return make_cohort(n=20_000, own_symptoms=1.0, rates=(0.5, 0.6))[0]


def test_every_check_plots_and_speaks(steady):
    cohort, _, fitted = steady
    small = make_cohort(n=5000)[0]
    results = [
        check_constant_ratio(fitted), check_overlap(fitted, cohort), check_leakage(cohort),
        check_calibration(small, ONE), check_unconstrained(small, ONE),
        check_sensitivity(fitted, "a", "b"),
        check_agreement(PURPLE(lambdas=1e-4).fit(cohort), fitted, "b"),
    ]  # fmt: skip
    for result in results:
        assert isinstance(result.plot(), Axes)
        assert result.verdict in str(result)
        assert len(result.to_frame()) > 0


def test_overlap_is_full_when_symptoms_say_nothing_of_the_group(steady):
    cohort, _, fitted = steady
    found = check_overlap(fitted, cohort)
    assert found.verdict == "no concern"
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


def test_leaking_code_is_found():
    def synonym(s, g, rng):
        return (s & (rng.random(len(s)) < 0.3)).astype(float)

    found = check_leakage(make_cohort(extra=synonym)[0])
    assert found.verdict == "concern"
    assert found.table.loc[0, "feature"] == "column 10"
    assert found.table["suspicious"].sum() == 1


def test_symptoms_do_not_leak(steady):
    assert check_leakage(steady[0]).verdict == "no concern"


def test_wilson_holds_the_share_itself():
    """A feature all of whose rows are diagnosed: rounding put its interval below 1."""
    rows = np.arange(1.0, 200.0)
    for share, (low, high) in ((1.0, wilson(rows, rows, 0.95)), (0.0, wilson(0 * rows, rows, 0.9))):
        assert (low <= share).all()
        assert (high >= share).all()


def test_wilson_by_hand():
    low, high = wilson(np.array([5.0, 0.0]), np.array([10.0, 0.0]), 0.95)
    oracle = stats.binomtest(5, 10).proportion_ci(method="wilson")
    assert (low[0], high[0]) == pytest.approx((oracle.low, oracle.high), rel=1e-6)
    assert (low[1], high[1]) == (0.0, 1.0)


def test_leakage_threshold_is_checked(steady):
    with pytest.raises(InvalidInputError, match="threshold"):
        check_leakage(steady[0], threshold=2.0)


def test_rotations_hold_every_row_out_once(steady):
    tested = np.concatenate([test for _, _, test in rotations(steady[0], 0)])
    assert sorted(tested) == list(range(steady[0].n))
    for train, validation, test in rotations(steady[0], 0):
        assert len(np.intersect1d(train, test)) == 0
        assert len(np.intersect1d(validation, test)) == 0
        assert len(train) + len(validation) + len(test) == steady[0].n


def test_calibration_passes_when_the_model_holds(steady):
    found = check_calibration(steady[0], ONE)
    assert found.verdict == "no concern"
    assert np.abs(found.table["predicted"] / found.table["recorded"] - 1).max() < 0.35
    assert found.table.groupby("group").size().tolist() == [5, 5]


def test_calibration_fails_when_diagnosis_depends_on_risk_in_one_group():
    cohort, _ = make_cohort(n=20_000, drift=0.6)
    found = check_calibration(cohort, ONE)
    assert found.verdict == "concern"
    slopes = found.table.drop_duplicates("group").set_index("group")["slope"]
    assert slopes["a"] > 1
    assert f"between {slopes.min():.2f} and {slopes.max():.2f}" in found.effect
    assert slopes["a"] - slopes["b"] > 0.2


def test_overfitting_that_is_alike_in_all_groups_is_said_but_no_concern():
    cohort = ed_visits(20_000, n_codes=300, prevalence=0.1, seed=4).cohort
    found = check_calibration(cohort, PURPLE(0.0))
    slopes = found.table.drop_duplicates("group")["slope"]
    assert found.verdict == "no concern"
    assert "too extreme in every group" in found.effect
    assert (found.table["p_value"] < 0.05).any()
    assert slopes.max() < 0.9
    assert np.ptp(slopes) < 0.3


def test_calibration_that_cannot_be_judged_has_no_p_value():
    """Five hospitals and a slope in each of eight groups: no degrees of freedom are left."""
    rng = np.random.default_rng(0)
    n, K = 4000, 8
    x = rng.random((n, 4)) < 0.3
    s = rng.random(n) < 0.1 + 0.2 * x[:, 0]
    cohort = as_cohort(
        x.astype(float), s.astype(int), groups=np.arange(n) % K, psus=rng.integers(0, 5, n)
    )
    found = check_calibration(cohort, ONE)
    assert np.isnan(found.p_value)
    assert "cannot be judged" in found.effect


def test_calibration_of_a_model_without_symptoms_cannot_be_judged():
    """Predictions that differ between splits only: the slope was that of noise, with p = 1."""
    found = check_calibration(make_cohort(n=5000)[0], PURPLE(lambdas=[10.0]))
    assert np.isnan(found.p_value)
    assert found.table[["slope", "p_value"]].isna().all(axis=None)
    assert "cannot be judged" in found.effect


def test_small_groups_are_named_but_not_drawn():
    found = check_calibration(make_cohort(n=3000)[0], ONE)
    assert not found.table["drawn"].any()
    assert "Too few held-out rows to draw: a, b" in found.effect


def test_unconstrained_is_no_better_when_p_is_shared(steady):
    found = check_unconstrained(steady[0], ONE)
    assert found.verdict == "no concern"
    assert found.interval[0] < 0


def test_unconstrained_is_better_when_groups_differ(different):
    found = check_unconstrained(different, ONE)
    assert found.verdict == "concern"
    assert found.statistic > 0.01


def test_agreement_is_found_when_the_model_holds(steady):
    cohort, _, fitted = steady
    found = check_agreement(PURPLE(lambdas=1e-4).fit(cohort), fitted, "b")
    assert found.verdict == "no concern"
    assert found.p_value > 0.05
    row = found.table.iloc[0]
    assert row["z"] == pytest.approx(np.log(row["purple"] / row["debiased"]) / row["std_error"])


def test_agreement_counts_a_ratio_and_its_inverse_once(steady):
    cohort, _, fitted = steady
    purple = PURPLE(lambdas=1e-2).fit(cohort)
    one, both = (check_agreement(purple, fitted, versus) for versus in ("b", "pairwise"))
    assert len(both.table) == 2
    assert one.p_value < 1
    assert both.p_value == pytest.approx(one.p_value)


def test_agreement_notices_a_shrunken_purple(steady):
    cohort, _, fitted = steady
    close = check_agreement(PURPLE(lambdas=1e-5).fit(cohort), fitted, "b")
    shrunken = check_agreement(PURPLE(lambdas=1e-2).fit(cohort), fitted, "b")
    assert abs(np.log(close.table["ratio"][0])) < 0.1
    assert abs(shrunken.statistic) > abs(close.statistic)
