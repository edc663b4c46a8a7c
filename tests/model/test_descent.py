"""The joint Newton move of intercept, diagnosis rates and scale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from relprev.model.descent import _Block, bounded_newton
from relprev.model.likelihood import Parameters, Problem, evaluate
from relprev.model.quadratic import Penalty, build, curvature_rows
from relprev.model.solver import solve
from relprev.simulate import ed_visits

FAR = np.full(4, 10.0)
ALL = np.ones(4, dtype=np.bool_)


def system(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A positive definite Hessian whose entries differ in size, and a slope."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 4)) * np.array([1.0, 10.0, 0.1, 1.0])
    return root.T @ root, rng.normal(size=4) * np.array([1.0, 10.0, 0.1, 1.0])


@pytest.mark.parametrize("seed", range(5))
def test_move_without_bounds_solves_newtons_equation(seed):
    hessian, slope = system(seed)
    move = bounded_newton(hessian, slope, -100 * FAR, 100 * FAR, ALL)
    np.testing.assert_allclose(move, -np.linalg.solve(hessian, slope), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_move_within_bounds_is_the_minimum_that_another_optimiser_finds(seed):
    hessian, slope = system(seed)
    low, high = np.array([-0.1, -0.02, -1.0, 0.0]), np.array([0.1, 0.02, 1.0, 0.3])

    def value(m: np.ndarray) -> float:
        return float(slope @ m + 0.5 * m @ hessian @ m)

    found = minimize(
        value, np.zeros(4), jac=lambda m: slope + hessian @ m, method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)), options={"ftol": 1e-15, "gtol": 1e-12},
    )  # fmt: skip
    move = bounded_newton(hessian, slope, low, high, ALL)
    assert (low <= move).all()
    assert (move <= high).all()
    assert value(move) <= found.fun + 1e-9 * abs(found.fun)


def test_entries_that_are_not_free_stay_and_flat_directions_are_left_alone():
    hessian, slope = system(0)
    free = np.array([True, False, True, True])
    assert bounded_newton(hessian, slope, -FAR, FAR, free)[1] == 0.0
    flat = np.diag([1.0, 1.0, 1.0, 0.0])
    flat[0, 1] = flat[1, 0] = 1.0  # no curvature along (1, -1)
    move = bounded_newton(flat, np.array([1.0, 1.0, 2.0, 0.0]), -FAR, FAR, ALL)
    np.testing.assert_allclose(move, [-0.5, -0.5, -2.0, 0.0], atol=1e-9)


def test_joint_move_leaves_no_slope_in_intercept_rates_and_scale():
    """After one move the block is at its minimum, unless a bound stopped it."""
    cohort = ed_visits(3_000, n_codes=60, prevalence=0.2, seed=2).cohort
    problem = Problem.from_cohort(cohort)
    penalty = Penalty(1e-4, np.full(60, 1e-3))
    best = solve(problem, penalty).parameters
    at = Parameters(0.8 * best.w, best.b - 0.1, best.theta - 0.2)
    now = evaluate(problem, at, keep_z=True)
    gradient = np.concatenate([now.grad_w, [now.grad_b], now.grad_theta])
    model = build(problem, curvature_rows(problem, at, now, 10**6))
    step = np.zeros(len(gradient))
    free = np.ones(problem.n_groups, dtype=np.bool_)
    block = _Block(model, at, gradient, penalty, free, step, np.zeros(len(model.signs)))
    first = block.move()
    assert block.move() < 1e-9 * first
    product = model.rows_dot(step)
    slope = gradient + product
    bound = np.append(False, at.theta + step[61:] > -1e-12)  # a diagnosis rate of 1
    assert (slope[60:][bound] <= 0).all()
    np.testing.assert_allclose(slope[60:][~bound], 0.0, atol=1e-9 * first)
    r = at.w + step[:60]
    along = slope[:60] @ r + penalty.l2 @ r**2 + penalty.l1 * np.abs(r).sum()
    assert abs(along) < 1e-9 * first
