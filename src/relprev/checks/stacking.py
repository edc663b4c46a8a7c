"""By how much does the risk at equal symptoms differ between groups, as held-out rows tell?

Two models predict held-out rows: one in which groups share p(y=1|x), with log-odds z, and one in
which every group g has log-odds L_g(x) of its own, with mean M(x) over the K groups. If groups do
not share p(y=1|x), a row's own deviation d = L_g - M helps to predict,

    logit p(s=1) = a_g + b_g z + k_g M + gamma d,

and gamma is above 0. M takes up what both models know about the risk that groups do share (two
noisy models of one risk are better than one). Intercepts and slopes of the groups take up what is a
matter of level, of overfitting or of diagnosis rates that drift with risk
(`relprev.checks.calibration` looks for that). So gamma rests on d*, what remains of d after a
regression on them (weighted by expected cases): symptoms that mean something else in one group than
in another.

d is an estimate, d* = delta + noise, of the part delta(x, g) of the log-odds that groups do not
share. The noise pulls gamma down, gamma = var(delta) / var(d*), so var(delta) = gamma var(d*): a
gamma near 0 may hide a large delta behind a noisy d. A group's log-odds differ from the mean of the
others' by K / (K - 1) times as much as from the mean of all. With R that factor times the distance
between the 5th and the 95th percentile of d* among expected cases, the violation is the factor

    exp(sqrt(max(gamma, 0)) R)

by which the ratio of the groups' odds differs between symptoms of equal shared risk. The ends of
gamma's interval give those of the factor.

The variance of gamma is that of its influence function under the sampling design, twice. d was
learned from the diagnoses of other folds, d_i = sum_j K_ij s_j, and those of this fold taught the
others in turn. Where there is nothing to learn, gamma is a sum of K_ij r_i r_j over pairs of
residuals, every one of which counts twice: 2 sum K^2, where a d that was given would have sum K^2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from relprev.arrays import FloatArray, group_sums
from relprev.checks.check import NAN
from relprev.checks.fifths import logit
from relprev.checks.held_out import Predict, predicted_by_split
from relprev.checks.quantiles import weighted_quantiles
from relprev.cohort import Cohort, CohortPart
from relprev.inference.sampling import SamplingDesign
from relprev.rows import Rows

LogOdds = Callable[[CohortPart], FloatArray]  # of a diagnosis in every group; NaN: not known
RANGE = (0.05, 0.95)  # quantiles of d* among expected cases
SAME = 1e-6  # standard deviation of d* below which the two models say the same
MAX_STEPS = 100


@dataclass(frozen=True)
class Stacked:
    """Held-out rows: log-odds z of the shared model, M, d, diagnosis, group and weight."""

    z: FloatArray
    common: FloatArray
    d: FloatArray
    s: NDArray[np.uint8]
    g: NDArray[Any]
    weight: FloatArray

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""
        return dict(vars(self))

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Stacked:
        """The same rows, held in other arrays."""
        return Stacked(**arrays)


@dataclass(frozen=True)
class Violation:
    """The factor with its interval; NaN if it cannot be estimated."""

    factor: float
    low: float
    high: float


def stacked(
    part: CohortPart, split_of: NDArray[np.uint8], shared: Sequence[Predict], own: Sequence[LogOdds]
) -> Stacked:
    """The rows, each predicted by both models of the split that holds it out."""
    one = predicted_by_split(part, split_of, shared)
    in_group = np.full((part.n, part.n_groups), np.nan)
    for number, model in enumerate(own):
        rows = np.flatnonzero(split_of == number)
        if len(rows):
            in_group[rows] = model(part if len(rows) == part.n else part.take(rows))
    known = ~np.isnan(in_group)
    common = np.where(known, in_group, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    d = np.nan_to_num(in_group[np.arange(part.n), part.groups] - common)
    return Stacked(logit(one.p), common, d, one.s, one.g, one.weight)


def violation(rows: Rows[Stacked], cohort: Cohort, level: float) -> Violation:
    """Estimate the factor; see the module.

    Parameters
    ----------
    rows : Rows of Stacked
    cohort : Cohort
        The same rows, for their sampling design.
    level : float
        Of the interval.
    """
    K = cohort.n_groups
    design = SamplingDesign.from_cohort(cohort, "adjust")
    able = rows.total(_diagnosed, K)[0] > 0
    none = Violation(NAN, NAN, NAN)
    if design.degrees_of_freedom < 1 or able.sum() < 2:
        return none
    A, b = rows.total(_regression, able)
    on = np.linalg.lstsq(A, b, rcond=None)[0]
    mean, square, weight = rows.total(_left_over, able, on)
    spread = np.sqrt(max(square / weight - (mean / weight) ** 2, 0.0))
    if spread < SAME:
        return none
    low, high = weighted_quantiles(rows, _LeftOver(able, on), RANGE)
    reach = float(high - low) * able.sum() / (able.sum() - 1)
    fit = _logistic(rows, able, on)
    if fit is None:
        return none
    beta, H = fit
    V = design.covariance_in_parts(rows, _influence, able, on, beta, np.linalg.inv(H)[-1])
    half = stats.t.ppf(0.5 + level / 2, design.degrees_of_freedom) * np.sqrt(2 * V[0, 0])
    ends = (beta[-1], beta[-1] - half, beta[-1] + half)
    return Violation(*(float(np.exp(np.sqrt(max(one, 0.0)) * reach)) for one in ends))


def _diagnosed(rows: Stacked, K: int) -> tuple[FloatArray]:
    return (group_sums(rows.g, rows.s.astype(float), K),)


def _columns(rows: Stacked, able: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """(1(g), 1(g) z, 1(g) M), shape (n, 3K), and weights, 0 in groups without diagnoses."""
    inside = able[rows.g]
    own = ((rows.g[:, None] == np.arange(len(able))) & inside[:, None]).astype(float)
    A = np.hstack([own, own * rows.z[:, None], own * rows.common[:, None]])
    return A, np.where(inside, rows.weight, 0.0)


def _regression(rows: Stacked, able: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Both sides of the regression of d on groups, z and M, weighted by expected cases."""
    A, weight = _columns(rows, able)
    weighted = A * (weight * expit(rows.z))[:, None]
    return weighted.T @ A, weighted.T @ rows.d


@dataclass(frozen=True)
class _LeftOver:
    """d* of a part, and its expected cases."""

    able: NDArray[np.bool_]
    on: FloatArray

    def __call__(self, rows: Stacked) -> tuple[FloatArray, FloatArray]:
        A, weight = _columns(rows, self.able)
        return rows.d - A @ self.on, weight * expit(rows.z)


def _left_over(
    rows: Stacked, able: NDArray[np.bool_], on: FloatArray
) -> tuple[float, float, float]:
    d, cases = _LeftOver(able, on)(rows)
    return float(cases @ d), float(cases @ d**2), float(cases.sum())


def _logistic(
    rows: Rows[Stacked], able: NDArray[np.bool_], on: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Coefficients of groups, their z and M, and of d*, and curvature, by Newton's method."""
    beta = np.concatenate([np.zeros(len(able)), np.ones(len(able)), np.zeros(len(able) + 1)])
    idle = np.flatnonzero(np.append(~np.tile(able, 3), False))

    def at(beta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        loss, slope, H = rows.total(_sums, able, on, beta)
        H[idle, idle] = 1.0
        return loss, slope, H

    loss, slope, H = at(beta)
    for _ in range(MAX_STEPS):
        try:
            step = np.linalg.solve(H, slope)
        except np.linalg.LinAlgError:
            return None
        tried = at(beta + step)
        while tried[0] > loss + 1e-14 * abs(loss) and np.abs(step).max() > 1e-10:
            step = step / 2
            tried = at(beta + step)
        beta = beta + step
        loss, slope, H = tried
        if np.abs(step).max() < 1e-10:
            return beta, H
    return None


def _design(
    rows: Stacked, able: NDArray[np.bool_], on: FloatArray
) -> tuple[FloatArray, FloatArray]:
    A, weight = _columns(rows, able)
    return np.column_stack([A, rows.d - A @ on]), weight


def _sums(
    rows: Stacked, able: NDArray[np.bool_], on: FloatArray, beta: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Loss, negative gradient and curvature."""
    A, weight = _design(rows, able, on)
    z = A @ beta
    q, s = expit(z), rows.s.astype(float)
    loss = float(weight @ (np.logaddexp(0.0, z) - s * z))
    return loss, A.T @ (weight * (s - q)), (A.T * (weight * q * (1 - q))) @ A


def _influence(
    rows: Stacked, able: NDArray[np.bool_], on: FloatArray, beta: FloatArray, inverse: FloatArray
) -> Iterator[FloatArray]:
    """The influence function of gamma, times the weight."""
    A, weight = _design(rows, able, on)
    yield weight * (rows.s - expit(A @ beta)) * (A @ inverse)
