"""Curves of a number: its normal score, and what a linear model needs to bend it.

The normal score t of a number is the quantile of the standard normal distribution at the share of
visits with a smaller value, linear between 101 quantiles. It does not depend on units or skewness
(for a laboratory value it is close to the logarithm), and for a normal number it is the number
itself, in standard deviations. Its curve has the columns

    t, t^2 - 1 and (t - k)_+      at the knots k, by default -0.84, 0 and 0.84.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from relprev.arrays import FloatArray
from relprev.lazy import OnDemand

if TYPE_CHECKING:
    from scipy import special
else:
    special = OnDemand("scipy.special")

POINTS = 101
KNOTS = (-0.84, 0.0, 0.84)  # about the fifths of a normal distribution
LARGEST_SCORE = 4.0


@dataclass(frozen=True)
class NormalScore:
    """t of one feature: its column, points of x and t there."""

    column: int
    x: FloatArray
    t: FloatArray

    def of(self, values: FloatArray) -> FloatArray:
        """t of these values."""
        return np.interp(values, self.x, self.t)


def curve(t: FloatArray, knots: Sequence[float] = KNOTS) -> FloatArray:
    """t, t^2 - 1 and (t - k)_+, shape (n, 2 + knots).

    Examples
    --------
    >>> curve(np.array([0.0, 2.0]), knots=[1.0])
    array([[ 0., -1.,  0.],
           [ 2.,  3.,  1.]])
    """
    return np.column_stack([t, t**2 - 1.0, *(np.maximum(t - knot, 0.0) for knot in knots)])


def normal_score(column: int, stored: FloatArray, n: int) -> NormalScore | None:
    """The normal score of a feature; None if it is constant.

    Parameters
    ----------
    column : int
        Position of the feature.
    stored : array of shape (m,)
        Its values; the other n - m are zero.
    n : int
        Number of rows.

    Examples
    --------
    >>> score = normal_score(0, np.exp(np.arange(5.0)), 5)
    >>> score.of(np.exp(np.arange(5.0))).round(2)
    array([-1.28, -0.52,  0.  ,  0.52,  1.28])
    """
    values = np.append(stored, np.zeros(1 if len(stored) < n else 0))
    share = np.append(np.ones(len(stored)), np.full(len(values) - len(stored), n - len(stored)))
    order = np.argsort(values, kind="stable")
    distinct, start = np.unique(values[order], return_index=True)
    if len(distinct) < 2:
        return None
    held = np.add.reduceat(share[order], start)
    rank = (np.cumsum(held) - held / 2) / held.sum()
    if len(distinct) > POINTS:
        wanted = np.linspace(rank[0], rank[-1], POINTS)
        places = np.unique(np.searchsorted(rank, wanted).clip(max=len(rank) - 1))
        distinct, rank = distinct[places], rank[places]
    t = np.clip(special.ndtri(rank), -LARGEST_SCORE, LARGEST_SCORE)
    return NormalScore(column, *_with_tails(distinct, t))


def _with_tails(x: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points that continue the line through the outermost ones, up to the largest score."""
    lowest, highest = -LARGEST_SCORE - 1, LARGEST_SCORE + 1
    below = (x[1] - x[0]) / (t[1] - t[0]) * (t[0] - lowest)
    above = (x[-1] - x[-2]) / (t[-1] - t[-2]) * (highest - t[-1])
    return np.r_[x[0] - below, x, x[-1] + above], np.r_[lowest, t, highest]
