"""Compiled loops of the baselines."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def forgetful_maximum(values, forget):
    """Running maximum that gives up levels which later values do not support.

    Every value starts a level with support 1. Each later value adds 1 to the support of
    the levels it reaches and takes ``forget`` from those above it; a level without
    support is dropped. The result is the larger of the value and the highest level left.
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
