"""DEDPUL, difference of estimated densities (Ivanov 2020).

Take the scores of a classifier of s, fitted with diagnosed and undiagnosed rows weighing the
same, as in the authors' code. Let r(x) = f_P(x) / f_U(x) be the ratio of the scores' densities
among diagnosed and undiagnosed rows. If a share alpha of the undiagnosed are negative,
f_U = (1 - alpha) f_P + alpha f_N, so the probability of being negative is 1 - (1 - alpha) r(x),
and alpha is a fixed point of

    alpha -> mean over undiagnosed rows of max(0, 1 - (1 - alpha) r)

Densities are Gaussian kernel estimates on the logit scale. Their ratio is capped, smoothed by
running medians and made to decrease with the score's distance from the diagnosed. The
fixed-point iteration starts at alpha = 0, which is itself a fixed point if no r exceeds one. If
it does not converge, alpha is the kink of (mean - alpha), the largest second difference on a
grid. The prevalence is p(s=1) + p(s=0) (1 - alpha).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter1d
from scipy.special import expit, logit

from relprev.arrays import FloatArray
from relprev.baselines.kernels import forgetful_maximum
from relprev.baselines.scores import ScoredBaseline
from relprev.cohort import Cohort

BANDWIDTH_UNLABELED, BANDWIDTH_POSITIVE = 0.05, 0.1  # of the standard deviation
GRID_POINTS = 10_000
RATIO_CAP = 50.0
FORGET = 0.2  # see kernels.forgetful_maximum
FIRST_MEDIAN = 5  # half the window of the first running median
TOLERANCE, MAX_ITERATIONS = 1e-5, 1000
STEP, MAX_GAP = 0.001, 0.05


class DEDPUL(ScoredBaseline):
    """Difference of estimated densities.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Must accept ``sample_weight``. Default: logistic regression.
    folds : int
        Number of folds; scores are out of fold.
    random_state : int
        Seed of the folds.

    Notes
    -----
    Formula: :mod:`relprev.baselines.dedpul`.

    References
    ----------
    Ivanov (2020), "DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning".

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.3), separable=True, seed=1)
    >>> table = DEDPUL().fit(data.cohort).relative_prevalence(versus="b").to_frame()
    >>> truth = data.relative_prevalence("b").to_frame()
    >>> bool(abs(table.loc[0, "estimate"] / truth.loc[0, "estimate"] - 1) < 0.1)
    True
    """

    admits_weights = False
    least_cases = 10

    def __init__(self, classifier: Any = None, *, folds: int = 3, random_state: int = 0) -> None:
        super().__init__(classifier, folds=folds, random_state=random_state)

    def _prevalence(self, group: Cohort) -> float:
        scores = self._scores(group, balanced=True)
        diagnosed = group.diagnosed == 1
        alpha = negative_share(density_ratio(scores[diagnosed], scores[~diagnosed]))
        return float(diagnosed.mean() + (1 - diagnosed.mean()) * (1 - alpha))


def density_ratio(positive: FloatArray, unlabeled: FloatArray) -> FloatArray:
    """f_P / f_U at the unlabeled scores, in descending order, shape (n_unlabeled,).

    ``positive`` and ``unlabeled`` are scores of diagnosed and undiagnosed rows, in (0, 1):
    p(s=1|x) if both kinds weighed the same.
    """
    of_positive, of_unlabeled = -logit(positive), np.sort(-logit(unlabeled))
    lowest = min(of_positive.min(), of_unlabeled[0])
    grid = np.linspace(lowest, max(of_positive.max(), of_unlabeled[-1]), GRID_POINTS)
    top = np.interp(of_unlabeled, grid, _density(of_positive, BANDWIDTH_POSITIVE, grid))
    bottom = np.interp(of_unlabeled, grid, _density(of_unlabeled, BANDWIDTH_UNLABELED, grid))
    ratio = np.minimum(top / np.maximum(bottom, 1e-12), RATIO_CAP)
    threshold = 0.5 * (expit(of_positive).mean() + expit(of_unlabeled).mean())
    low = int(np.searchsorted(expit(of_unlabeled), threshold, side="right"))
    ratio = _running_median(ratio, FIRST_MEDIAN)
    ratio[:low] = np.maximum.accumulate(ratio[:low][::-1])[::-1]
    ratio = _running_median(ratio, len(ratio) // 20)
    return np.sort(forgetful_maximum(ratio[::-1].copy(), FORGET))[::-1]


def _density(values: FloatArray, bandwidth: float, grid: FloatArray) -> FloatArray:
    """Gaussian kernel density at evenly spaced points, with ``bandwidth`` in standard deviations.

    Each value is divided between the two nearest points, then the counts are smoothed.
    """
    if np.ptp(values) == 0:  # a classifier that distinguishes nothing
        return np.ones_like(grid)
    spacing = grid[1] - grid[0]
    position = (values - grid[0]) / spacing
    left = np.minimum(position.astype(np.int64), len(grid) - 2)
    share = position - left
    counts = np.bincount(left, 1 - share, len(grid)) + np.bincount(left + 1, share, len(grid))
    width = bandwidth * values.std(ddof=1) / spacing
    smooth = gaussian_filter1d(counts, width, mode="constant", truncate=8)
    return np.asarray(smooth / (len(values) * spacing))


def _running_median(values: FloatArray, half: int) -> FloatArray:
    """Medians of 2 half + 1 neighbours; towards the ends the window shrinks symmetrically."""
    half = min(half, (len(values) - 1) // 2)
    if half < 1:
        return values.copy()
    series = pd.Series(values)
    out = series.rolling(2 * half + 1, center=True).median().to_numpy(copy=True)
    for ends, part in ((slice(half), series), (slice(None, -half - 1, -1), series[::-1])):
        out[ends] = part.iloc[: 2 * half].expanding().median().iloc[::2]
    return out


def negative_share(ratio: FloatArray) -> float:
    """Share alpha of negatives among the unlabeled, from f_P / f_U at their scores."""
    descending = np.sort(ratio)[::-1]
    sums = np.concatenate([[0.0], np.cumsum(descending)])

    def gap(alpha: FloatArray) -> FloatArray:
        """Mean of max(0, 1 - (1 - alpha) r), minus alpha."""
        zeroed = np.searchsorted(-descending, -1 / (1 - alpha), side="left")
        n = len(descending)
        rest = (n - zeroed) - (1 - alpha) * (sums[-1] - sums[zeroed])
        return np.asarray(rest / n - alpha)

    settled = 0.0
    for _ in range(MAX_ITERATIONS):
        change = float(gap(np.array([settled]))[0])
        if abs(change) < TOLERANCE or (1 - settled) * descending[0] < 1:
            break
        settled += change
    grid = np.arange(0, 1, STEP)
    gaps = gap(grid)
    allowed = gaps[1:-1] < MAX_GAP
    if not allowed.any():
        return settled
    kink = float(grid[1:-1][allowed][np.argmax(np.diff(gaps, 2)[allowed])])
    crosses = int((gaps < 0).sum()) > 1 and settled < 1 - STEP
    return settled if kink >= settled or crosses else kink
