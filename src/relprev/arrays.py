"""Array types, and sums and counts by group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

BLOCK = 2**20
LARGEST = 1e100  # feature or weight: sums of squares of larger ones may overflow


def group_sums(
    groups: NDArray[np.integer[Any]], values: NDArray[np.float64], n_groups: int
) -> NDArray[np.float64]:
    """Sum of ``values`` in every group, shape (n_groups,)."""
    return np.bincount(groups, values, minlength=n_groups).astype(np.float64, copy=False)


def group_counts(groups: NDArray[np.integer[Any]], n_groups: int) -> NDArray[np.int64]:
    """Number of rows in every group, shape (n_groups,)."""
    return np.bincount(groups, minlength=n_groups).astype(np.int64, copy=False)


def numbered(
    values: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
    """Distinct values, ascending, shape (m,), and each value's number among them, shape (n,).

    Like `np.unique` with its inverse, but values that lie close together are counted instead of
    sorted, block by block, which needs little more memory than the result (four bytes per value).

    Examples
    --------
    >>> numbered(np.array([7, 5, 7, 9]))
    (array([5, 7, 9]), array([1, 0, 1, 2], dtype=int32))
    """
    low, high = int(values.min()), int(values.max())
    span = high - low + 1
    small = np.int32 if min(span, len(values)) < 2**31 else np.int64
    if span > 4 * len(values):
        distinct, number = np.unique(values, return_inverse=True)
        return distinct, number.astype(small)
    used = np.zeros(span, dtype=bool)
    for start in range(0, len(values), BLOCK):
        used[values[start : start + BLOCK].astype(np.int64) - low] = True
    place: NDArray[np.integer[Any]] = np.cumsum(used, dtype=small)
    np.subtract(place, 1, out=place)
    number = np.empty(len(values), dtype=small)
    for start in range(0, len(values), BLOCK):
        rows = slice(start, start + BLOCK)
        number[rows] = place[values[rows].astype(np.int64) - low]
    return np.flatnonzero(used) + low, number
