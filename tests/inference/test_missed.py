"""What the risk leaves out: the regression, and the standard errors that need it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from simulations.scenarios import Scenario, draw

from relprev.inference import DebiasedPURPLE, missed
from relprev.inference.folds import fold_of_rows
from relprev.inference.missed import with_missed_risk
from relprev.inference.moments import group_moments
from relprev.inference.nuisance import RidgePropensity, cross_fit, score_data
from relprev.model.likelihood import Problem

SCENARIO = Scenario(n=3000, intercept=-1.5)


@pytest.fixture(scope="module")
def cohort():
    return draw(SCENARIO, 4).cohort


@pytest.fixture(scope="module")
def problem(cohort):
    return Problem.from_cohort(cohort)


def rows_and_folds(problem):
    folds = [np.arange(k, problem.n, 5) for k in range(5)]
    shares = np.tile(problem.group_weight, (problem.n, 1))
    risk = np.full(problem.n, 0.05)
    return score_data(problem, folds, shares, risk, reference=1), folds


def changed(data, **values):
    """The same rows with other values."""
    return data.holding(data.derive(partial(replace, **values)))


def test_it_is_the_ridge_regression_of_the_residuals(problem, monkeypatch):
    monkeypatch.setattr(missed, "ACCURACY", 1e-9)
    data, folds = rows_and_folds(problem)
    theta, strength, units = np.array([-0.7, 0.0]), 30.0, 2000
    found = with_missed_risk(data, problem, theta, folds, strength, units).in_memory().missed

    rows = problem.in_memory()
    rate = np.exp(theta)[rows.g]
    residual, weight = rows.s - 0.05 * rate, rows.omega * rate
    X = np.column_stack([rows.X.to_scipy().toarray(), np.ones(problem.n)])
    ridge = np.diag(np.append(np.full(X.shape[1] - 1, 4 * weight.sum() * strength / units), 0.0))
    fold = fold_of_rows(folds)
    for k in range(5):
        seen = fold != k
        A = (X[seen].T * weight[seen]) @ X[seen] + ridge
        w = np.linalg.solve(A, X[seen].T @ (rows.omega * residual)[seen])
        np.testing.assert_allclose(found[~seen], X[~seen] @ w, atol=1e-8)


def test_few_steps_come_close(problem, monkeypatch):
    data, folds = rows_and_folds(problem)
    theta = np.array([-0.7, 0.0])
    rough = with_missed_risk(data, problem, theta, folds, 1.0, problem.n).in_memory().missed
    monkeypatch.setattr(missed, "ACCURACY", 1e-9)
    exact = with_missed_risk(data, problem, theta, folds, 1.0, problem.n).in_memory().missed
    assert np.std(rough - exact) < 0.2 * np.std(exact)
    assert np.std(rough - exact) > 0


@pytest.mark.parametrize("m", [None, "purple"])
def test_few_steps_give_the_standard_errors(cohort, monkeypatch, m):
    """Without a risk model the residuals are the recorded diagnoses, mostly one constant."""
    estimator = DebiasedPURPLE(risk=m, strengths=[1.0], lambdas=1e-3)
    rough = estimator.fit(cohort).relative_prevalence().to_frame()["std_error"]
    monkeypatch.setattr(missed, "ACCURACY", 1e-9)
    exact = estimator.fit(cohort).relative_prevalence().to_frame()["std_error"]
    np.testing.assert_allclose(rough, exact, rtol=0.01)


def test_a_risk_that_explains_all_misses_nothing(problem):
    data, folds = rows_and_folds(problem)
    perfect = changed(data, risk=data.in_memory().s.astype(float))
    found = with_missed_risk(perfect, problem, np.zeros(2), folds, 1.0, problem.n)
    np.testing.assert_array_equal(found.in_memory().missed, 0.0)


def test_estimates_do_not_depend_on_it(cohort):
    fitted = DebiasedPURPLE(lambdas=1e-3).fit(cohort)
    data, theta = fitted.score_data_, fitted.moments_.theta
    without = group_moments(changed(data, missed=None), theta, cohort.group_names, fitted.design_)
    np.testing.assert_array_equal(without.theta, fitted.moments_.theta)
    assert not np.array_equal(without.covariance, fitted.moments_.covariance)


def test_case_only_rows_miss_all_of_the_risk(cohort):
    data = DebiasedPURPLE(lambdas=1e-3).fit(cohort).score_data_
    case_only, full = data.without_risk().in_memory(), data.in_memory()
    np.testing.assert_array_equal(case_only.with_all_risk().risk, full.with_all_risk().risk)


def test_standard_errors_are_right_where_there_is_no_risk_model():
    """All of the risk is missed; without it standard errors are those of known propensities."""
    scenario = Scenario(n=4000, intercept=-2.5, shift=0.0)  # the true ratio is 1
    errors, complete, bare = [], [], []
    for seed in range(120):
        cohort = draw(scenario, seed).cohort
        fitted = DebiasedPURPLE("ridge", None, strengths=[1.0], n_repeats=1).fit(cohort)
        data, theta = changed(fitted.score_data_, missed=None), fitted.moments_.theta
        known = group_moments(data, theta, cohort.group_names, fitted.design_)
        errors.append(_log_ratio(fitted.moments_)[0])
        complete.append(_log_ratio(fitted.moments_)[1])
        bare.append(_log_ratio(known)[1])
    sd = np.std(errors)
    assert np.mean(complete) == pytest.approx(sd, rel=0.2)
    assert np.mean(bare) > 1.12 * np.mean(complete)


def _log_ratio(moments):
    contrast = moments.contrast(0, np.array([1]))
    gradient = contrast.gradient[0]
    return contrast.values[0], np.sqrt(gradient @ moments.covariance @ gradient)


def test_propensities_are_fitted_at_a_third_of_the_best_strength(problem):
    folds = [np.arange(k, problem.n, 5) for k in range(5)]
    learner = RidgePropensity(problem, problem.n)
    chosen = cross_fit(learner, folds, (100.0, 10.0), tuning_folds=2, advance=lambda _: None)
    best = chosen.tuning.strength[chosen.tuning.loss.idxmin()]
    assert chosen.strength == best / 3
    given = cross_fit(learner, folds, (best / 3,), tuning_folds=2, advance=lambda _: None)
    assert given.strength == best / 3
    np.testing.assert_allclose(given.models[0].coef, chosen.models[0].coef, atol=0.02)
