"""Several deals of folds, so that the estimate does not depend on one.

Folds are dealt at random, and so every deal r gives another estimate theta_r with covariance V_r.
They are combined as in DoubleML (Chernozhukov et al. 2018, section 3.4), which is robust to a deal
that goes wrong: theta is the median of the theta_r, and

    V = the median of V_r + (theta_r - theta) (theta_r - theta)'

by their largest eigenvalue, so that it is one of these matrices (with an even number of deals, the
mean of two).

With N diagnosed rows, `repeats_for` takes 5,000 / N deals, no fewer than one and no more than five.
Deals matter where cases are few, and there they are cheap: a linear model chosen in the first deal
is not chosen again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relprev.inference.moments import GroupMoments

MANY_CASES = 5_000  # diagnosed rows from which on one deal is enough
MOST_REPEATS = 5


def repeats_for(n_diagnosed: int) -> int:
    """Number of deals for so many diagnosed rows.

    Examples
    --------
    >>> [repeats_for(n) for n in (200, 2_000, 5_000, 100_000)]
    [5, 3, 1, 1]
    """
    return int(np.clip(np.ceil(MANY_CASES / max(n_diagnosed, 1)), 1, MOST_REPEATS))


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
    theta = np.median([one.theta for one in found], axis=0)
    K = len(theta)
    each = []
    for one in found:
        away = np.concatenate([np.zeros(2 * K), one.theta - theta])
        each.append(one.covariance + np.outer(away, away))
    order = np.argsort([np.linalg.eigvalsh(V)[-1] for V in each], kind="stable")
    middle = order[(len(each) - 1) // 2 : len(each) // 2 + 1]
    return replace(
        found[0], theta=theta, covariance=np.mean([each[r] for r in middle], axis=0),
        information=np.median([one.information for one in found], axis=0),
        mixing=np.median([one.mixing for one in found], axis=0),
    )  # fmt: skip
