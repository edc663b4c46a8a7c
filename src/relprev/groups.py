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


def group_counts(groups: NDArray[np.integer[Any]], n_groups: int) -> NDArray[np.int64]:
    """Number of rows in every group, shape (n_groups,)."""
    return np.bincount(groups, minlength=n_groups).astype(np.int64, copy=False)
