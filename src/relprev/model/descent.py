"""Minimise the quadratic model plus the penalty: one Newton step.

Coordinate descent over w keeps, for the curvature rows (`relprev.model.quadratic`),

    q_i = a_i eta_i + k_i v_i dtheta_{g_i},    eta_i = x_i.d + db,

so that the model's derivative in d_j is grad_j + sum_i x_ij q_i, its curvature is
sum_i x_ij^2 a_i, and a move of d_j by delta adds a_i x_ij delta to q_i.

The intercept, the log diagnosis rates and the overall scale of w are strongly
coupled: together they trade a larger p(y=1|x) against smaller c_g. They move
together, by a small dense Newton step after every sweep. Without this, sweeps
creep along that direction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from relprev.arrays import FloatArray, group_sums
from relprev.model import kernels
from relprev.model.likelihood import Parameters
from relprev.model.quadratic import Penalty, Quadratic, column_values

# Largest change of z that one step of a parameter may cause in a row with a typical value of
# its feature. Far from the optimum the loss behaves like n exp(w) - k w, for which Newton's
# step from below, k / n - 1, can be absurd.
MAX_STEP = 3.0
MAX_SWEEPS = 50
FULL_SWEEP_EVERY = 10
NEAR_PENALTY = 0.9  # a zero coefficient may move if its gradient exceeds this share of l1
FLAT = 1e-10  # relative curvature of b, theta and scale below which a direction is left alone


def minimise(
    model: Quadratic, at: Parameters, gradient: FloatArray, penalty: Penalty,
    free_theta: NDArray[np.bool_], tolerance: float,
) -> FloatArray:  # fmt: skip
    """The step that minimises the quadratic model plus the penalty, with theta <= 0 after it.

    Sweeps run over the coordinates that are not zero until those are settled, then
    once over all candidates.

    Parameters
    ----------
    model : Quadratic
    at : Parameters
    gradient : array of shape (p + 1 + n_groups,)
        Gradient of the loss in w, b and theta.
    penalty : Penalty
    free_theta : boolean array of shape (n_groups,)
        False where theta must not move.
    tolerance : float
        Largest violation of the model's optimality conditions to accept.
    """
    p = model.n_cols
    may_move = (at.w != 0) | (np.abs(gradient[:p]) > NEAR_PENALTY * penalty.l1)
    candidates = np.flatnonzero(may_move)
    step = np.zeros(len(gradient))
    seen = np.zeros(len(model.signs))  # u_m . step
    block = _Block(model, at, gradient, penalty, free_theta, step, seen)
    columns = model.columns
    slope = gradient[:p] + penalty.l2 * at.w
    args = (
        columns.indptr, columns.rows, column_values(columns), model.aq, slope, at.w, step,
        model.diagonal + penalty.l2, model.extra + penalty.l2, model.u, model.signs, seen,
        penalty.l1, MAX_STEP / model.size,
    )  # fmt: skip
    working, complete = candidates, True
    for number in range(1, MAX_SWEEPS + 1):
        worst = max(kernels.sweep(*args, working), block.move())
        if worst <= tolerance and complete:
            break
        complete = worst <= tolerance or number % FULL_SWEEP_EVERY == 0
        working = candidates if complete else candidates[(at.w + step[:p])[candidates] != 0]
    return step


class _Block:
    """Joint Newton moves of b, theta and the scale of w within the quadratic model.

    The scale is a move of d along r = w + d. It leaves the signs and zeros of w + d as
    they are, so the L1 penalty changes by l1 ||r||_1 times the move. A move may at most
    halve r; theta + dtheta stays at or below zero.
    """

    def __init__(
        self, model: Quadratic, at: Parameters, gradient: FloatArray, penalty: Penalty,
        free_theta: NDArray[np.bool_], step: FloatArray, seen: FloatArray,
    ) -> None:  # fmt: skip
        kv = model.k * model.v
        scores = model.z - at.b  # w.x of the curvature rows
        self.rows = (model.aq, model.k, kv, model.g, scores, np.empty(len(model.k)))
        self.corrections = (model.u, model.signs, seen)
        self.step, self.r, self.on_r = step, np.empty(model.n_cols), np.empty(len(model.signs))
        self.given = (at.w, step, gradient, gradient[: model.n_cols] + penalty.l2 * at.w,
                      model.extra + penalty.l2, self.corrections, penalty.l1)  # fmt: skip
        self.may_move = np.concatenate([[True], free_theta])
        self.upper = np.concatenate([[MAX_STEP], np.minimum(MAX_STEP, -at.theta)])
        fisher = np.diag(
            np.append(model.aq[:, 0].sum(), group_sums(model.g, model.k, model.n_groups))
        )
        fisher[0, 1:] = fisher[1:, 0] = group_sums(model.g, kv, model.n_groups)
        u = model.u[model.n_cols :]
        self.slope, self.low, self.high = np.empty((3, len(fisher) + 1))
        self.free = np.empty(len(fisher) + 1, dtype=np.bool_)
        self.hessian = np.zeros((len(fisher) + 1, len(fisher) + 1))
        self.hessian[:-1, :-1] = fisher + (u * model.signs) @ u.T

    def move(self) -> float:
        """Move to the block's minimum; returns the largest derivative in b and theta before."""
        system, bounds = (self.slope, self.hessian), (self.low, self.high, self.free)
        kernels.block_system(self.rows, *self.given, self.r, self.on_r, system)
        worst: float = kernels.block_bounds(
            self.slope, self.step, self.r, self.upper, MAX_STEP, self.may_move, *bounds
        )
        move = bounded_newton(self.hessian, self.slope, *bounds)
        kernels.block_shift(self.rows, self.step, self.corrections, self.r, self.on_r, move)
        return worst


def bounded_newton(
    hessian: FloatArray, slope: FloatArray, low: FloatArray, high: FloatArray,
    free: NDArray[np.bool_],
) -> FloatArray:  # fmt: skip
    """The move m of the free entries, low <= m <= high, that minimises slope.m + m'Hm/2.

    Entries are scaled to unit curvature. With H = V diag(e) V' and directions of no
    curvature left out, the problem is least squares in A = diag(sqrt e) V'; it is
    solved with bounds only if the solution without bounds breaks one.
    """
    move = np.empty_like(slope)
    if kernels.newton(hessian, slope, low, high, free, FLAT, move):
        return move
    sub = np.flatnonzero(free)
    block = hessian[np.ix_(sub, sub)]
    unit = 1.0 / np.sqrt(np.maximum(np.diag(block), np.finfo(float).tiny))
    curvature, directions = np.linalg.eigh(block * np.outer(unit, unit))
    kept = curvature > FLAT
    root = np.sqrt(curvature[kept])
    down = -(directions[:, kept].T @ (unit * slope[sub])) / root
    A = root[:, None] * directions[:, kept].T
    bounds = (low[sub] / unit, high[sub] / unit)
    target = unit * lsq_linear(A, down, bounds, method="bvls").x
    move[sub] = np.clip(target, low[sub], high[sub])
    return move
