"""Compiled loop that draws the codes of visits."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def codes_of_visits(kind, wanted, u, own_codes, own_popularity, power, n_codes, background_share):
    """Sorted, distinct codes of every visit, as CSR index arrays."""
    top = (n_codes + 1.0) ** (1.0 - power)
    indices = np.empty(len(u), np.uint32)
    indptr = np.zeros(len(kind) + 1, np.int64)
    drawn = np.empty(64, np.int64)
    position = 0
    count = 0
    for i in range(len(kind)):
        size = 0
        for _ in range(wanted[i]):
            if u[position, 0] < background_share:
                # Inverse of the cumulative power law on 1 .. n_codes.
                value = int((1.0 + u[position, 1] * (top - 1.0)) ** (1.0 / (1.0 - power))) - 1
                code = min(value, n_codes - 1)
            else:
                code = own_codes[kind[i], np.searchsorted(own_popularity[:-1], u[position, 1])]
            position += 1
            at = size
            while at > 0 and drawn[at - 1] > code:
                at -= 1
            if at > 0 and drawn[at - 1] == code:
                continue
            for m in range(size, at, -1):
                drawn[m] = drawn[m - 1]
            drawn[at] = code
            size += 1
        for m in range(size):
            indices[count + m] = drawn[m]
        count += size
        indptr[i + 1] = count
    return indptr, indices[:count].copy()
