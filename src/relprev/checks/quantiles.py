"""Exact weighted quantiles of rows in parts, without collecting the rows.

The interval (low, high] that contains a quantile is cut into 4,096 pieces. Every part reports
the weight in each piece, and the piece that contains the quantile is cut again. Once it holds
few rows, these are collected and sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts, group_sums
from relprev.parallel.threads import by_rows
from relprev.rows import Rows, total

PIECES = 4096
FEW = 100_000  # rows that may be collected
Values = Callable[[Any], tuple[FloatArray, FloatArray]]


def weighted_quantiles(rows: Rows[Any], values: Values, at: Sequence[float]) -> FloatArray:
    """For each share in ``at``, the smallest value with that share of the weight up to it.

    ``values`` returns the values of a part and their weights.

    Examples
    --------
    >>> from relprev.rows.memory import InMemory
    >>> parts = [(np.array([1.0, 5.0]), np.ones(2)), (np.array([2.0, 3.0]), np.ones(2))]
    >>> weighted_quantiles(Rows(InMemory(parts), (2, 2)), lambda part: part, [0.5, 1.0])
    array([2., 5.])
    """
    found = rows.map(_extent, values)
    low, high = min(part[0] for part in found), max(part[1] for part in found)
    count, weight = total([part[2:] for part in found])
    start = (np.nextafter(low, -np.inf), high, 0.0, count)
    return np.array([_quantile(rows, values, share * weight, *start) for share in at])


def _quantile(
    rows: Rows[Any],
    values: Values,
    target: float,
    low: float,
    high: float,
    below: float,
    count: int,
) -> float:
    """The smallest value in (low, high] with ``target`` of the weight up to it."""
    while count > FEW and np.nextafter(low, np.inf) < high:
        edges = np.linspace(low, high, PIECES + 1)
        counts, weights = rows.total(_histogram, values, edges)
        reached = below + np.cumsum(weights)
        k = min(int(np.searchsorted(reached, target)), int(np.flatnonzero(counts)[-1]))
        low, high, count = float(edges[k]), float(edges[k + 1]), int(counts[k])
        below = float(reached[k] - weights[k])
    if count > FEW:
        return high  # the only number in (low, high]
    inside = rows.map(_inside, values, low, high)
    value, weight = (np.concatenate(part) for part in zip(*inside, strict=True))
    order = np.argsort(value, kind="stable")
    reached = below + np.cumsum(weight[order])
    return float(value[order][min(int(np.searchsorted(reached, target)), len(value) - 1)])


def _extent(part: Any, values: Values) -> tuple[float, float, int, float]:
    value, weight = values(part)
    return float(value.min()), float(value.max()), len(value), float(weight.sum())


def _histogram(part: Any, values: Values, edges: FloatArray) -> tuple[Any, FloatArray]:
    """Number of rows and weight in each piece (edges[k], edges[k + 1]]."""

    def piece_of(some: FloatArray) -> NDArray[np.int64]:
        return np.searchsorted(edges, some) - 1

    value, weight = values(part)
    inside = (value > edges[0]) & (value <= edges[-1])
    piece = by_rows(piece_of, value[inside])
    size = len(edges) - 1
    return group_counts(piece, size), group_sums(piece, weight[inside], size)


def _inside(part: Any, values: Values, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    value, weight = values(part)
    inside = (value > low) & (value <= high)
    return value[inside], weight[inside]
