"""Richer models are used where linear ones miss something, and only there."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from relprev import DebiasedPURPLE, as_cohort
from relprev.errors import InvalidInputError
from relprev.inference.adaptive import combined_risks, mixed, residual_z
from relprev.inference.score import ScoreData
from relprev.matrix import Dense

FAST = {"strengths": (3.0,), "lambdas": 1e-4, "folds": 3, "n_repeats": 1}


def bent(n=6000, seed=0, strength=1.0):
    """Groups that differ in variance, a risk with squares; the true ratio of their mean risks."""
    rng = np.random.default_rng(seed)
    g = (rng.random(n) > 0.4).astype(int)
    x = rng.normal(size=(n, 4)) * np.where(g == 0, 1.0 + 0.4 * strength, 1.0)[:, None]
    p = 1 / (1 + np.exp(2.5 - strength * 0.5 * (x[:, 0] ** 2 + x[:, 1] ** 2) - 0.5 * x[:, 2]))
    s = rng.random(n) < p * np.array([0.4, 0.7])[g]
    cohort = as_cohort(x, s, groups=np.array(["a", "b"])[g])
    return cohort, p[g == 0].mean() / p[g == 1].mean()


def test_squares_are_found_and_the_ratio_with_them():
    cohort, truth = bent()
    linear = DebiasedPURPLE(propensity="ridge", risk="purple", **FAST).fit(cohort)
    found = DebiasedPURPLE(**FAST).fit(cohort)
    wrong, right = (fit.relative_prevalence("b").to_frame().iloc[0] for fit in (linear, found))
    assert "expanded" in found.propensity_model_
    assert wrong["ci_high"] < truth
    assert right["ci_low"] < truth < right["ci_high"]


def test_where_nothing_is_missed_the_estimate_is_the_linear_one():
    rng = np.random.default_rng(5)
    g = rng.integers(0, 2, 5000)
    x = rng.random((5000, 6)) < 0.2 + 0.1 * g[:, None]
    s = rng.random(5000) < 0.5 / (1 + np.exp(2 - x @ np.linspace(0, 1, 6)))
    cohort = as_cohort(sp.csr_array(x.astype(float)), s, groups=np.array(["a", "b"])[g])
    linear = DebiasedPURPLE(propensity="ridge", risk="purple", **FAST).fit(cohort)
    found = DebiasedPURPLE(**FAST).fit(cohort)
    assert (found.propensity_model_, found.risk_model_) == ("linear", "linear")
    np.testing.assert_array_equal(linear.moments_.theta, found.moments_.theta)


def scores(propensity, risk, g, s):
    n = len(g)
    pi = np.column_stack([1 - propensity, propensity])
    return ScoreData.of(g.astype(np.uint8), s.astype(float), np.full(n, 1 / n), pi, risk)


def test_mixture_weights_go_to_the_better_model():
    rng = np.random.default_rng(6)
    right = rng.uniform(0.1, 0.9, 20_000)
    g = rng.random(20_000) < right
    wrong = rng.uniform(0.1, 0.9, 20_000)
    none = np.zeros(20_000)
    _, a = mixed(scores(wrong, none, g, none), scores(right, none, g, none))
    assert a[1] > 0.97
    both, a = mixed(scores(right, none, g, none), scores(right, none, g, none))
    np.testing.assert_allclose(both.in_memory().propensity[:, 1], right)


def test_mixture_has_the_lowest_loss():
    rng = np.random.default_rng(8)
    z = rng.normal(size=(3, 20_000))
    g = rng.random(20_000) < expit(z[0] + z[1])
    none = np.zeros(20_000)
    one, other = expit(z[0] + z[2]), expit(z[1])  # each knows half of it
    _, share = mixed(scores(one, none, g, none), scores(other, none, g, none))

    def loss(a):
        p = (1 - a) * one + a * other
        return -np.mean(np.log(np.where(g, p, 1 - p)))

    best = minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-7}).x
    assert 0.1 < best < 0.9
    np.testing.assert_allclose(share, [1 - best, best], atol=2e-4)


def test_combined_risk_takes_a_better_one_and_leaves_noise():
    rng = np.random.default_rng(7)
    z, noise = rng.normal(-2, 1, 20_000), rng.normal(-2, 1, 20_000)
    g = rng.integers(0, 2, 20_000)
    s = rng.random(20_000) < 1 / (1 + np.exp(-z))
    half = np.full(20_000, 0.5)
    right, other = (scores(half, 1 / (1 + np.exp(-v)), g, s) for v in (z, noise))
    assert combined_risks([right, other]) is None
    found = combined_risks([other, right])
    assert found is not None
    assert found.slopes[1] > 10 * found.slopes[0] >= 0


def test_a_rare_feature_that_no_diagnosed_patient_has_does_not_stand_out():
    """Its residuals are all -m: their own spread would make 40 rows without a case z = -6."""
    rate, rows = 0.05, 40
    x = np.repeat([1.0, 0.0], [rows, 4000 - rows])[:, None]
    s = np.arange(4000) % 20 == 19
    s[:rows] = False
    z = residual_z(Dense(x), s - rate, np.full(4000, rate * (1 - rate)))
    assert abs(z[0]) < 2


def test_noise_says_nothing_and_no_products_are_taken():
    rng = np.random.default_rng(8)
    codes = (rng.random((4000, 30)) < 0.1).astype(float)
    found = DebiasedPURPLE(**FAST).fit(
        codes, rng.random(4000) < 0.05, groups=rng.integers(0, 2, 4000)
    )
    assert len(found.expansion_.pairs) <= 1
    assert found.risk_model_ == "linear"


def test_residual_z_is_the_formula():
    rng = np.random.default_rng(8)
    x, r = rng.normal(size=(300, 2)), rng.normal(size=300)
    f = x - (r**2 @ x) / (r**2).sum()
    np.testing.assert_allclose(
        residual_z(Dense(x), r, np.zeros(len(r))), (r @ f) / np.sqrt(r**2 @ f**2)
    )


def test_trees_by_name_take_sparse_codes_and_the_seed():
    rng = np.random.default_rng(9)
    g = rng.integers(0, 2, 1500)
    x = sp.csr_array((rng.random((1500, 5)) < 0.3 + 0.1 * g[:, None]).astype(float))
    s = rng.random(1500) < 0.2
    trees = HistGradientBoostingClassifier(max_iter=5, early_stopping=True)
    estimator = DebiasedPURPLE(propensity=trees, risk=None, folds=2, n_repeats=1)
    with threadpool_limits(1, user_api="openmp"):  # on few rows threads wait for each other
        fits = [clone(estimator).fit(x, s, groups=np.array(["a", "b"])[g]) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].propensity_, fits[1].propensity_)
    assert fits[0].propensity_model_ == "HistGradientBoostingClassifier"


def test_sparse_features_too_large_for_an_array_are_refused(monkeypatch):
    monkeypatch.setattr("relprev.inference.learners.LARGEST_ARRAY", 1000)
    cohort, _ = bent(500)
    x = sp.csr_array(np.round(np.abs(cohort.X.values)))
    trees = HistGradientBoostingClassifier()
    with pytest.raises(InvalidInputError, match="does not take sparse features"):
        DebiasedPURPLE(propensity=trees, **FAST).fit(
            x, cohort.diagnosed, groups=cohort.group_labels
        )


def test_unknown_models_and_repeats_are_refused():
    cohort, _ = bent(500)
    with pytest.raises(InvalidInputError, match="propensity must be 'adaptive', 'ridge'"):
        DebiasedPURPLE(propensity="forest").fit(cohort)
    with pytest.raises(InvalidInputError, match="n_repeats must be a whole number"):
        DebiasedPURPLE(n_repeats=0).fit(cohort)
