"""Regress recorded on predicted diagnoses within each group, and test slope and intercept.

On the held-out rows of group g, logit p(s=1) = a_g + b_g logit p is fitted by maximum likelihood,
with the covariance of the influence functions under the sampling design and Wald tests.
`relprev.checks.calibration` explains what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from relprev.arrays import FloatArray, group_counts, group_sums
from relprev.checks.check import NAN
from relprev.checks.fifths import logit, logit_range
from relprev.checks.held_out import HeldOut
from relprev.cohort import Cohort
from relprev.inference.intervals import holm
from relprev.inference.sampling import SamplingDesign
from relprev.rows import Rows

ROUNDOFF = 1e-14  # relative change of a loss that may be due to rounding
FLAT = 1e-9  # range of logit p within a split below which all predictions count as equal


def recalibration(rows: Rows[HeldOut], cohort: Cohort) -> tuple[pd.DataFrame, float, float]:
    """Slope, intercept and test of each group; statistic and p-value for equal slopes.

    ``apart`` is the slope less that of the group with most diagnosed rows, with its standard
    error and ``freedom``, its degrees of freedom.
    """
    design = SamplingDesign.from_cohort(cohort, "adjust")
    count, diagnosed, weight = rows.total(_group_totals, cohort.n_groups)
    low, high = logit_range(rows, cohort.n_groups)
    varies = (high - low).max(axis=1) > FLAT
    able = np.flatnonzero((diagnosed > 0) & (diagnosed < count) & varies)
    head = pd.DataFrame({"group": cohort.group_names})
    columns = ["intercept", "slope", "statistic", "p_value", "apart", "apart_error"]
    df = design.degrees_of_freedom
    if df < 1 or not len(able):
        return head.assign(**dict.fromkeys([*columns, "freedom"], NAN)), NAN, NAN
    fits = [(k, weight[k], *_logistic(rows, k, weight[k])) for k in able.tolist()]
    beta = np.array([fit[2] for fit in fits])
    V = design.covariance_in_parts(rows, _influences, fits)
    own = [slice(2 * k, 2 * k + 2) for k in range(len(able))]
    ideal = np.array([0.0, 1.0])
    found = [_wald(b - ideal, V[part, part], df) for b, part in zip(beta, own, strict=True)]
    base = int(np.argmax(diagnosed[able]))
    away = np.eye(len(able)) - np.eye(len(able))[base]
    error = np.sqrt(np.maximum(np.diag(away @ V[1::2, 1::2] @ away.T), 0.0))
    more = [beta, found, away @ beta[:, 1], error]
    tests = pd.DataFrame(np.column_stack(more), able, columns).assign(freedom=float(df))
    tests.iloc[base, -3:] = NAN
    tests["p_value"] = holm(tests["p_value"].to_numpy())  # all are known, or none
    apart = np.eye(len(able))[1:] - np.eye(len(able))[:1]
    between = _wald(apart @ beta[:, 1], apart @ V[1::2, 1::2] @ apart.T, df)
    return head.join(tests), *between


def _wald(away: FloatArray, V: FloatArray, df: int) -> tuple[float, float]:
    """F statistic and p-value of a vector that has mean zero under the hypothesis.

    Both are NaN if there is nothing to compare or too few degrees of freedom.
    """
    q = len(away)
    if q == 0 or df < q:
        return NAN, NAN
    statistic = float(away @ np.linalg.solve(V, away)) * (df - q + 1) / (q * df)
    return statistic, float(stats.f.sf(statistic, q, df - q + 1))


def _group_totals(rows: HeldOut, K: int) -> tuple[NDArray[Any], ...]:
    """Rows, diagnosed rows and weight by group."""
    hit = rows.s == 1
    return group_counts(rows.g, K), group_counts(rows.g[hit], K), group_sums(rows.g, rows.weight, K)


def _logistic(rows: Rows[HeldOut], group: int, weight: float) -> tuple[FloatArray, FloatArray]:
    """Coefficients and curvature of one group, by Newton's method with halved steps."""

    def at(beta: FloatArray) -> tuple[Any, ...]:
        return rows.total(_logistic_sums, group, weight, beta)

    beta = np.array([0.0, 1.0])
    loss, slope, H = at(beta)
    for _ in range(100):
        step = np.linalg.solve(H, slope)
        tried = at(beta + step)
        while tried[0] > (1 + ROUNDOFF) * loss and np.abs(step).max() > 1e-10:
            step = step / 2
            tried = at(beta + step)
        beta = beta + step
        loss, slope, H = tried
        if np.abs(step).max() < 1e-10:
            break
    return beta, H


def _own(
    rows: HeldOut, group: int, weight: float
) -> tuple[NDArray[np.int64], FloatArray, FloatArray, FloatArray]:
    """Positions, (1, logit p), s and weights (with sum 1 over all parts) of the group's rows."""
    own = np.flatnonzero(rows.g == group)
    A = np.column_stack([np.ones(len(own)), logit(rows.p[own])])
    return own, A, rows.s[own].astype(float), rows.weight[own] / weight


def _logistic_sums(
    rows: HeldOut, group: int, weight: float, beta: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Loss, negative gradient and curvature."""
    _, A, s, omega = _own(rows, group, weight)
    z = A @ beta
    q = expit(z)
    loss = float(omega @ (np.logaddexp(0.0, z) - s * z))
    return loss, A.T @ (omega * (s - q)), (A.T * (omega * q * (1 - q))) @ A


def _influences(
    rows: HeldOut, fits: list[tuple[int, float, FloatArray, FloatArray]]
) -> Iterator[FloatArray]:
    """omega times the influence functions of all groups' intercepts and slopes."""
    for group, weight, beta, H in fits:
        own, A, s, omega = _own(rows, group, weight)
        residual = omega * (s - expit(A @ beta))
        for values in np.linalg.solve(H, (A * residual[:, None]).T):
            column = np.zeros(len(rows.p))
            column[own] = values
            yield column
