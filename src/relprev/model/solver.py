"""Proximal Newton for the penalised PURPLE likelihood, with a certificate.

Minimises

    F(w, b, theta) = loss + l1 ||w||_1 + 1/2 sum_j l2_j w_j^2,    theta <= 0,

by repeating: (1) a quadratic model of the loss (`relprev.model.quadratic`),
minimised together with the penalty (`relprev.model.descent`); (2) a step along
the direction found, halved until F falls enough. An accepted step costs one pass
over the data, because the pass that checks F also gives the next gradient.

Optimality (KKT) residual, the largest of

    w_j != 0:  |grad_j + l2_j w_j + l1 sign(w_j)|    w_j = 0:  max(0, |grad_j| - l1)
    b:         |grad_b|                              theta_g < 0:  |grad_g|
    theta_g = 0 (c_g = 1):  max(0, grad_g)

divided by the largest gradient entry of the model without features, so that it has no
unit: 1 means "as far from optimal as no fit at all". If no feature tells the diagnosed
from the others, that entry is zero up to rounding, which depends on the processor; the largest
gradient that a feature could have then takes its place.
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from relprev.arrays import FloatArray
from relprev.errors import ConvergenceWarning
from relprev.messages import Message, Number
from relprev.model.descent import minimise
from relprev.model.gram import GramModel, are_suited, held, is_suited
from relprev.model.likelihood import Evaluation, Parameters, Problem, ProblemPart, evaluate
from relprev.model.quadratic import Penalty, build, curvature_rows
from relprev.parallel.threads import one_blas_thread

INNER = 0.3  # accuracy of the quadratic step, as a share of the residual it starts from
ROUNDOFF = 1e-14  # relative change of the objective that may be rounding
NOISE = 1e-10  # gradient, as a share of the largest possible one, that may be rounding
MOST_ROWS = 100_000  # used for the curvature of dense features
GRAM_WORK = 2 * 10**9  # limit on the multiplications for a matrix of curvature
MAX_STUCK = 3  # steps in a row without progress before giving up


@dataclass(frozen=True)
class SolverOptions:
    """When to stop and how to work.

    Parameters
    ----------
    tolerance : float
        Largest KKT residual accepted.
    ratio_tolerance : float
        Largest change of any log relative prevalence in the last step accepted.
    max_iterations : int
    curvature_rows : int, optional
        Limit on the rows used for curvature (the gradient uses all).
        Default: 2,000 plus six per feature; more if features are dense.
    memory : int
        Past steps used to correct the curvature.
    """

    tolerance: float = 1e-4
    ratio_tolerance: float = 1e-4
    max_iterations: int = 1000
    curvature_rows: int | None = None
    memory: int = 5


@dataclass(frozen=True)
class Certificate:
    """Why and how well the solver stopped.

    ``reason`` is "kkt" (tolerances met), "precision" (no further progress possible
    in floating point) or "max_iterations".
    """

    converged: bool
    reason: str
    kkt: float
    ratio_change: float
    iterations: int
    passes: int
    objective: float


@dataclass(frozen=True)
class Solution:
    """Parameters, the evaluation at them, the penalty and the certificate."""

    parameters: Parameters
    evaluation: Evaluation
    penalty: Penalty
    certificate: Certificate


def null_parameters(problem: Problem, largest_rate: float = 1.0) -> Parameters:
    """The model without features that matches every group's diagnosed share.

    Its scale is free, c_g sigma(b) = diagnosed share of g; ``largest_rate`` sets the
    largest c_g. Groups without a diagnosed row get c_g = 0.
    """
    rate = problem.diagnosed_rate
    sick = min(rate.max() / largest_rate, 1.0 - 1e-6)
    with np.errstate(divide="ignore"):
        theta = np.minimum(np.log(rate / sick), 0.0)
    return Parameters(np.zeros(problem.n_cols), float(np.log(sick / (1.0 - sick))), theta)


def gradient_scale(problem: Problem) -> float:
    """Largest absolute gradient entry of the model without features.

    The gradient is proportional to sigma(-b), so it is largest where sigma(b) is
    smallest: where the largest diagnosis rate is 1. This is therefore also the
    smallest l1 at which all coefficients are zero (`relprev.model.path.lambda_max`).
    """
    at = null_parameters(problem)
    gradient = np.abs(evaluate(problem, at).grad_w)
    # sum_i omega_i |dloss_i / dz| is twice that of the diagnosed, whose slope is -sigma(-b)
    slope = 2.0 * float(problem.diagnosed_weight.sum()) * float(expit(-at.b))
    possible = slope * problem.feature_size
    tells = bool((gradient > NOISE * possible).any())
    return float((gradient if tells else possible).max(initial=0.0)) or 1.0


def kkt_residual(
    at: Parameters, evaluation: Evaluation, penalty: Penalty, free_theta: NDArray[np.bool_]
) -> float:
    """Largest violation of the optimality conditions (not divided by any scale)."""
    grad = evaluation.grad_w + penalty.l2 * at.w
    inside = np.maximum(np.abs(grad) - penalty.l1, 0.0)
    on_w = np.where(at.w != 0, np.abs(grad + penalty.l1 * np.sign(at.w)), inside)
    slope = evaluation.grad_theta[free_theta]
    on_theta = np.where(at.theta[free_theta] < 0, np.abs(slope), np.maximum(slope, 0.0))
    return float(max(on_w.max(initial=0.0), abs(evaluation.grad_b), on_theta.max(initial=0.0)))


def row_budget(problem: Problem) -> int:
    """Number of rows that determine the curvature well enough."""
    few = 2_000 + 6 * problem.n_cols
    (filled,) = problem.total(_held)
    dense = are_suited(problem.n_cols, problem.n, filled)
    return max(few, min(MOST_ROWS, GRAM_WORK // problem.n_cols**2)) if dense else few


def _held(part: ProblemPart) -> tuple[int]:
    return (held(part.X),)


@one_blas_thread()
def solve(
    problem: Problem,
    penalty: Penalty,
    start: Parameters | None = None,
    *,
    scale: float | None = None,
    fit_rates: bool = True,
    options: SolverOptions | None = None,
    warn: bool = True,
) -> Solution:
    """Minimise the penalised loss from one starting point.

    Parameters
    ----------
    problem : Problem
    penalty : Penalty
    start : Parameters, optional
        Default: the model without features and with largest diagnosis rate 1.
    scale : float, optional
        What the KKT residual is divided by (default: `gradient_scale`).
    fit_rates : bool
        False keeps the diagnosis rates of ``start``: with one group and c = 1 the
        problem is penalised logistic regression.
    options : SolverOptions, optional
    warn : bool
        Warn if the tolerance was not reached; the certificate says so in any case.
    """
    options = options or SolverOptions()
    free_theta = np.full(problem.n_groups, fit_rates) & (problem.diagnosed_weight > 0)
    scale = gradient_scale(problem) if scale is None else scale
    rows = options.curvature_rows or row_budget(problem)
    if problem.n <= rows:
        problem = problem.collected()
    at = start or null_parameters(problem)
    now = evaluate(problem, at, keep_z=True)
    value = now.loss + penalty.value(at.w)
    kkt = kkt_residual(at, now, penalty, free_theta) / scale
    history: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=options.memory)
    passes, change, reason, iteration, stuck = 1, np.inf, "max_iterations", 0, 0
    while iteration < options.max_iterations:
        if kkt <= options.tolerance and (change <= options.ratio_tolerance or iteration == 0):
            reason = "kkt"
            break
        iteration += 1
        gradient = _stacked(now, free_theta)
        curved, inner = curvature_rows(problem, at, now, rows), INNER * kkt * scale
        if is_suited(curved.X):
            gram = GramModel(curved, problem.feature_size, problem.n_groups)
            gram.learn(history)
            step = gram.minimise(at, gradient, penalty, free_theta, inner)
        else:
            model = build(problem, curved)
            model.learn(history)
            step = minimise(model, at, gradient, penalty, free_theta, inner)
        found = _line_search(problem, penalty, at, gradient, value, step)
        passes += found.passes
        if found.evaluation is None:
            reason = "precision"
            break
        history.append((found.size * step, _stacked(found.evaluation, free_theta) - gradient))
        change = _ratio_change(now.condition, found.evaluation.condition)
        flat = value - found.value <= ROUNDOFF * abs(value)
        at, now, value = found.parameters, found.evaluation, found.value
        before, kkt = kkt, kkt_residual(at, now, penalty, free_theta) / scale
        stuck = stuck + 1 if flat and kkt > 0.5 * before else 0
        if stuck == MAX_STUCK:
            reason = "precision"
            break
    converged = kkt <= options.tolerance
    certificate = Certificate(converged, reason, kkt, float(change), iteration, passes, value)
    solution = Solution(at, replace(now, z=None), penalty, certificate)
    if warn:
        warn_unless_converged(solution, options, stacklevel=4)  # the decorator is a frame
    return solution


def warn_unless_converged(
    solution: Solution, options: SolverOptions | None = None, *, stacklevel: int = 2
) -> None:
    """Warn if the tolerance was not reached by a fit that is used."""
    found, options = solution.certificate, options or SolverOptions()
    if found.converged:
        return
    said = Message(
        "the solver stopped ({reason}) after {steps} iterations with optimality residual {kkt} "
        "above the tolerance {tolerance} at l1 = {l1}; raise max_iterations or tolerance, or "
        "check for features on very different scales",
        reason=found.reason, steps=Number(found.iterations), kkt=Number(found.kkt, ".1e"),
        tolerance=Number(options.tolerance, ".1e"), l1=Number(solution.penalty.l1),
    )  # fmt: skip
    warnings.warn(ConvergenceWarning(said), stacklevel=stacklevel)


@dataclass(frozen=True)
class _Found:
    """Where a line search ended; ``evaluation`` is None if no step was short enough."""

    passes: int
    size: float
    value: float
    parameters: Parameters
    evaluation: Evaluation | None


def _line_search(
    problem: Problem, penalty: Penalty, at: Parameters, gradient: FloatArray, value: float,
    step: FloatArray,
) -> _Found:  # fmt: skip
    """Halve the step until the objective falls by a fraction of what its slope predicts."""
    p = len(at.w)
    d = step[:p]
    l1_change = penalty.l1 * float(np.abs(at.w + d).sum() - np.abs(at.w).sum())
    predicted = float(gradient @ step + (penalty.l2 * at.w) @ d) + l1_change
    if predicted >= 0:
        return _Found(0, 0.0, value, at, None)
    size = 1.0
    for tried in range(1, 30):
        theta = np.minimum(at.theta + size * step[p + 1 :], 0.0)
        new = Parameters(at.w + size * d, at.b + size * float(step[p]), theta)
        evaluation = evaluate(problem, new, keep_z=True)
        new_value = evaluation.loss + penalty.value(new.w)
        if new_value <= value + 1e-4 * size * predicted + ROUNDOFF * abs(value):
            return _Found(tried, size, new_value, new, evaluation)
        size *= 0.5
    return _Found(tried, 0.0, value, at, None)


def _stacked(evaluation: Evaluation, free_theta: NDArray[np.bool_]) -> FloatArray:
    """Gradient as one vector: w, b, theta (zero where theta is held fixed)."""
    on_theta = np.where(free_theta, evaluation.grad_theta, 0.0)
    return np.concatenate([evaluation.grad_w, [evaluation.grad_b], on_theta])


def _ratio_change(before: FloatArray, after: FloatArray) -> float:
    """Largest change of the log of any ratio of the groups' mean sigma(z)."""
    moved = np.log(after) - np.log(before)
    return float(moved.max() - moved.min())
