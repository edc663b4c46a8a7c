"""By how much does the risk at equal symptoms differ between groups, as held-out rows tell?

Two models predict held-out rows: one in which groups share p(y=1|x), with log-odds z, and one in
which they do not, with log-odds z + d. If the second knows something that the first does not, d
helps to predict,

    logit p(s=1) = a_g + b_g z + gamma d,

and gamma is above 0. Intercepts and slopes of the groups take up what is a matter of level, of
overfitting or of diagnosis rates that drift with risk (`relprev.checks.calibration` looks for
that), so that gamma rests on d*, what remains of d after a regression on them (weighted by expected
cases): symptoms that mean something else in one group than in another.

d is an estimate, d* = delta + noise, of the part delta(x, g) of the log-odds that groups do not
share. The noise pulls gamma down, gamma = var(delta) / var(d*), so var(delta) = gamma var(d*): a
gamma near 0 may hide a large delta behind a noisy d. The second model also says what the log-odds
of a row would be in other groups. Let D be its log-odds in its own group less the mean of those in
the others, which would not depend on the kind of symptoms if risk were shared, D* what remains of
it after the same regression, and R the distance between the 5th and the 95th percentile of D* among
expected cases. D* is as noisy as d*, so the violation is the factor

    exp(sqrt(max(gamma, 0)) R)

by which the ratio of the groups' odds differs between symptoms of equal shared risk. The ends of
gamma's interval give those of the factor. The covariance of the coefficients is that of their
influence functions under the sampling design.
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
RANGE = (0.05, 0.95)  # quantiles of D* among expected cases
SAME = 1e-6  # standard deviation of d* below which the two models say the same
MAX_STEPS = 100


@dataclass(frozen=True)
class Stacked:
    """Held-out rows: log-odds z of the shared model, d, D, diagnosis, group and weight."""

    z: FloatArray
    d: FloatArray
    apart: FloatArray
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
    z, mine = logit(one.p), np.arange(part.n_groups) == part.groups[:, None]
    own_odds = in_group[mine]
    others = np.where(mine | np.isnan(in_group), 0.0, in_group).sum(axis=1)
    count = (~mine & ~np.isnan(in_group)).sum(axis=1)
    apart = np.where(count > 0, own_odds - others / np.maximum(count, 1), 0.0)
    own_odds = np.where(np.isnan(own_odds), z, own_odds)
    return Stacked(z, own_odds - z, np.nan_to_num(apart), one.s, one.g, one.weight)


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
    if design.degrees_of_freedom < 1 or not able.any():
        return none
    A, b = rows.total(_regression, able)
    on, on_apart = np.linalg.lstsq(A, b, rcond=None)[0].T
    mean, square, weight = rows.total(_left_over, able, on)
    spread = np.sqrt(max(square / weight - (mean / weight) ** 2, 0.0))
    if spread < SAME:
        return none
    low, high = weighted_quantiles(rows, _LeftOver("apart", able, on_apart), RANGE)
    fit = _logistic(rows, able, on)
    if fit is None:
        return none
    beta, H = fit
    V = design.covariance_in_parts(rows, _influence, able, on, beta, np.linalg.inv(H)[-1])
    half = stats.t.ppf(0.5 + level / 2, design.degrees_of_freedom) * np.sqrt(V[0, 0])
    ends = (beta[-1], beta[-1] - half, beta[-1] + half)
    return Violation(*(float(np.exp(np.sqrt(max(one, 0.0)) * (high - low))) for one in ends))


def _diagnosed(rows: Stacked, K: int) -> tuple[FloatArray]:
    return (group_sums(rows.g, rows.s.astype(float), K),)


def _columns(rows: Stacked, able: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """(1(g), 1(g) z), shape (n, 2K), and weights, 0 in groups without diagnoses."""
    inside = able[rows.g]
    own = ((rows.g[:, None] == np.arange(len(able))) & inside[:, None]).astype(float)
    return np.hstack([own, own * rows.z[:, None]]), np.where(inside, rows.weight, 0.0)


def _regression(rows: Stacked, able: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Both sides of the regression of d and D on groups and z, weighted by expected cases."""
    A, weight = _columns(rows, able)
    weighted = A * (weight * expit(rows.z))[:, None]
    return weighted.T @ A, weighted.T @ np.column_stack([rows.d, rows.apart])


@dataclass(frozen=True)
class _LeftOver:
    """d* or D* of a part, and its expected cases."""

    name: str
    able: NDArray[np.bool_]
    on: FloatArray

    def __call__(self, rows: Stacked) -> tuple[FloatArray, FloatArray]:
        A, weight = _columns(rows, self.able)
        return getattr(rows, self.name) - A @ self.on, weight * expit(rows.z)


def _left_over(
    rows: Stacked, able: NDArray[np.bool_], on: FloatArray
) -> tuple[float, float, float]:
    d, cases = _LeftOver("d", able, on)(rows)
    return float(cases @ d), float(cases @ d**2), float(cases.sum())


def _logistic(
    rows: Rows[Stacked], able: NDArray[np.bool_], on: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Coefficients of groups, their z and d*, and curvature, by Newton's method, steps halved."""
    beta = np.concatenate([np.zeros(len(able)), np.ones(len(able)), [0.0]])
    idle = np.flatnonzero(np.append(~np.tile(able, 2), False))

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
