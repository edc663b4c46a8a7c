"""How well predictions rank the diagnosed: AUC and average precision, as sums over rows.

The diagnosed are few, so their predictions are collected; each part then reports how much
weight of its other rows lies between and at these predictions. With C_v the weight of cases at
prediction v, B_v and T_v the weights of others below and at it, and C and O the totals,

    AUC = sum_v C_v (B_v + T_v / 2) / (C O),
    average precision = sum_v C_v / C * C_{>= v} / (C_{>= v} + O - B_v).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_sums
from relprev.rows import Rows

Scored = Callable[[Any], tuple[FloatArray, NDArray[Any], FloatArray]]


@dataclass(frozen=True)
class Ranking:
    """Weights by the diagnosed rows' distinct predictions v, ascending, shape (m,) each.

    Parameters
    ----------
    cases : weight of the diagnosed at v
    below, tied : weight of the others below v and at v
    others : float
        Weight of all others.
    """

    cases: FloatArray
    below: FloatArray
    tied: FloatArray
    others: float

    @property
    def auc(self) -> float:
        """Area under the ROC curve."""
        before = self.below + 0.5 * self.tied
        return float(self.cases @ before / (self.cases.sum() * self.others))

    @property
    def average_precision(self) -> float:
        """Area under the precision-recall curve, by steps."""
        above = np.cumsum(self.cases[::-1])[::-1]
        precision = above / (above + self.others - self.below)
        return float(self.cases @ precision / self.cases.sum())


def ranking(rows: Rows[Any], scored: Scored) -> Ranking:
    """Rank rows by their predictions.

    Parameters
    ----------
    rows : Rows
    scored : function of a part
        Prediction, diagnosis (0 or 1) and weight of its rows.

    Examples
    --------
    >>> from relprev.rows import one_part
    >>> scored = (np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]), np.ones(4))
    >>> found = ranking(one_part(scored, 4), lambda part: part)
    >>> found.auc, round(found.average_precision, 3)
    (0.75, 0.833)
    """
    value, weight = (np.concatenate(found) for found in zip(*rows.map(_cases, scored), strict=True))
    values, place = np.unique(value, return_inverse=True)
    between, tied = rows.total(_others, scored, values)
    return Ranking(
        cases=group_sums(place, weight, len(values)),
        below=(np.cumsum(between + tied) - tied)[:-1],
        tied=tied[:-1],
        others=float((between + tied).sum()),
    )


def _cases(part: Any, scored: Scored) -> tuple[FloatArray, FloatArray]:
    """Predictions and weights of the diagnosed."""
    p, s, omega = scored(part)
    hit = s == 1
    return p[hit], omega[hit]


def _others(part: Any, scored: Scored, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weight of the other rows by the first of ``values`` above them; by the one they equal."""
    p, s, omega = scored(part)
    rest = s == 0
    p, omega, size = p[rest], omega[rest], len(values) + 1
    place = np.searchsorted(values, p)
    equal = np.append(values, np.nan)[place] == p
    return (
        group_sums(place, np.where(equal, 0.0, omega), size),
        group_sums(place, np.where(equal, omega, 0.0), size),
    )
