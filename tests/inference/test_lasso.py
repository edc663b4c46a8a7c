"""Propensities with an L1 penalty, on the model's solver."""

import numpy as np
import pytest
from simulations.scenarios import Scenario, draw
from sklearn.linear_model import LogisticRegression

from relprev.inference import DebiasedPURPLE
from relprev.inference.lasso import comparisons, fit_lasso
from relprev.inference.propensity import PropensityProblem, fit_propensity
from relprev.matrix import Dense
from relprev.model.likelihood import Problem
from relprev.model.solver import SolverOptions

EXACT = SolverOptions(tolerance=1e-8, ratio_tolerance=1e-8)


def make(groups, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    W = rng.normal(size=(groups, 4))
    z = X @ W.T
    g = (z + rng.gumbel(size=z.shape)).argmax(axis=1).astype(np.uint8)
    return Problem(Dense(X), np.zeros(n, np.uint8), g, np.full(n, 1 / n), groups)


def test_two_groups_equal_scikit_learn():
    problem, strength = make(2), 0.02
    found = fit_lasso(comparisons(problem), strength, options=EXACT).propensity
    X = problem.X.to_scipy()
    oracle = LogisticRegression(
        l1_ratio=1.0, solver="saga", C=1 / (strength * len(X)), tol=1e-8, max_iter=10_000
    ).fit(X, problem.g)
    np.testing.assert_allclose(found.probabilities(problem.X), oracle.predict_proba(X), atol=1e-4)


def test_without_penalty_the_comparisons_estimate_the_multinomial_model():
    problem = make(4, n=40_000)
    found = fit_lasso(comparisons(problem), 0.0, options=EXACT).propensity
    joint = fit_propensity(PropensityProblem(problem, len(problem.g)), 0.0)
    difference = found.probabilities(problem.X) - joint.probabilities(problem.X)
    assert np.abs(difference).mean() < 0.01


def test_strong_penalty_leaves_the_shares():
    problem = make(3)
    found = fit_lasso(comparisons(problem), 10.0).propensity
    assert not found.coef.any()
    share = np.bincount(problem.g) / len(problem.g)
    np.testing.assert_allclose(found.probabilities(problem.X)[0], share, atol=1e-4)


@pytest.mark.parametrize("rates", [(0.2, 0.5), (0.2, 0.5, 0.4)])
def test_l1_and_ridge_propensities_give_much_the_same_answer(rates):
    shares = (0.4, 0.6) if len(rates) == 2 else (0.3, 0.4, 0.3)
    cohort = draw(Scenario(n=6000, intercept=-1.5, rates=rates, shares=shares), 5).cohort
    ridge, l1 = (
        DebiasedPURPLE(propensity=kind).fit(cohort).relative_prevalence("b").to_frame()
        for kind in ("ridge", "l1")
    )
    apart = np.log(l1["estimate"] / ridge["estimate"]) / ridge["std_error"]
    assert (apart.abs() < 0.4).all()
