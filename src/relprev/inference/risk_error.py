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

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_sums
from relprev.inference.score import ScoreData, ScorePart, tilted_propensity
from relprev.matrix.base import side_by_side
from relprev.model.likelihood import Problem, ProblemPart
from relprev.parallel.threads import BLOCK_ROWS, blocks, map_chunks

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
    direction = _solved(data, problem, theta, shape, n_units)
    made = problem.derive(_filled, theta, shape.rate, direction, each=data.handles)
    return data.holding(made)


def _solved(
    data: ScoreData, problem: Problem, theta: FloatArray, shape: RiskShape, n_units: int
) -> FloatArray:
    """A^{-1} C', one row per group, shape (K, p + 1 + K)."""
    p, K = problem.n_cols, data.n_groups
    size = problem.feature_size**2 / n_units
    free = np.concatenate([shape.active, [True], np.arange(K) != data.reference]).astype(float)
    right, diagonal, curvature = problem.total(_sides, theta, shape.rate, each=data.handles)
    held = np.where(shape.active, shape.ridge, 0.0)
    penalty = np.concatenate([size * curvature + held, np.zeros(1 + K)])
    diagonal = np.maximum(diagonal + penalty, np.finfo(float).tiny)
    residual = right * free
    out = np.zeros((K, p + 1 + K))
    direction = free * residual / diagonal
    amount = start = np.einsum("kj,kj->k", residual, direction)
    for _ in range(MAX_STEPS):
        product = problem.total(_product, theta, shape.rate, direction, each=data.handles)[0]
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


def _terms(data: ScorePart, theta: FloatArray, rate: float) -> tuple[FloatArray, FloatArray]:
    """p = m e^theta and 1 - sigma(z) of every row."""
    p = np.minimum(data.risk * np.exp(theta)[data.g], LARGEST_RATE)
    return p, 1.0 - np.minimum(data.risk / rate, LARGEST_RATE)


def _sides(
    part: ProblemPart, data: ScorePart, theta: FloatArray, rate: float
) -> tuple[FloatArray, FloatArray, float]:
    """C, shape (K, p + 1 + K), the diagonal of I, shape (p + 1 + K,), and the intercept's."""
    K = data.n_groups
    p, h = _terms(data, theta, rate)
    apart = (data.g[:, None] == np.arange(K)) - tilted_propensity(data.propensity, theta)
    weight = -(data.omega * p * h)[:, None] * apart
    right = np.zeros((K, part.X.n_cols + 1 + K))
    for k in range(K):
        right[k, : part.X.n_cols] = part.X.rmatvec(np.ascontiguousarray(weight[:, k]))
    right[:, part.X.n_cols] = weight.sum(axis=0)
    kappa = data.omega * p / (1 - p)
    own = kappa * h**2
    diagonal = np.concatenate([part.X.rmatvec_sq(own), [own.sum()], group_sums(data.g, kappa, K)])
    return right, diagonal, float(own.sum())


def _product(
    part: ProblemPart, data: ScorePart, theta: FloatArray, rate: float, direction: FloatArray
) -> tuple[FloatArray]:
    """I times each row of ``direction``, without the ridge."""
    K, n_cols = data.n_groups, part.X.n_cols
    p, h = _terms(data, theta, rate)
    kappa = data.omega * p / (1 - p)
    out = np.zeros_like(direction)
    for k, value in enumerate(_along(part, data, h, direction)):
        weighted = kappa * value
        out[k, :n_cols] = part.X.rmatvec(weighted * h)
        out[k, n_cols] = weighted @ h
        out[k, n_cols + 1 :] = group_sums(data.g, weighted, K)
    return (out,)


def _along(part: ProblemPart, data: ScorePart, h: FloatArray, direction: FloatArray) -> FloatArray:
    """u.direction of every row, for each row of ``direction``, shape (K, n)."""
    K, n_cols = data.n_groups, part.X.n_cols
    W = side_by_side(direction[:, :n_cols])
    out = np.empty((K, part.X.n_rows))

    def one_chunk(start: int, stop: int) -> None:
        z = np.empty((W.shape[1], BLOCK_ROWS))
        for lo, hi in blocks(start, stop):
            part.X.dots(W, lo, hi, z)
            out[:, lo:hi] = z[:K, : hi - lo]

    map_chunks(one_chunk, part.X.n_rows)
    out += direction[:, n_cols : n_cols + 1]
    out *= h
    out += direction[:, n_cols + 1 :][:, data.g]
    return out


def _filled(
    part: ProblemPart, data: ScorePart, theta: FloatArray, rate: float, direction: FloatArray
) -> ScorePart:
    p, h = _terms(data, theta, rate)
    value = _along(part, data, h, direction) * ((data.s - p) / (1 - p))
    return replace(data, risk_error=np.ascontiguousarray(value.T))
