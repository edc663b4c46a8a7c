"""Compiled loops for the baselines."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def forgetful_maximum(values, forget):
    """Running maximum that forgets levels which later values do not support.

    Every value starts a level with support 1. Each later value adds 1 to the support of the
    levels it reaches and subtracts ``forget`` from those above it; levels without support are
    dropped. The result is the larger of the value and the highest level.
    """
    out = np.empty_like(values)
    level = np.empty_like(values)
    support = np.empty_like(values)
    size = 0
    for i in range(len(values)):
        value = values[i]
        highest = value
        kept = 0
        known = False
        for k in range(size):
            highest = max(highest, level[k])
            changed = support[k] + 1.0 if level[k] <= value else support[k] - forget
            if changed > 0.0:
                level[kept] = level[k]
                support[kept] = changed
                kept += 1
                known = known or level[k] == value
        if not known:
            level[kept] = value
            support[kept] = 1.0
            kept += 1
        size = kept
        out[i] = highest
    return out


@njit(nogil=True, cache=True)
def count_columns(indptr, indices, n_columns, rows, s):
    """Count, by column of a sparse 0/1 matrix, the ones in ``rows`` and those with s = 1."""
    counts = np.zeros((2, n_columns), dtype=np.int64)
    for row in rows:
        diagnosed = s[row] == 1
        for position in range(indptr[row], indptr[row + 1]):
            counts[0, indices[position]] += 1
            if diagnosed:
                counts[1, indices[position]] += 1
    return counts


@njit(nogil=True, cache=True)
def column_of(indptr, indices, rows, start, stop, otherwise):
    """Which of the columns start, ..., stop - 1 is set in each row, counted from start."""
    found = np.full(len(rows), otherwise)
    for i in range(len(rows)):
        for position in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if start <= indices[position] < stop:
                found[i] = indices[position] - start
    return found
