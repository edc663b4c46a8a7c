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
def count_quarters(indptr, indices, home, parts, rows, s):
    """Count rows, and rows with s = 1, in each of the parts of every feature: (2, p, parts).

    Column ``parts * j + k`` of a sparse 0/1 matrix marks part k of feature j, except part
    ``home[j]``, where rows without a mark are; if that is negative, every row has a mark.
    """
    counts = np.zeros((2, len(home), parts), dtype=np.int64)
    flat = counts.reshape(2, -1)
    diagnosed = 0
    for row in rows:
        diagnosed += s[row] == 1
        for position in range(indptr[row], indptr[row + 1]):
            flat[0, indices[position]] += 1
            flat[1, indices[position]] += s[row] == 1
    for j in range(len(home)):
        if home[j] >= 0:
            counts[0, j, home[j]] = len(rows) - counts[0, j].sum()
            counts[1, j, home[j]] = diagnosed - counts[1, j].sum()
    return counts
