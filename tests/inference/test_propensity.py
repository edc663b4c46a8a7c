"""The multinomial ridge: derivatives, an independent library, invariances."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from relprev.errors import ConvergenceWarning
from relprev.inference.propensity import (
    PropensityModel,
    PropensityProblem,
    fit_propensity,
    null_model,
)
from relprev.matrix import Dense, as_matrix
from relprev.model.likelihood import Problem

TIGHT = 1e-8


def make(n=600, p=6, groups=3, seed=0, weighted=True, dense=False):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, p)) < 0.3).astype(float)
    g = rng.integers(0, groups, n).astype(np.uint8)
    X[:, 0] = np.where(rng.random(n) < 0.5, g == 0, X[:, 0])
    omega = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    design = Dense(X) if dense else as_matrix(sp.csr_array(X))[0]
    return problem_of(design, g, omega, groups, n), X


def rows_of(problem):
    return problem.problem.in_memory()


def problem_of(design, g, omega, groups, n_units):
    s = np.zeros(len(g), np.uint8)
    return PropensityProblem(Problem.of(design, s, g, omega / omega.sum(), groups), n_units)


@pytest.mark.parametrize("dense", [True, False])
def test_gradient_agrees_with_finite_differences(dense):
    problem, X = make(dense=dense)
    p, free = X.shape[1], problem.problem.n_groups - 1
    point = np.random.default_rng(1).normal(size=free * (p + 1))

    def model(v):
        parts = v.reshape(free, p + 1)
        return PropensityModel(np.ascontiguousarray(parts[:, :p]), parts[:, p].copy())

    _, on_coef, on_intercept = problem.loss(model(point))
    numeric = approx_fprime(point, lambda v: problem.loss(model(v))[0], 1e-7)
    analytic = np.hstack([on_coef, on_intercept[:, None]]).ravel()
    np.testing.assert_allclose(analytic, numeric, atol=1e-6)


@pytest.mark.parametrize("groups", [2, 4])
def test_equals_scikit_learn(groups):
    problem, X = make(groups=groups, weighted=False)
    ours = fit_propensity(problem, 5.0, tolerance=TIGHT).probabilities(rows_of(problem).X)
    # With two groups the penalty on (W, -W) is twice that on W / 2 + W / 2, the log-odds' own.
    C = 1 / 5.0 if groups > 2 else 2 / 5.0
    oracle = LogisticRegression(C=C, tol=1e-10, max_iter=5000).fit(X, rows_of(problem).g)
    np.testing.assert_allclose(ours, oracle.predict_proba(X), atol=1e-6)


def test_renumbering_groups_permutes_probabilities():
    problem, _ = make(groups=4)
    order = np.array([2, 0, 3, 1], dtype=np.uint8)
    rows = rows_of(problem)
    renumbered = problem_of(rows.X, order[rows.g], rows.omega, 4, problem.n_units)
    one = fit_propensity(problem, 3.0, tolerance=TIGHT).probabilities(rows_of(problem).X)
    two = fit_propensity(renumbered, 3.0, tolerance=TIGHT).probabilities(rows_of(problem).X)
    np.testing.assert_allclose(one, two[:, order], atol=1e-6)


def test_sparse_equals_dense():
    sparse, _ = make()
    dense, _ = make(dense=True)
    one = fit_propensity(sparse, 3.0, tolerance=TIGHT).probabilities(sparse.problem.in_memory().X)
    two = fit_propensity(dense, 3.0, tolerance=TIGHT).probabilities(dense.problem.in_memory().X)
    np.testing.assert_allclose(one, two, atol=1e-7)


def test_weight_two_equals_row_twice():
    problem, X = make(weighted=False)
    weight = np.where(np.arange(len(X)) < 50, 2.0, 1.0)
    rows = np.concatenate([np.arange(len(X)), np.arange(50)])
    all_rows = rows_of(problem)
    weighted = problem_of(all_rows.X, all_rows.g, weight, 3, 600)
    twice = problem_of(all_rows.X.take(rows), all_rows.g[rows], np.ones(len(rows)), 3, 600)
    one = fit_propensity(weighted, 3.0, tolerance=TIGHT)
    two = fit_propensity(twice, 3.0, tolerance=TIGHT)
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-6)


def test_infinite_strength_gives_the_groups_shares():
    problem, _ = make()
    model = fit_propensity(problem, 1e12, tolerance=TIGHT)
    share = np.bincount(rows_of(problem).g, rows_of(problem).omega)
    np.testing.assert_allclose(
        model.probabilities(rows_of(problem).X)[:5], np.tile(share, (5, 1)), atol=1e-6
    )
    np.testing.assert_allclose(
        null_model(problem).probabilities(rows_of(problem).X)[0], share, atol=1e-12
    )


def test_coefficients_of_different_sizes_do_not_matter():
    """A feature in other units gives the same probabilities: the ridge follows its size."""
    problem, X = make(dense=True)
    rows = rows_of(problem)
    larger = Dense(X * np.array([1000.0, 1, 1, 1, 1, 1]))
    scaled = problem_of(larger, rows.g, rows.omega, 3, 600)
    one = fit_propensity(problem, 3.0, tolerance=TIGHT).probabilities(rows_of(problem).X)
    two = fit_propensity(scaled, 3.0, tolerance=TIGHT).probabilities(rows_of(scaled).X)
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_too_few_iterations_warn():
    problem, _ = make()
    with pytest.warns(ConvergenceWarning, match="propensity"):
        fit_propensity(problem, 0.1, tolerance=1e-9, max_iterations=2)
