"""Several deals of folds, so that the estimate does not depend on one.

Folds are dealt at random, and so every deal r gives another estimate theta_r with covariance V_r.
They are combined by medians as in DoubleML (Chernozhukov et al. 2018, section 3.4), which is robust
to a deal that goes wrong. With more than two groups theta is their spatial median,

    theta = argmin sum_r |theta - theta_r|,    |d|^2 = d' (mean V_r)^{-1} d,

which does not depend on the reference group as a median of each entry would. The covariance is that
one of V_r + (theta_r - theta) (theta_r - theta)' whose trace, in the same units, is the median.

The spread over single deals is about 2 to 3 / sqrt(N) standard errors, N the number of diagnosed
rows, more with many codes, and the median of R deals spreads sqrt(R) times less. `repeats_for`
therefore starts with 2,000 / N deals, but an odd number and at most fifteen, which mostly leaves
less than a tenth of a standard error. Where several deals show that it leaves more,

    sqrt(pi / 2) SD_r(theta_r) / sqrt(R)  >  SETTLED SE(log ratio),

as with many features and few rows, more are added one by one, up to twice as many (`unsettled`) and
as long as they have a solution. Deals matter where cases are few, and there they are cheap: a
linear model chosen in the first deal is not chosen again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relprev.arrays import FloatArray
from relprev.inference.moments import GroupMoments

MANY_CASES = 2_000  # diagnosed rows from which on one deal is enough
MOST_REPEATS = 15  # to start with
MOST_TIMES = 2  # as many, where they do not settle the estimate
SETTLED = 0.1  # of a standard error, what a new set of deals may move an estimate by
STEPS = 200
NEAREST = 1e-3  # standard errors; closer to a point than that need not be told apart


def repeats_for(n_diagnosed: int) -> int:
    """Number of deals for so many diagnosed rows.

    Examples
    --------
    >>> [repeats_for(n) for n in (100, 200, 1_000, 2_000, 100_000)]
    [15, 11, 3, 1, 1]
    """
    wanted = int(np.clip(np.ceil(MANY_CASES / max(n_diagnosed, 1)), 1, MOST_REPEATS))
    return wanted + 1 - wanted % 2


def unsettled(found: Sequence[GroupMoments]) -> bool:
    """Whether the estimate still hangs on these deals.

    Judged by the root mean square over the groups' log ratios to the first one. A single deal
    cannot tell.

    Examples
    --------
    >>> V = np.diag([0.0, 0.0, 0.0, 0.0, 0.0, 0.01])
    >>> one = GroupMoments(("a", "b"), *np.zeros((3, 2)), V, np.eye(2), np.ones(2), 10)
    >>> deals = [replace(one, theta=np.array([0.0, at])) for at in (0.0, 0.02, 0.04)]
    >>> unsettled(deals), unsettled(deals[:1]), unsettled(deals * 4)
    (True, False, False)
    """
    first = found[0]
    compared = np.flatnonzero(first.has_estimate)
    if len(found) < 2 or len(compared) < 2:
        return False
    others = compared[1:]
    ratios = np.array([one.theta[compared[0]] - one.theta[others] for one in found])
    slopes = np.array([first.contrast(k, compared[:1]).gradient[0] for k in others])
    variance = np.einsum("ki,ij,kj->k", slopes, first.covariance, slopes)
    spread = np.mean(ratios.var(axis=0, ddof=1) / variance)
    return bool(np.pi / 2 * spread / len(found) > SETTLED**2)


def combined(found: Sequence[GroupMoments]) -> GroupMoments:
    """The moments of several deals as one.

    Examples
    --------
    >>> one = GroupMoments(("a", "b"), *np.zeros((3, 2)), np.eye(6), np.eye(2), np.ones(2), 10)
    >>> other = replace(one, theta=np.array([0.0, 0.2]))
    >>> combined([one, other]).theta, combined([one, other]).covariance[5, 5].round(3)
    (array([0. , 0.1]), np.float64(1.01))
    """
    if len(found) == 1:
        return found[0]
    K = len(found[0].theta)
    each = np.array([one.covariance for one in found])
    points = np.array([one.theta for one in found])
    metric = np.linalg.pinv(each[:, 2 * K :, 2 * K :].mean(axis=0), hermitian=True)
    theta = _spatial_median(points, metric)
    away = np.hstack([np.zeros((len(found), 2 * K)), points - theta])
    each = each + away[:, :, None] * away[:, None, :]
    size = np.einsum("rij,ji->r", each[:, 2 * K :, 2 * K :], metric)
    order = np.argsort(size, kind="stable")
    middle = order[(len(each) - 1) // 2 : len(each) // 2 + 1]
    return replace(
        found[0], theta=theta, covariance=each[middle].mean(axis=0),
        information=np.median([one.information for one in found], axis=0),
        mixing=np.median([one.mixing for one in found], axis=0),
    )  # fmt: skip


def _spatial_median(points: FloatArray, metric: FloatArray) -> FloatArray:
    """The point nearest to all, shape (K,), by Weiszfeld's steps from the entries' medians."""
    at = np.median(points, axis=0)
    if points.shape[1] == 2:  # one of the two is always zero
        return at
    for _ in range(STEPS):
        away = points - at
        distance = np.sqrt(np.maximum(np.einsum("ri,ij,rj->r", away, metric, away), 0.0))
        pull = 1.0 / np.maximum(distance, NEAREST)
        at = pull @ points / pull.sum()
    return at
