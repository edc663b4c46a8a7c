"""What the risk model's sampling error adds to the standard errors.

The score tolerates errors of the risk where the propensities are right. Where they are not, errors
of the risk enter in first order: the estimate is still right if the risk model is, but its
uncertainty is not that of the score alone. With beta the risk's coefficients (those that are not
zero, and the intercept) and the log diagnosis rates of the groups other than the reference r,

    m(x) = c_r sigma(z),    dm/dbeta = m (1 - sigma(z)) (x, 1),
    C_g = mean dU_g/dbeta = - mean [1(g_i = g) - pi*_g(x_i)] e^{theta_{g_i}} dm/dbeta.

PURPLE's score and information for a row with p = m e^theta (`relprev.model.likelihood`) are

    q_i = (s_i - p_i) / (1 - p_i) u_i,    I = mean p / (1 - p) u u',
    u = ((1 - sigma) (x, 1), 1(g)),

so that beta is off by A^{-1} mean q and the influence function of theta is

    J^{-1} (U_i + C A^{-1} q_i),    A = I + diag(lambda / |beta_j|),

the sandwich of both estimating equations stacked. The penalty lambda abs(beta_j) acts on small
changes of beta_j as a ridge lambda / abs(beta_j) would (Fan and Li 2001): a coefficient that rests
on a few cases of a rare code is held in place by it, and errs far less than without a penalty.
Where the propensities are right, C is zero up to noise and nothing is added. The mirror case,
propensities that err where the risk model is wrong, is `relprev.inference.missed`. A^{-1} C' is
found by conjugate gradients, with a further ridge of one prior visit per coefficient; c_r is taken
as known, since rescaling m and b hardly changes anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_sums
from relprev.inference import kernels
from relprev.inference.score import ScoreData, ScorePart, tilted_propensity
from relprev.matrix import Matrix
from relprev.matrix.base import filled_up, side_by_side
from relprev.model.likelihood import Problem, ProblemPart
from relprev.parallel.threads import BLOCK_ROWS, blocks, by_rows, map_chunks, map_threads
from relprev.rows import Rows

LARGEST_RATE = 1 - 1e-6
ACCURACY = 1e-3  # norm of the residual, as a share of that at the start
MAX_STEPS = 100


@dataclass(frozen=True)
class RiskShape:
    """What of the risk can err.

    Parameters
    ----------
    ridge : array of shape (p,)
        lambda / |beta_j|; infinite for features without a coefficient.
    rate : float
        c_r, so that sigma(z) = m / c_r.
    """

    ridge: FloatArray
    rate: float

    @property
    def active(self) -> NDArray[np.bool_]:
        """Features with a coefficient, shape (p,)."""
        return np.isfinite(self.ridge)


def with_risk_error(
    data: ScoreData, problem: Problem, theta: FloatArray, shape: RiskShape, n_units: int
) -> ScoreData:
    """The rows with C A^{-1} q as ``risk_error``.

    Parameters
    ----------
    data : rows of the score
    problem : Problem
        The same rows' features, those of the risk model.
    theta : array of shape (K,)
        Root of the score.
    shape : RiskShape
    n_units : int
        Independent units (patients) among the rows.
    """
    curved = problem.derive(_curved, theta, shape.rate, each=data.handles)
    direction = _solved(data, problem, curved, theta, shape, n_units)
    made = curved.derive(_filled, theta, direction, each=data.handles)
    return data.holding(made)


@dataclass(frozen=True)
class Curved:
    """Rows of the information I.

    Parameters
    ----------
    X : Matrix
    g : unsigned integer array of shape (n,)
    h : array of shape (n,)
        1 - sigma(z).
    kappa : array of shape (n,)
        omega p / (1 - p).
    """

    X: Matrix
    g: NDArray[Any]
    h: FloatArray
    kappa: FloatArray

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""
        return self.X.to_arrays() | {"g": self.g, "h": self.h, "kappa": self.kappa}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Curved:
        """The same rows in other memory."""
        g, h, kappa = (arrays[name] for name in ("g", "h", "kappa"))
        return Curved(self.X.with_arrays(arrays), g, h, kappa)


def _curved(part: ProblemPart, data: ScorePart, theta: FloatArray, rate: float) -> Curved:
    p = _rates(data, theta)
    h = 1.0 - np.minimum(data.risk / rate, LARGEST_RATE)
    return Curved(part.X, data.g, h, data.omega * p / (1 - p))


def _rates(data: ScorePart, theta: FloatArray) -> FloatArray:
    """p = m e^theta of every row."""
    found: FloatArray = np.minimum(data.risk * np.exp(theta)[data.g], LARGEST_RATE)
    return found


def _solved(
    data: ScoreData, problem: Problem, curved: Rows[Curved], theta: FloatArray, shape: RiskShape,
    n_units: int,
) -> FloatArray:  # fmt: skip
    """A^{-1} C', one row per group, shape (K, p + 1 + K)."""
    p, K = problem.n_cols, data.n_groups
    size = problem.feature_size**2 / n_units
    free = np.concatenate([shape.active, [True], np.arange(K) != data.reference]).astype(float)
    right, diagonal, curvature = curved.total(_sides, theta, each=data.handles)
    held = np.where(shape.active, shape.ridge, 0.0)
    penalty = np.concatenate([size * curvature + held, np.zeros(1 + K)])
    diagonal = np.maximum(diagonal + penalty, np.finfo(float).tiny)
    residual = right * free
    out = np.zeros((K, p + 1 + K))
    direction = free * residual / diagonal
    amount = start = np.einsum("kj,kj->k", residual, direction)
    for _ in range(MAX_STEPS):
        product = curved.total(_product, direction)[0]
        product = free * (product + penalty * direction)
        step = _ratio(amount, np.einsum("kj,kj->k", direction, product))[:, None]
        out, residual = out + step * direction, residual - step * product
        scaled = free * residual / diagonal
        before, amount = amount, np.einsum("kj,kj->k", residual, scaled)
        if (amount <= ACCURACY**2 * start).all():
            break
        direction = scaled + _ratio(amount, before)[:, None] * direction
    return out


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _sides(
    rows: Curved, data: ScorePart, theta: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """C, shape (K, p + 1 + K), the diagonal of I, shape (p + 1 + K,), and the intercept's."""
    K, X, h = data.n_groups, rows.X, rows.h

    def pulls(g: NDArray[Any], pi: FloatArray, slope: FloatArray) -> FloatArray:
        apart = (g[:, None] == np.arange(K)) - tilted_propensity(pi, theta)
        return -slope[:, None] * apart

    weight = by_rows(pulls, data.g, data.propensity, data.omega * _rates(data, theta) * h)
    right = np.zeros((K, X.n_cols + 1 + K))
    for k in range(K):
        right[k, : X.n_cols] = X.rmatvec(np.ascontiguousarray(weight[:, k]))
    right[:, X.n_cols] = weight.sum(axis=0)
    own = rows.kappa * h**2
    of_groups = group_sums(data.g, rows.kappa, K)
    return right, np.concatenate([X.rmatvec_sq(own), [own.sum()], of_groups]), float(own.sum())


def _product(rows: Curved, direction: FloatArray) -> tuple[FloatArray]:
    """I times each row of ``direction``, without the ridge."""
    K, X = len(direction), rows.X
    out, weighted = np.zeros_like(direction), np.empty((K, X.n_rows))

    def one_chunk(start: int, stop: int) -> FloatArray:
        on_x = np.zeros((X.n_cols, filled_up(K)))
        for lo, hi, z in along(start, stop):
            weighted[:, lo:hi] = z[:K, : hi - lo]
            z[:K, : hi - lo] *= rows.h[lo:hi]
            X.add_tdots(z, lo, hi, on_x)
        return on_x

    def one_direction(k: int) -> None:
        out[k, X.n_cols] = weighted[k] @ rows.h
        kernels.add_by_group(rows.g, weighted[k], out[k, X.n_cols + 1 :])

    along = _along(rows, direction, rows.kappa)
    out[:, : X.n_cols] = np.sum(map_chunks(one_chunk, X.n_rows), axis=0).T[:K]
    map_threads(one_direction, range(K))
    return (out,)


def _along(
    rows: Curved, direction: FloatArray, factor: FloatArray
) -> Callable[[int, int], Iterator[tuple[int, int, FloatArray]]]:
    """Of a chunk, block by block: rows lo to hi, and their factor times u.direction, (K, rows)."""
    X, split = rows.X, rows.X.n_cols
    W, b, by_group = (
        side_by_side(direction[:, :split]),
        direction[:, split],
        direction[:, split + 1 :],
    )

    def each(start: int, stop: int) -> Iterator[tuple[int, int, FloatArray]]:
        z = np.zeros((W.shape[1], BLOCK_ROWS))
        for lo, hi in blocks(start, stop):
            X.dots(W, lo, hi, z)
            kernels.along_block(z, b, by_group, rows.g[lo:hi], rows.h[lo:hi], factor[lo:hi])
            yield lo, hi, z

    return each


def _filled(rows: Curved, data: ScorePart, theta: FloatArray, direction: FloatArray) -> ScorePart:
    p, K = _rates(data, theta), data.n_groups
    along, out = _along(rows, direction, (data.s - p) / (1 - p)), np.empty((len(data.g), K))

    def one_chunk(start: int, stop: int) -> None:
        for lo, hi, z in along(start, stop):
            out[lo:hi] = z[:K, : hi - lo].T

    map_chunks(one_chunk, len(data.g))
    return replace(data, risk_error=out)
