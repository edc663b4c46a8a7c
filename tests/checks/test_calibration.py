"""Predicted and recorded diagnosis rates of held-out patients."""

import numpy as np

from relprev import PURPLE, as_cohort
from relprev.checks import Verdict, check_calibration
from relprev.simulate import ed_visits
from tests.checks.conftest import ONE, make_cohort


def test_calibration_passes_when_the_model_holds(steady):
    found = check_calibration(steady[0], ONE, margin=2.0)
    assert found.verdict is Verdict.NO_CONCERN
    assert np.abs(found.table["predicted"] / found.table["recorded"] - 1).max() < 0.35
    assert found.table.groupby("group").size().tolist() == [5, 5]


def test_calibration_of_few_cases_cannot_exclude_what_matters(steady):
    found = check_calibration(steady[0], ONE, margin=1.1)
    assert found.verdict is Verdict.CANNOT_TELL
    assert "neither found nor excluded" in str(found.effect)


def test_factor_is_what_a_difference_of_slopes_does_over_the_range_of_risk(steady):
    found = check_calibration(steady[0], ONE)
    rows = found.table.drop_duplicates("group").set_index("group")
    apart = rows.loc["a", "slope"] - rows.loc["b", "slope"]  # b has most cases
    assert np.isnan(rows.loc["b", "factor"])
    assert 1 < np.log(rows.loc["a", "factor"]) / apart < 4  # log-odds from low to high risk
    assert found.interval == (rows.loc["a", "factor_low"], rows.loc["a", "factor_high"])


def test_calibration_fails_when_diagnosis_depends_on_risk_in_one_group():
    cohort, _ = make_cohort(n=20_000, drift=0.6)
    found = check_calibration(cohort, ONE)
    assert found.verdict is Verdict.CONCERN
    slopes = found.table.drop_duplicates("group").set_index("group")["slope"]
    assert slopes["a"] > 1
    assert f"from {slopes.min():.2f} to {slopes.max():.2f}" in str(found.effect)
    assert slopes["a"] - slopes["b"] > 0.2


def test_overfitting_that_is_alike_in_all_groups_is_said_but_no_concern():
    cohort = ed_visits(20_000, n_codes=300, prevalence=0.1, seed=4).cohort
    found = check_calibration(cohort, PURPLE(0.0))
    slopes = found.table.drop_duplicates("group")["slope"]
    assert found.verdict is Verdict.NO_CONCERN
    assert "too extreme in every group" in str(found.effect)
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
    assert found.verdict is Verdict.CANNOT_TELL
    assert "cannot be judged" in str(found.effect)


def test_calibration_of_a_model_without_symptoms_cannot_be_judged():
    """Predictions that differ between splits only: the slope was that of noise, with p = 1."""
    found = check_calibration(make_cohort(n=5000)[0], PURPLE(lambdas=[10.0]))
    assert np.isnan(found.p_value)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.table[["slope", "p_value"]].isna().all(axis=None)
    assert "cannot be judged" in str(found.effect)


def test_small_groups_are_named_but_not_drawn():
    found = check_calibration(make_cohort(n=3000)[0], ONE)
    assert not found.table["drawn"].any()
    assert "Too few held-out rows to draw: a, b" in str(found.effect)


def test_patients_are_counted_where_they_are_known():
    """A patient whose visits lie in one fifth is one person there, not many."""
    cohort = make_cohort(n=4000)[0]
    twice = cohort.take(np.sort(np.concatenate([np.arange(cohort.n)] * 2)))
    known = twice.with_values(clusters=np.arange(twice.n) // 2)
    table = check_calibration(known, ONE).table
    assert (table["patients"] == table["n"] / 2).all()
    assert (table["patients_diagnosed"] == table["n_diagnosed"] / 2).all()
    assert "patients" not in check_calibration(cohort, ONE).table


def test_extreme_slopes_are_hidden_with_the_groups_they_belong_to():
    found = check_calibration(make_cohort(n=5000)[0], ONE)
    slopes = found.table.drop_duplicates("group").set_index("group")["slope"]
    low, high, *_ = found.effect.counts()
    assert (low.value, low.cells) == (slopes.min(), (("n_diagnosed", slopes.idxmin()),))
    assert (high.value, high.cells) == (slopes.max(), (("n_diagnosed", slopes.idxmax()),))
