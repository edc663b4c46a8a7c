"""What the risk model misses, and what that adds to the standard errors.

The score tolerates errors of the propensities where m(x) is right. Where the risk is really
m(x) + delta(x), they enter in first order, as a sum of delta(x_i) e^theta (pi - pi^)(x_i). The
propensities are a logistic regression on x: their errors are the residuals 1(g) - pi of the rows
they were fitted on, projected on x, so that the sum can be written over those residuals,

    - sum_i omega_i [1(g_i = g) - pi*_g(x_i)] delta(x_i) e^{theta_{g_i}},

which is what the score's own terms would gain if m were m + delta. The influence function of
theta is therefore computed with the risk m + delta (and J with m). With hundreds of codes per
case m is nearly flat, and delta is most of the risk.

delta(x) = b + w.x comes from a ridge regression of the residuals on the symptoms, out of fold,

    sum_i omega_i [s_i - m(x_i) e^{theta_{g_i}} - delta(x_i) e^{theta_{g_i}}] x_i = l w,
    l_j = 4 mean(e^theta) strength / n_units m_j^2,

with the strength of the propensities (see `relprev.inference.propensity`; the factor 4 because a
visit's information on its group is at most a quarter), since delta stands for the directions in
which they can err. A few steps of conjugate gradients, for all folds at once, are enough.

delta is mostly noise: it belongs in standard errors, where leaving it out makes intervals too
short, but not in the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.inference.folds import fold_of_rows
from relprev.inference.score import ScoreData, ScorePart
from relprev.matrix import Matrix
from relprev.matrix.base import filled_up, side_by_side
from relprev.model.likelihood import Problem, ProblemPart
from relprev.parallel.threads import BLOCK_ROWS, blocks, map_chunks
from relprev.rows import Rows, total

MOST_INFORMATION = 0.25  # of a visit on its group, pi (1 - pi)
ACCURACY = 0.1  # norm of the residual, as a share of that at the start
MAX_STEPS = 50


@dataclass(frozen=True)
class Residuals:
    """Rows of the regression.

    Parameters
    ----------
    X : Matrix
    weight : array of shape (n,)
        omega e^{theta_g}.
    residual : array of shape (n,)
        omega (s - m e^{theta_g}).
    fold : array of shape (n,)
    """

    X: Matrix
    weight: FloatArray
    residual: FloatArray
    fold: NDArray[np.uint8]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""
        own: dict[str, NDArray[Any]] = {"weight": self.weight, "residual": self.residual}
        own["fold"] = self.fold
        return self.X.to_arrays() | own

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Residuals:
        """The same rows in other memory."""
        weight, residual, fold = (arrays[name] for name in ("weight", "residual", "fold"))
        return Residuals(self.X.with_arrays(arrays), weight, residual, fold)


def with_missed_risk(
    data: ScoreData, problem: Problem, theta: FloatArray,
    folds: Sequence[NDArray[np.int64]], strength: float, n_units: int,
) -> ScoreData:  # fmt: skip
    """The rows with delta(x) as ``missed``.

    Parameters
    ----------
    data : rows of the score
    problem : Problem
        The same rows' symptoms.
    theta : array of shape (K,)
        Root of the score.
    folds : sequence of row positions
    strength : float
        Of the propensities' ridge.
    n_units : int
        Independent units (patients) among the rows.
    """
    fold = data.cut(fold_of_rows(folds))
    coef = missed_coefficients(data, problem, theta, folds, strength, n_units)
    return data.holding(
        problem.derive(_filled, coef, each=list(zip(fold, data.handles, strict=True)))
    )


def missed_coefficients(
    data: ScoreData, problem: Problem, theta: FloatArray,
    folds: Sequence[NDArray[np.int64]], strength: float, n_units: int,
) -> FloatArray:  # fmt: skip
    """Coefficients of delta(x) without each fold, the intercept last, shape (n_folds, p + 1).

    The parameters are those of `with_missed_risk`.
    """
    each = list(zip(data.cut(fold_of_rows(folds)), data.handles, strict=True))
    residuals = problem.derive(_residuals, np.exp(theta), each=each)
    ridge = strength / n_units * problem.feature_size**2
    return _ridge_regression(residuals, len(folds), ridge)


def _residuals(
    part: ProblemPart, own: tuple[NDArray[np.uint8], ScorePart], rate: FloatArray
) -> Residuals:
    fold, data = own
    weight = data.omega * rate[data.g]
    return Residuals(part.X, weight, data.omega * data.s - weight * data.risk, fold)


def _ridge_regression(rows: Rows[Residuals], n_folds: int, ridge: FloatArray) -> FloatArray:
    """Coefficients without each fold, the intercept last, shape (n_folds, p + 1)."""
    right, diagonal, weight = rows.total(_sides, n_folds)
    penalty = np.append(ridge * weight / MOST_INFORMATION, 0.0)
    diagonal = np.maximum(diagonal + penalty, np.finfo(float).tiny)
    constant = np.zeros_like(right)  # the regression on nothing, where the steps begin
    constant[:, -1] = 1.0
    product = rows.total(_product, constant)[0]
    level = _ratio(right[:, -1], product[:, -1])[:, None]
    coef, residual = level * constant, right - level * product
    direction = residual / diagonal
    size = start = _columns_dot(residual, direction)
    for _ in range(MAX_STEPS):
        product = rows.total(_product, direction)[0] + penalty * direction
        step = _ratio(size, _columns_dot(direction, product))[:, None]
        coef, residual = coef + step * direction, residual - step * product
        scaled = residual / diagonal
        before, size = size, _columns_dot(residual, scaled)
        if (size <= ACCURACY**2 * start).all():
            break
        direction = scaled + _ratio(size, before)[:, None] * direction
    return coef


def _columns_dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.einsum("kj,kj->k", a, b)


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _sides(part: Residuals, n_folds: int) -> tuple[FloatArray, FloatArray, float]:
    """Right sides without each fold, (n_folds, p + 1), the diagonal, (p + 1,), and the weight."""

    def fill(lo: int, hi: int, z: FloatArray) -> None:
        z[:n_folds, : hi - lo] = part.residual[lo:hi]

    weight = float(part.weight.sum())
    diagonal = np.append(part.X.rmatvec_sq(part.weight), weight)
    return _sums_without_folds(part, n_folds, fill), diagonal, weight


def _product(part: Residuals, direction: FloatArray) -> tuple[FloatArray]:
    """The regression's matrix times each fold's direction, without the ridge."""
    n_folds, W, b = len(direction), side_by_side(direction[:, :-1]), direction[:, -1:]

    def fill(lo: int, hi: int, z: FloatArray) -> None:
        part.X.dots(W, lo, hi, z)
        z[:n_folds, : hi - lo] += b
        z[:n_folds, : hi - lo] *= part.weight[lo:hi]

    return (_sums_without_folds(part, n_folds, fill),)


def _sums_without_folds(
    part: Residuals, n_folds: int, fill: Callable[[int, int, FloatArray], None]
) -> FloatArray:
    """Sums of z (x, 1) over the rows outside each fold, shape (n_folds, p + 1).

    ``fill(lo, hi, z)`` writes the numbers of rows lo to hi into z, one row per fold.
    """
    q, number = filled_up(n_folds), np.arange(n_folds)[:, None]

    def one_chunk(start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        sums, ones, z = np.zeros((part.X.n_cols, q)), np.zeros(n_folds), np.zeros((q, BLOCK_ROWS))
        for lo, hi in blocks(start, stop):
            fill(lo, hi, z)
            z[:n_folds, : hi - lo] *= part.fold[lo:hi] != number
            part.X.add_tdots(z, lo, hi, sums)
            ones += z[:n_folds, : hi - lo].sum(axis=1)
        return sums, ones

    sums, ones = total(map_chunks(one_chunk, part.X.n_rows))
    return np.hstack([sums.T[:n_folds], ones[:, None]])


def _filled(
    part: ProblemPart, own: tuple[NDArray[np.uint8], ScorePart], coef: FloatArray
) -> ScorePart:
    fold, data = own
    return replace(data, missed=of_own_fold(part.X, fold, coef))


def of_own_fold(X: Matrix, fold: NDArray[Any], coef: FloatArray) -> FloatArray:
    """w.x + b of every row by the coefficients of its fold, shape (n,).

    Parameters
    ----------
    X : Matrix of shape (n, p)
    fold : integer array of shape (n,)
    coef : array of shape (n_folds, p + 1)
        The intercept last.
    """
    out, W, b = np.empty(X.n_rows), side_by_side(coef[:, :-1]), coef[:, -1]

    def one_chunk(start: int, stop: int) -> None:
        z = np.empty((W.shape[1], BLOCK_ROWS))
        for lo, hi in blocks(start, stop):
            X.dots(W, lo, hi, z)
            out[lo:hi] = z[fold[lo:hi], np.arange(hi - lo)] + b[fold[lo:hi]]

    map_chunks(one_chunk, X.n_rows)
    return out
