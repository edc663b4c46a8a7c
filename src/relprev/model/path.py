"""Fits along a path of L1 penalties, each starting from the one before.

Penalties are in units of the mean loss, as in the paper: mean loss + lambda ||w||_1.

Every fit has a small ridge. Without it, the coefficient of a code that never occurs with
a diagnosis runs to minus infinity at lambda = 0 (the paper stops early instead). Its size
is a share of the information on the intercept in the model without features: for feature
j with typical value m_j,

    l2_j = l2 + ridge_floor * m_j^2 * sum_i omega_i kappa_i sigma(-z_i)^2.

It therefore does not depend on the scale of features or weights, nor on duplication of the
data; at the default of 1e-5 it moves well-supported coefficients by less than a thousandth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relprev.errors import InvalidInputError
from relprev.model.likelihood import Parameters, Problem, evaluate
from relprev.model.quadratic import Penalty
from relprev.model.solver import (
    Certificate,
    Solution,
    SolverOptions,
    gradient_scale,
    null_parameters,
    solve,
)
from relprev.progress import Advance

PAPER_GRID = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0.0)
LOG_GRID_SIZE = 20
LOG_GRID_RATIO = 1e-4
RIDGE_FLOOR = 1e-5

Lambdas = str | float | Sequence[float]


@dataclass(frozen=True)
class PathPoint:
    """One fit of a path."""

    l1: float
    parameters: Parameters
    certificate: Certificate


def lambda_max(problem: Problem) -> float:
    """The smallest L1 penalty at which every coefficient is zero."""
    return gradient_scale(problem)


def grid(lambdas: Lambdas, problem: Problem) -> tuple[float, ...]:
    """Penalties in descending order.

    Parameters
    ----------
    lambdas : "paper", "log", float or sequence of float
        ``"paper"``: 1e-2 to 1e-6 and 0. ``"log"``: 20 values evenly spaced on the log
        scale from lambda_max down to lambda_max / 10,000, and 0.
    problem : Problem
    """
    if isinstance(lambdas, str):
        if lambdas == "paper":
            return PAPER_GRID
        if lambdas == "log":
            top = lambda_max(problem)
            return (*np.geomspace(top, LOG_GRID_RATIO * top, LOG_GRID_SIZE).tolist(), 0.0)
        raise InvalidInputError(
            f"lambdas must be 'paper', 'log', a number or a list of numbers, got {lambdas!r}"
        )
    values = np.unique(np.atleast_1d(np.asarray(lambdas, dtype=float)))[::-1]
    if len(values) == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInputError(f"lambdas must be finite numbers, 0 or more, got {lambdas}")
    return tuple(values.tolist())


def ridge(problem: Problem, l2: float, ridge_floor: float) -> np.ndarray:
    """The L2 penalty of each feature, shape (p,); see the module."""
    information = evaluate(problem, null_parameters(problem)).curvature if ridge_floor else 0.0
    return l2 + ridge_floor * information * problem.feature_size**2


def fit_path(
    problem: Problem,
    lambdas: Sequence[float],
    *,
    l2: float = 0.0,
    ridge_floor: float = RIDGE_FLOOR,
    options: SolverOptions | None = None,
    advance: Advance = lambda step: None,
) -> list[PathPoint]:
    """Fits at each penalty, in the order given (preferably descending).

    Certificates say which fits did not converge; there is no warning, because only the fit
    that is used in the end matters.
    """
    scale = gradient_scale(problem)
    weights = ridge(problem, l2, ridge_floor)
    path: list[PathPoint] = []
    for l1 in lambdas:
        advance(f"lambda {l1:.1e}")
        start = path[-1].parameters if path else None
        solution = solve(
            problem, Penalty(l1, weights), start, scale=scale, options=options, warn=False
        )
        path.append(PathPoint(l1, solution.parameters, solution.certificate))
    return path


def fit_best(
    problem: Problem,
    l1: float,
    starts: Sequence[Parameters],
    *,
    l2: float = 0.0,
    ridge_floor: float = RIDGE_FLOOR,
    options: SolverOptions | None = None,
    advance: Advance = lambda step: None,
) -> list[Solution]:
    """Solutions from each start, lowest objective first.

    The problem is not convex: starts that end apart reveal more than one optimum.
    """
    scale = gradient_scale(problem)
    penalty = Penalty(l1, ridge(problem, l2, ridge_floor))
    found = []
    for number, start in enumerate(starts, 1):
        advance(f"final fit, start {number}")
        found.append(solve(problem, penalty, start, scale=scale, options=options))
    return sorted(found, key=lambda solution: solution.certificate.objective)
