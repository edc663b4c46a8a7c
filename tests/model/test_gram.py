"""Curvature as one matrix: the same model, and the same optimum, as curvature by rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from relprev import as_cohort
from relprev.matrix import BinaryCSR, Dense, FloatCSR
from relprev.model.gram import GramModel, is_suited
from relprev.model.likelihood import Parameters, Problem, evaluate
from relprev.model.path import RIDGE_FLOOR, ridge
from relprev.model.quadratic import Penalty, curvature_rows
from relprev.model.solver import SolverOptions, solve
from tests.conftest import LASSO
from tests.model.test_quadratic import _curvature_matrix, _gradient, _setting


def _gram(problem, at, found, budget=1000):
    rows = curvature_rows(problem, at, found, budget)
    return GramModel(rows, problem.feature_size, problem.n_groups)


def test_matrix_is_the_explicit_one():
    problem, at, found, _ = _setting("dense")
    gram = _gram(problem, at, found)
    np.testing.assert_allclose(gram.H, _curvature_matrix(problem, at), rtol=1e-11, atol=1e-14)


def test_learning_makes_the_last_step_explain_its_change_of_gradient():
    problem, at, found, rng = _setting("dense")
    gram = _gram(problem, at, found)
    truth = gram.H + 0.3 * np.diag(np.diag(gram.H))
    steps = [0.05 * rng.normal(size=9) for _ in range(3)]
    gram.learn([(step, truth @ step) for step in steps])
    np.testing.assert_allclose(gram.H @ steps[-1], truth @ steps[-1], rtol=1e-9)
    assert np.linalg.eigvalsh(gram.H).min() > 0


def test_step_meets_the_optimality_conditions_of_the_model():
    problem, at, found, _ = _setting("dense", seed=3)
    gram = _gram(problem, at, found)
    l1, l2 = 0.02, np.full(5, 0.01)
    free = np.ones(3, bool)
    step = gram.minimise(at, _gradient(found), Penalty(l1, l2), free, tolerance=1e-10)
    new = at.w + step[:5]
    slope = _gradient(found) + gram.H @ step
    on_w = slope[:5] + l2 * new
    violation = np.where(
        new != 0, np.abs(on_w + l1 * np.sign(new)), np.maximum(np.abs(on_w) - l1, 0)
    )
    inside = at.theta + step[6:] < -1e-9
    assert violation.max() < 1e-9
    assert abs(slope[5]) < 1e-9
    assert np.abs(slope[6:][inside]).max() < 1e-9
    assert (at.theta + step[6:] <= 1e-12).all()


def correlated(n=4000, p=60, seed=0):
    """Features that move together, on very different scales."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) @ rng.normal(size=(6, p)) + 0.3 * rng.normal(size=(n, p))
    z = X[:, 0] - X[:, 1]
    s = (rng.random(n) < 1 / (1 + np.exp(2 - z))).astype(int)
    return X * rng.lognormal(sigma=2, size=p), s, rng.integers(0, 2, n)


def test_correlated_features_reach_the_optimum_of_liblinear():
    """One group and c = 1: ordinary L1 logistic regression."""
    X, s, _ = correlated()
    n, l1 = len(X), 1e-3
    problem = Problem.of(
        Dense(X), s.astype(np.uint8), np.zeros(n, np.uint8), np.full(n, 1 / n), n_groups=1
    )
    start = Parameters(np.zeros(X.shape[1]), 0.0, np.zeros(1))
    options = SolverOptions(tolerance=1e-7)
    ours = solve(problem, Penalty(l1, np.zeros(60)), start, fit_rates=False, options=options)
    theirs = LogisticRegression(
        **LASSO, solver="liblinear", C=1 / (n * l1), tol=1e-10, max_iter=10_000,
        intercept_scaling=1e4,
    ).fit(X, s)  # fmt: skip
    w, b = theirs.coef_[0], float(theirs.intercept_[0])
    objective = evaluate(problem, Parameters(w, b, np.zeros(1))).loss + l1 * np.abs(w).sum()
    assert ours.certificate.converged
    assert ours.certificate.objective <= objective * (1 + 1e-8)


def test_sampled_rows_lead_to_the_same_optimum():
    X, s, g = correlated()
    problem = Problem.from_cohort(as_cohort(X, s, groups=np.where(g == 1, "a", "b")))
    penalty = Penalty(1e-4, ridge(problem, 0.0, RIDGE_FLOOR))
    options = SolverOptions(tolerance=1e-7, curvature_rows=1500)
    sampled = solve(problem, penalty, options=options)
    whole = solve(problem, penalty, options=SolverOptions(tolerance=1e-7))
    assert sampled.certificate.converged
    assert sampled.certificate.objective == pytest.approx(whole.certificate.objective, rel=1e-9)


def test_only_dense_features_of_a_moderate_number_are_suited():
    assert is_suited(Dense(np.zeros((2, 1000))))
    assert not is_suited(Dense(np.zeros((2, 11))))
    assert not is_suited(Dense(np.zeros((2, 1001))))
    assert not is_suited(BinaryCSR(np.array([0, 20]), np.arange(20), 20))


def test_numbers_in_a_sparse_matrix_are_suited_if_there_are_enough():
    for count, suited in ((5, True), (4, False)):
        X = FloatCSR(np.array([0, count]), np.arange(count), np.full(count, 0.5), 20)
        assert is_suited(X) is suited


def test_a_sparse_matrix_of_numbers_is_solved_like_a_dense_one():
    X, s, g = correlated(n=3000, p=20)
    X[:, 10:] = X[:, 10:] > 1
    solved = []
    for matrix in (X, sp.csr_array(X)):
        problem = Problem.from_cohort(as_cohort(matrix, s, groups=np.where(g == 1, "a", "b")))
        penalty = Penalty(1e-3, ridge(problem, 0.0, RIDGE_FLOOR))
        solved.append(solve(problem, penalty, options=SolverOptions(tolerance=1e-8)))
    one, other = solved
    assert other.certificate.converged
    assert other.certificate.iterations <= one.certificate.iterations + 2
    np.testing.assert_allclose(other.parameters.w, one.parameters.w, atol=1e-5)


def test_ratios_are_those_of_descent_over_rows(monkeypatch):
    """At a tight tolerance both ways lead to the same relative prevalence."""
    X, s, g = correlated(n=3000, p=20)
    problem = Problem.from_cohort(as_cohort(X, s, groups=np.where(g == 1, "a", "b")))
    penalty = Penalty(1e-3, ridge(problem, 0.0, RIDGE_FLOOR))
    options = SolverOptions(tolerance=1e-9, ratio_tolerance=1e-10)
    by_matrix = solve(problem, penalty, options=options)
    monkeypatch.setattr("relprev.model.solver.is_suited", lambda X: False)
    by_rows = solve(problem, penalty, options=options)
    one, two = (found.evaluation.condition for found in (by_matrix, by_rows))
    assert one[0] / one[1] == pytest.approx(two[0] / two[1], rel=1e-7)
