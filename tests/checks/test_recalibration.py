"""Slopes and intercepts of recorded on predicted diagnoses."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from relprev import as_cohort
from relprev.checks.recalibration import recalibration
from tests.checks.test_fifths import held_out, made_up


def test_slope_and_intercept_are_scikit_learns():
    p, s, g, cohort = made_up()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(p))
    tests, *_ = recalibration(held_out(p, s, g, pieces=3, weight=weight), cohort)
    z = np.log(p / (1 - p))[:, None]
    for k in range(2):
        own = g == k
        model = LogisticRegression(C=np.inf, tol=1e-10).fit(z[own], s[own], weight[own])
        found = tests.loc[k, ["intercept", "slope"]].to_numpy(float)
        assert found == pytest.approx([model.intercept_[0], model.coef_[0, 0]], abs=1e-6)


def test_right_predictions_are_not_rejected_and_too_extreme_ones_are():
    p, s, g, cohort = made_up(20_000)
    right, _, p_right = recalibration(held_out(p, s, g), cohort)
    assert (right["p_value"] > 0.05).all()
    assert p_right > 0.05
    odds = (p / (1 - p)) ** np.where(g == 0, 2.0, 1.0)
    extreme, _, p_extreme = recalibration(held_out(odds / (1 + odds), s, g), cohort)
    assert extreme["slope"].to_numpy() == pytest.approx([0.5, 1.0], abs=0.1)
    assert extreme["p_value"][0] < 1e-6
    assert p_extreme < 1e-6


def test_groups_without_diagnoses_or_differences_have_no_slope():
    p, s, g, cohort = made_up()
    nobody, *rest = recalibration(held_out(p, s & (g == 1), g), cohort)
    assert nobody["slope"].isna().tolist() == [True, False]
    assert np.isnan(rest).all()  # one slope differs from no other
    same, *_ = recalibration(held_out(np.where(g == 0, 0.2, p), s, g), cohort)
    assert same["slope"].isna().tolist() == [True, False]


def test_too_few_sampling_units_for_a_test():
    p, s, g, cohort = made_up()
    one = as_cohort(
        np.ones((len(p), 1)), s.astype(int), groups=cohort.group_labels, psus=np.zeros(len(p), int)
    )
    tests, statistic, p_value = recalibration(held_out(p, s, g), one)
    assert tests[["slope", "p_value"]].isna().all(axis=None)
    assert np.isnan([statistic, p_value]).all()
