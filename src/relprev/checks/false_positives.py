"""The estimate if some recorded cases were false, for many assumptions in few passes.

If a share f_g of group g's recorded cases are false and strike at random, then
E[s - eps_g | x, g] = c_g p(y=1|x) with eps_g = f_g mu_g, mu_g the group's recorded share. So the
score of `relprev.inference.score` is solved with s - eps_g in place of s, and the risk reduced by
eps_r of the reference:

    U_g = [1(g_i = g) - pi*_g] [s_i - eps_{g_i} - max(m - eps_r, 0) e^{theta_{g_i}}].

Newton's steps start from the fitted theta, which is close, and all assumptions take a step in the
same pass over the rows. The recorded cases become D_g (1 - f_g).

Standard errors follow without another pass. The score's own covariance hardly changes, so with J
and J' the slopes before and after, the influence function J^{-1} U of theta becomes J'^{-1} U; that
of log D_g becomes (log D_g - f_g log P_g) / (1 - f_g), because eps_g is fixed. Both are linear in
what is known: the covariance is B Cov B'. It was within a tenth of that of a full solution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.inference import DebiasedPURPLE
from relprev.inference.moments import GroupMoments
from relprev.inference.score import cleaned_score_sums

MAX_STEPS = 20
ACCURACY = 1e-6  # of theta; errors of a step are squared in the next
LARGEST_STEP = 1.0
Shares = Mapping[str, float]  # of the named groups' recorded cases


def with_false_positives(fitted: DebiasedPURPLE, shares: Sequence[Shares]) -> list[GroupMoments]:
    """The moments under every assumption.

    Parameters
    ----------
    fitted : DebiasedPURPLE
    shares : sequence of mapping of group to share
        Groups that are not named have no false positives.

    Returns
    -------
    list of GroupMoments
        NaN in theta where there is no solution: more false cases than the data can hold.
    """
    data, moments = fitted.score_data_, fitted.moments_
    names, free = moments.names, data.free
    f = np.array([[own.get(name, 0.0) for name in names] for own in [{}, *shares]])
    eps = f * np.exp(moments.log_cases - moments.log_share)
    theta = np.tile(fitted.score_theta_, (len(f), 1))
    going = np.ones(len(f), dtype=bool)
    slopes = np.zeros((len(f), len(free), len(free)))
    for _ in range(MAX_STEPS):
        which = np.flatnonzero(going)
        values, found = data.total(cleaned_score_sums, theta[which], eps[which])
        for k, value, slope in zip(which, values, found, strict=True):
            slopes[k] = -slope[np.ix_(free, free)]
            step = _step(slopes[k], value[free])
            theta[k, free] += step
            going[k] = bool(np.abs(step).max() > ACCURACY)  # NaN: no solution
        if not going.any():
            break
    theta[going] = np.nan
    change = theta - theta[0]  # the estimate may be a median over several deals of folds
    return [
        _moved(moments, moments.theta + change[k], f[k], _turned(slopes[0], slopes[k]), free)
        for k in range(1, len(f))
    ]


def _step(slope: FloatArray, value: FloatArray) -> FloatArray:
    try:
        step = np.linalg.solve(slope, value).astype(np.float64)
    except np.linalg.LinAlgError:
        return np.full(len(value), np.nan)
    return step * min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))


def _turned(before: FloatArray, after: FloatArray) -> FloatArray:
    try:
        turned = np.linalg.solve(after, before).astype(np.float64)
    except np.linalg.LinAlgError:
        return np.full(before.shape, np.nan)
    return turned


def _moved(
    moments: GroupMoments,
    theta: FloatArray,
    f: FloatArray,
    turned: FloatArray,
    free: NDArray[np.int64],
) -> GroupMoments:
    K = len(moments.names)
    B, g = np.eye(3 * K), np.arange(K)
    B[K + g, K + g], B[K + g, g] = 1 / (1 - f), -f / (1 - f)
    B[np.ix_(2 * K + free, 2 * K + free)] = turned
    return replace(
        moments, theta=theta, log_cases=moments.log_cases + np.log1p(-f),
        covariance=B @ moments.covariance @ B.T,
    )  # fmt: skip
