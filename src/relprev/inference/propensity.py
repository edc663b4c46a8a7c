"""Group propensities pi_g(x) = p(g | x): multinomial logistic regression with a ridge.

With K groups, predictors z_k = W_k.x + b_k and weights omega that sum to one,

    F = - sum_i omega_i log pi_{g_i}(x_i) + 1/2 sum_j l_j sum_k W_kj^2,
    pi_k = exp(z_k) / sum_h exp(z_h),    l_j = strength / n_units * m_j^2,

where m_j is the typical size of feature j's non-zero values. ``strength`` is thus
the prior precision of a coefficient, counted in independent units (patients).

The penalty treats all groups alike, so at the optimum sum_k W_k = 0. Only the
first K - 1 rows are therefore free, the last is minus their sum:

    d loss / dW_k = sum_i r_ik x_i,    r_ik = omega_i [(pi_k - 1(g=k)) - (pi_K - 1(g=K))]
    d ridge / dW_k = l (W_k - W_K).

Solved by L-BFGS in coordinates scaled by the root of the diagonal curvature
q_j p_k (1 - p_k) + l_j (q_j the mean square of feature j, p_k the group's share):
codes differ in frequency by orders of magnitude, and so does their curvature. In these
coordinates a gradient entry h promises a decrease of h^2 / 2; one that rounding of F would hide
counts as zero, however small the gradients were at the start.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from relprev.arrays import FloatArray
from relprev.errors import ConvergenceWarning
from relprev.inference import kernels
from relprev.matrix import Matrix
from relprev.matrix.base import side_by_side
from relprev.messages import Message, Number
from relprev.model.likelihood import Problem, ProblemPart
from relprev.parallel.threads import BLOCK_ROWS, blocks, map_chunks, one_blas_thread
from relprev.rows import total

STRENGTHS = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
ROUNDOFF = 1e-14  # relative change of F that may be rounding


@dataclass(frozen=True)
class PropensityModel:
    """Coefficients (K - 1, p) and intercepts (K - 1,); the last group has minus their sum."""

    coef: FloatArray
    intercept: FloatArray

    def probabilities(self, X: Matrix) -> FloatArray:
        """pi_g(x), shape (n, K)."""
        free = len(self.intercept)
        out = np.empty((X.n_rows, free + 1))

        W = side_by_side(self.coef)

        def one_chunk(start: int, stop: int) -> None:
            z = np.empty((W.shape[1], BLOCK_ROWS))
            for lo, hi in blocks(start, stop):
                X.dots(W, lo, hi, z)
                kernels.multinomial_probabilities(z[:free], self.intercept, out[lo:hi])

        map_chunks(one_chunk, X.n_rows)
        return out


@dataclass(frozen=True)
class PropensityProblem:
    """Rows whose groups are to be predicted, and the number of independent units among them."""

    problem: Problem
    n_units: int

    def loss(self, at: PropensityModel) -> tuple[float, FloatArray, FloatArray]:
        """Mean log-loss and its gradient in the coefficients and intercepts."""
        gradient, sums = self.problem.total(_pass, at)
        return float(sums[0]), gradient, sums[1:]


def _pass(part: ProblemPart, at: PropensityModel) -> tuple[FloatArray, FloatArray]:
    """Gradient in the coefficients, and sums of the loss and of d/d intercepts."""
    X, free, W = part.X, part.n_groups - 1, side_by_side(at.coef)

    def one_chunk(start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        gradient = np.zeros(W.shape)
        sums = np.zeros(1 + free)
        z, work = np.empty((W.shape[1], BLOCK_ROWS)), np.empty((3, BLOCK_ROWS))
        for lo, hi in blocks(start, stop):
            X.dots(W, lo, hi, z)
            kernels.multinomial_block(
                z[:free], at.intercept, part.g[lo:hi], part.omega[lo:hi], work, sums
            )
            X.add_tdots(z, lo, hi, gradient)
        return gradient, sums

    gradient, sums = total(map_chunks(one_chunk, X.n_rows))
    return gradient.T[:free], sums


def _mean_square(part: ProblemPart) -> FloatArray:
    return part.X.rmatvec_sq(part.omega)


def null_model(problem: PropensityProblem) -> PropensityModel:
    """The groups' shares, whatever x."""
    rows = problem.problem
    log_share = np.log(np.maximum(rows.group_weight, 1e-300))
    centred = log_share - log_share.mean()
    return PropensityModel(np.zeros((rows.n_groups - 1, rows.n_cols)), centred[:-1])


def fit_propensity(
    problem: PropensityProblem,
    strength: float,
    start: PropensityModel | None = None,
    *,
    left_out: NDArray[np.bool_] | None = None,
    tolerance: float = 1e-3,
    max_iterations: int = 500,
) -> PropensityModel:
    """Minimise F.

    Parameters
    ----------
    problem : PropensityProblem
    strength : float
        Prior precision of a coefficient, in independent units.
    start : PropensityModel, optional
        Default: the groups' shares.
    left_out : boolean array of shape (p,), optional
        Features whose coefficients stay zero, as if they were not there.
    tolerance : float
        Largest scaled gradient entry accepted, as a share of that of the model without features.
    max_iterations : int

    Examples
    --------
    >>> import numpy as np
    >>> from relprev.matrix import Dense
    >>> X = Dense(np.array([[0.0], [1.0]]))
    >>> g, omega = np.array([0, 1], np.uint8), np.array([0.5, 0.5])
    >>> rows = Problem.of(X, np.array([1, 0], np.uint8), g, omega, n_groups=2)
    >>> fit_propensity(PropensityProblem(rows, n_units=2), 1.0).probabilities(X).round(2)
    array([[0.6, 0.4],
           [0.4, 0.6]])
    """
    rows = problem.problem
    free, p = rows.n_groups - 1, rows.n_cols
    null = null_model(problem)
    ridge = strength / problem.n_units * rows.feature_size**2
    share = rows.group_weight[:free]
    information = np.maximum(share * (1 - share), 1e-6)[:, None]
    mean_square = np.sum(rows.map(_mean_square), axis=0)
    scale = np.hstack([np.sqrt(information * mean_square + ridge), np.sqrt(information)])
    scale[scale == 0] = 1.0  # a feature that is always 0, without ridge
    size = 1 / scale
    if left_out is not None:
        scale[:, :p][:, left_out], size[:, :p][:, left_out] = 0.0, 0.0

    def unpacked(v: FloatArray) -> PropensityModel:
        point = v.reshape(free, p + 1) * size
        return PropensityModel(np.ascontiguousarray(point[:, :p]), point[:, p].copy())

    def packed(at: PropensityModel) -> FloatArray:
        return (np.hstack([at.coef, at.intercept[:, None]]) * scale).ravel()

    def objective(v: FloatArray) -> tuple[float, FloatArray]:
        at = unpacked(v)
        loss, on_coef, on_intercept = problem.loss(at)
        last = -at.coef.sum(axis=0)
        value = loss + 0.5 * float(ridge @ ((at.coef**2).sum(axis=0) + last**2))
        on_coef = on_coef + ridge * (at.coef - last)
        gradient = np.hstack([on_coef, on_intercept[:, None]]) * size
        return value, gradient.ravel()

    unit = float(np.abs(objective(packed(null))[1]).max())
    with one_blas_thread():
        found = minimize(
            objective, packed(start or null), jac=True, method="L-BFGS-B",
            options={"maxiter": max_iterations, "maxfun": 2 * max_iterations, "maxcor": 10,
                     "gtol": tolerance * unit, "ftol": 1e-15},
        )  # fmt: skip
    largest = float(np.abs(found.jac).max())
    if largest > max(10 * tolerance * unit, np.sqrt(2 * ROUNDOFF * abs(found.fun))):
        said = Message(
            "the propensity model stopped after {steps} iterations with gradient {residual} of its "
            "starting size, above {tolerance} at strength {strength}; use a larger strength or "
            "check for features on very different scales",
            steps=Number(found.nit), residual=Number(largest / unit, ".1e"),
            tolerance=Number(tolerance, ".1e"), strength=Number(strength),
        )  # fmt: skip
        warnings.warn(ConvergenceWarning(said), stacklevel=2)
    return unpacked(found.x)
