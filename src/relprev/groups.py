"""Sums and counts by group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def group_sums(
    groups: NDArray[np.integer[Any]], values: NDArray[np.float64], n_groups: int
) -> NDArray[np.float64]:
    """Sum of ``values`` in every group, shape (n_groups,)."""
    return np.bincount(groups, values, minlength=n_groups).astype(np.float64, copy=False)


def numbered(labels: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], int]:
    """Labels as numbers 0, 1, ... in ascending order of the label, and how many there are.

    Examples
    --------
    >>> numbered(np.array([7, 3, 7]))
    (array([1, 0, 1]), 2)
    """
    low, high = (int(labels.min()), int(labels.max())) if len(labels) else (0, -1)
    if high - low < 2 * len(labels):  # dense enough to look up instead of to sort
        used = np.bincount(labels - low, minlength=1) > 0
        return (np.cumsum(used) - 1)[labels - low], int(used.sum())
    values, numbers = np.unique(labels, return_inverse=True)
    return numbers, len(values)


def group_counts(groups: NDArray[np.integer[Any]], n_groups: int) -> NDArray[np.int64]:
    """Number of rows in every group, shape (n_groups,)."""
    return np.bincount(groups, minlength=n_groups).astype(np.int64, copy=False)
