"""Compiled products of the design matrices. They release the GIL and are cached on disk."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def binary_dot(indptr, indices, w, start, stop, out):
    end = np.int64(indptr[start])
    for i in range(start, stop):
        begin = end
        end = np.int64(indptr[i + 1])
        total = 0.0
        for k in range(begin, end):
            total += w[indices[k]]
        out[i - start] = total


@njit(nogil=True, cache=True)
def binary_add_tdot(indptr, indices, r, start, stop, out):
    end = np.int64(indptr[start])
    for i in range(start, stop):
        begin = end
        end = np.int64(indptr[i + 1])
        value = r[i - start]
        for k in range(begin, end):
            out[indices[k]] += value


@njit(nogil=True, cache=True)
def binary_dots(indptr, indices, W, start, stop, out):
    """Four predictors at once: an index is read once, and their coefficients lie together."""
    for first in range(0, W.shape[1], 4):
        end = np.int64(indptr[start])
        for i in range(start, stop):
            begin = end
            end = np.int64(indptr[i + 1])
            a = b = c = d = 0.0
            for k in range(begin, end):
                j = indices[k]
                a += W[j, first]
                b += W[j, first + 1]
                c += W[j, first + 2]
                d += W[j, first + 3]
            out[first, i - start] = a
            out[first + 1, i - start] = b
            out[first + 2, i - start] = c
            out[first + 3, i - start] = d


@njit(nogil=True, cache=True)
def binary_add_tdots(indptr, indices, R, start, stop, out):
    for first in range(0, out.shape[1], 4):
        end = np.int64(indptr[start])
        for i in range(start, stop):
            begin = end
            end = np.int64(indptr[i + 1])
            a, b = R[first, i - start], R[first + 1, i - start]
            c, d = R[first + 2, i - start], R[first + 3, i - start]
            for k in range(begin, end):
                j = indices[k]
                out[j, first] += a
                out[j, first + 1] += b
                out[j, first + 2] += c
                out[j, first + 3] += d


@njit(nogil=True, cache=True)
def float_dot(indptr, indices, values, w, start, stop, out):
    for i in range(start, stop):
        total = 0.0
        for k in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):
            total += values[k] * w[indices[k]]
        out[i - start] = total


@njit(nogil=True, cache=True)
def float_add_tdot(indptr, indices, values, r, start, stop, out, power):
    for i in range(start, stop):
        for k in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):
            entry = values[k] if power == 1 else values[k] * values[k]
            out[indices[k]] += entry * r[i - start]


@njit(nogil=True, cache=True)
def copy_rows(indptr, indices, values, rows, start, stop, new_indptr, new_indices, new_values):
    """Rows picked, places ``start`` to ``stop`` among them, to where ``new_indptr`` says."""
    for i in range(start, stop):
        begin = np.int64(indptr[rows[i]])
        for k in range(new_indptr[i + 1] - new_indptr[i]):
            new_indices[new_indptr[i] + k] = indices[begin + k]
            if len(values):
                new_values[new_indptr[i] + k] = values[begin + k]


@njit(nogil=True, cache=True)
def by_columns(indptr, indices, values, rows, n_cols):
    """Counting sort of the picked rows' entries by column; rows renumbered 0, 1, ..."""
    col_ptr = np.zeros(n_cols + 1, np.int64)
    for i in rows:
        for k in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):
            col_ptr[np.int64(indices[k]) + 1] += 1
    for j in range(n_cols):
        col_ptr[j + 1] += col_ptr[j]
    by_column = np.empty(col_ptr[-1], np.int32)
    col_values = np.empty(col_ptr[-1] if len(values) else 0)
    cursor = col_ptr[:-1].copy()
    for new_row in range(len(rows)):
        i = rows[new_row]
        for k in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):
            j = np.int64(indices[k])
            by_column[cursor[j]] = new_row
            if len(values):
                col_values[cursor[j]] = values[k]
            cursor[j] += 1
    return col_ptr, by_column, col_values


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def dense_dot(values, w, start, stop, out):
    for i in range(start, stop):
        total = 0.0
        for j in range(values.shape[1]):
            total += values[i, j] * w[j]
        out[i - start] = total


@njit(nogil=True, cache=True, fastmath={"contract"})
def dense_add_tdot(values, r, start, stop, out, power):
    for i in range(start, stop):
        for j in range(values.shape[1]):
            entry = values[i, j] if power == 1 else values[i, j] * values[i, j]
            out[j] += entry * r[i - start]


STRIP = 256  # rows that are laid out by columns, so that loops run along them


@njit(nogil=True, cache=True)
def _strip(values, lo, hi, by_column):
    """A few rows, turned: shape (columns, STRIP)."""
    for i in range(lo, hi):
        for j in range(values.shape[1]):
            by_column[j, i - lo] = values[i, j]


@njit(nogil=True, cache=True, fastmath={"contract"})
def dense_dots(values, W, start, stop, out):
    """All predictors at once: rows are turned once for all of them."""
    p, q = W.shape
    by_column = np.empty((p, STRIP))
    for lo in range(start, stop, STRIP):
        n = min(STRIP, stop - lo)
        _strip(values, lo, lo + n, by_column)
        for k in range(q):
            total = out[k, lo - start : lo - start + n]
            total[:] = 0.0
            for j in range(p):
                w = W[j, k]
                column = by_column[j, :n]
                for i in range(n):
                    total[i] += w * column[i]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def dense_add_tdots(values, R, start, stop, out):
    p, q = out.shape
    by_column = np.empty((p, STRIP))
    for lo in range(start, stop, STRIP):
        n = min(STRIP, stop - lo)
        _strip(values, lo, lo + n, by_column)
        for k in range(q):
            r = R[k, lo - start : lo - start + n]
            for j in range(p):
                column = by_column[j, :n]
                total = 0.0
                for i in range(n):
                    total += column[i] * r[i]
                out[j, k] += total
