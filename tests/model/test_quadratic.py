import numpy as np
import pytest
from scipy.special import expit

from relprev.model.descent import minimise
from relprev.model.likelihood import Parameters, Problem, evaluate
from relprev.model.quadratic import Penalty, build, curvature_rows
from tests.conftest import random_problem

KINDS = ("dense", "float", "binary")


def _setting(kind="float", seed=0):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, kind)
    at = Parameters(0.3 * rng.normal(size=5), -0.4, np.log(rng.uniform(0.3, 0.8, 3)))
    return problem, at, evaluate(problem, at), rng


def _curvature_matrix(problem, at):
    rows = problem.in_memory()
    X = rows.X.to_scipy()
    X = X if isinstance(X, np.ndarray) else X.toarray()
    z = X @ at.w + at.b
    p = at.c[rows.g] * expit(z)
    v = expit(-z)[:, None]
    groups = np.eye(problem.n_groups)[rows.g]
    u = np.hstack([v * X, v, groups])
    fisher = (u * (rows.omega * p / (1 - p))[:, None]).T @ u
    observed = expit(z) * expit(-z) - p / (1 - p) * expit(-z) ** 2
    x = np.hstack([X, np.ones_like(v), np.zeros_like(groups)])
    return fisher + (x * (rows.omega * rows.s * observed)[:, None]).T @ x


def _model(problem, at, found, budget):
    return build(problem, curvature_rows(problem, at, found, budget))


def _gradient(found):
    return np.concatenate([found.grad_w, [found.grad_b], found.grad_theta])


@pytest.mark.parametrize("kind", KINDS)
def test_product_equals_the_explicit_matrix(kind):
    problem, at, found, rng = _setting(kind)
    step = rng.normal(size=9)
    model = _model(problem, at, found, 1000)
    np.testing.assert_allclose(
        model.rows_dot(step), _curvature_matrix(problem, at) @ step, rtol=1e-11
    )


@pytest.mark.parametrize("kind", KINDS)
def test_diagonal_equals_the_explicit_matrix(kind):
    problem, at, found, _ = _setting(kind)
    model = _model(problem, at, found, 1000)
    np.testing.assert_allclose(
        model.diagonal, np.diag(_curvature_matrix(problem, at))[:5], rtol=1e-12
    )


def test_learning_makes_the_last_step_explain_its_change_of_gradient():
    problem, at, found, rng = _setting()
    steps = [0.05 * rng.normal(size=9) for _ in range(3)]
    h = _curvature_matrix(problem, at)
    truth = h + 0.3 * np.diag(np.diag(h))  # another positive curvature
    model = _model(problem, at, found, 1000)
    model.learn([(step, truth @ step) for step in steps])
    last = steps[-1]
    learned = model.rows_dot(last) + model.u @ (model.signs * (model.u.T @ last))
    np.testing.assert_allclose(learned, truth @ last, rtol=1e-9)


def test_learning_keeps_curvature_positive_even_from_negative_curvature():
    problem, at, found, rng = _setting()
    step = 0.05 * rng.normal(size=9)
    model = _model(problem, at, found, 1000)
    model.learn([(step, -model.rows_dot(step))])
    h = _curvature_matrix(problem, at) + (model.u * model.signs) @ model.u.T
    assert np.linalg.eigvalsh(h).min() > -1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_without_penalty_the_step_solves_the_newton_equations(kind):
    problem, at, found, _ = _setting(kind)
    model = _model(problem, at, found, 1000)
    h, gradient = _curvature_matrix(problem, at), _gradient(found)
    ridge = np.full(5, 0.05)  # keeps the exact step within its bounds
    step = minimise(model, at, gradient, Penalty(0.0, ridge), np.ones(3, bool), 1e-13)
    full = h + np.diag(np.append(ridge, np.zeros(4)))
    residual = full @ step + gradient + np.append(ridge * at.w, np.zeros(4))
    free = np.append(np.ones(6, bool), at.theta + step[6:] < -1e-9)
    assert np.abs(residual[free]).max() < 1e-6 * np.abs(gradient).max()
    assert (at.theta + step[6:] <= 1e-12).all()


def test_with_l1_the_step_meets_the_optimality_conditions_of_the_model():
    problem, at, found, _ = _setting("binary", seed=3)
    model = _model(problem, at, found, 1000)
    l1, ridge = 0.02, np.full(5, 0.01)
    step = minimise(model, at, _gradient(found), Penalty(l1, ridge), np.ones(3, bool), 1e-13)
    new = at.w + step[:5]
    slope = (_curvature_matrix(problem, at) @ step + _gradient(found))[:5] + ridge * new
    violation = np.where(
        new != 0, np.abs(slope + l1 * np.sign(new)), np.maximum(np.abs(slope) - l1, 0)
    )
    assert violation.max() < 1e-6


def test_sampled_curvature_is_close_to_the_exact_one_and_reproducible(visits):
    problem = Problem.from_cohort(visits.cohort)
    at = Parameters(np.zeros(300), -2.0, np.log(np.full(4, 0.3)))
    found = evaluate(problem, at)
    step = np.append(np.zeros(300), [1.0, 0.5, 0.2, 0.1, 0.4])
    exact = _model(problem, at, found, 10**9).rows_dot(step)
    one, two = (_model(problem, at, found, 5000) for _ in range(2))
    assert 4500 < len(one.k) < 7000
    assert one.k.tobytes() == two.k.tobytes()
    error = one.rows_dot(step) - exact
    assert np.linalg.norm(error) < 0.05 * np.linalg.norm(exact)


def test_columns_missed_by_the_sample_keep_their_true_curvature(visits):
    problem = Problem.from_cohort(visits.cohort)
    at = Parameters(np.zeros(300), -2.0, np.log(np.full(4, 0.3)))
    found = evaluate(problem, at)
    exact = _model(problem, at, found, 10**9).diagonal
    sampled = _model(problem, at, found, 300).diagonal
    assert (sampled >= exact * (1 - 1e-9)).all()
