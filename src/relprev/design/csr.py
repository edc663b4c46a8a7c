"""Sparse designs by rows: binary (ones implied) and float.

Row i holds entries ``indptr[i]:indptr[i + 1]`` of ``indices`` (and ``values``).
Column indices use the smallest unsigned type that fits: two bytes an entry for
fewer than 65,536 columns, so 92 million ones take 184 MB.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from numpy.typing import NDArray

from relprev.design.base import Columns, Design, FloatArray, IndexArray, root_mean_square


def index_dtype(n_cols: int) -> type[np.unsignedinteger[Any]]:
    """Smallest unsigned integer type that holds every column index."""
    return np.uint16 if n_cols <= 2**16 else np.uint32


def pointer_dtype(nnz: int) -> type[np.unsignedinteger[Any]]:
    """Smallest unsigned integer type that holds every row pointer."""
    return np.uint32 if nnz < 2**32 else np.uint64


class CSR(Design):
    """What both sparse designs share."""

    def __init__(self, indptr: IndexArray, indices: IndexArray, n_cols: int) -> None:
        self.indptr = np.ascontiguousarray(indptr, dtype=pointer_dtype(len(indices)))
        self.indices = np.ascontiguousarray(indices, dtype=index_dtype(n_cols))
        self.shape = (len(indptr) - 1, int(n_cols))

    @property
    def nnz(self) -> int:
        return len(self.indices)

    def presence(self) -> BinaryCSR:
        """The same pattern with every stored entry one."""
        return BinaryCSR(self.indptr, self.indices, self.n_cols)

    def to_scipy(self) -> Any:
        """``scipy.sparse.csr_array`` with the same entries."""
        values = getattr(self, "values", None)
        index = np.int32 if max(self.nnz, self.n_cols) < 2**31 else np.int64
        parts = (
            np.ones(self.nnz) if values is None else values,
            self.indices.astype(index),
            self.indptr.astype(index),
        )
        return sp.csr_array(parts, shape=self.shape)


class BinaryCSR(CSR):
    """Binary sparse design: every stored entry is one.

    Examples
    --------
    >>> import numpy as np
    >>> X = BinaryCSR(np.array([0, 2, 3]), np.array([0, 2, 1]), n_cols=3)
    >>> X.matvec(np.array([1.0, 10.0, 100.0]))
    array([101.,  10.])
    """

    @property
    def nbytes(self) -> int:
        return self.indptr.nbytes + self.indices.nbytes

    def dot(self, w: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        _binary_dot(self.indptr, self.indices, w, start, stop, out)

    def add_tdot(self, r: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        _binary_add_tdot(self.indptr, self.indices, r, start, stop, out)

    add_tdot_sq = add_tdot  # 1 ** 2 = 1

    def take(self, rows: IndexArray) -> BinaryCSR:
        indptr, indices, _ = _take_rows(self.indptr, self.indices, _NO_VALUES, _positions(rows))
        return BinaryCSR(indptr, indices, self.n_cols)

    def columns(self, rows: IndexArray | None = None) -> Columns:
        picked = np.arange(self.n_rows) if rows is None else _positions(rows)
        indptr, by_column, _ = _by_columns(
            self.indptr, self.indices, _NO_VALUES, picked, self.n_cols
        )
        return Columns(indptr, by_column, None)

    def typical_size(self) -> FloatArray:
        return np.ones(self.n_cols)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"indptr": self.indptr, "indices": self.indices}


class FloatCSR(CSR):
    """Sparse design with float64 entries."""

    def __init__(
        self, indptr: IndexArray, indices: IndexArray, values: FloatArray, n_cols: int
    ) -> None:
        super().__init__(indptr, indices, n_cols)
        self.values = np.ascontiguousarray(values, dtype=np.float64)

    @property
    def nbytes(self) -> int:
        return self.indptr.nbytes + self.indices.nbytes + self.values.nbytes

    def dot(self, w: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        _float_dot(self.indptr, self.indices, self.values, w, start, stop, out)

    def add_tdot(self, r: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        _float_add_tdot(self.indptr, self.indices, self.values, r, start, stop, out, 1)

    def add_tdot_sq(self, h: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        _float_add_tdot(self.indptr, self.indices, self.values, h, start, stop, out, 2)

    def take(self, rows: IndexArray) -> FloatCSR:
        parts = _take_rows(self.indptr, self.indices, self.values, _positions(rows))
        return FloatCSR(*parts, self.n_cols)

    def columns(self, rows: IndexArray | None = None) -> Columns:
        picked = np.arange(self.n_rows) if rows is None else _positions(rows)
        return Columns(*_by_columns(self.indptr, self.indices, self.values, picked, self.n_cols))

    def typical_size(self) -> FloatArray:
        count = np.bincount(self.indices, minlength=self.n_cols)
        return root_mean_square(np.bincount(self.indices, self.values**2, self.n_cols), count)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"indptr": self.indptr, "indices": self.indices, "values": self.values}


_NO_VALUES = np.empty(0)


def _positions(rows: IndexArray) -> NDArray[np.int64]:
    return np.ascontiguousarray(rows, dtype=np.int64)


@njit(nogil=True, cache=True)
def _binary_dot(indptr, indices, w, start, stop, out):
    end = np.int64(indptr[start])
    for i in range(start, stop):
        begin = end
        end = np.int64(indptr[i + 1])
        total = 0.0
        for k in range(begin, end):
            total += w[indices[k]]
        out[i - start] = total


@njit(nogil=True, cache=True)
def _binary_add_tdot(indptr, indices, r, start, stop, out):
    end = np.int64(indptr[start])
    for i in range(start, stop):
        begin = end
        end = np.int64(indptr[i + 1])
        value = r[i - start]
        for k in range(begin, end):
            out[indices[k]] += value


@njit(nogil=True, cache=True)
def _float_dot(indptr, indices, values, w, start, stop, out):
    for i in range(start, stop):
        total = 0.0
        for k in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):
            total += values[k] * w[indices[k]]
        out[i - start] = total


@njit(nogil=True, cache=True)
def _float_add_tdot(indptr, indices, values, r, start, stop, out, power):
    for i in range(start, stop):
        for k in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):
            entry = values[k] if power == 1 else values[k] * values[k]
            out[indices[k]] += entry * r[i - start]


@njit(nogil=True, cache=True)
def _take_rows(indptr, indices, values, rows):
    new_indptr = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        length = np.int64(indptr[rows[i] + 1]) - np.int64(indptr[rows[i]])
        new_indptr[i + 1] = new_indptr[i] + length
    new_indices = np.empty(new_indptr[-1], indices.dtype)
    new_values = np.empty(new_indptr[-1] if len(values) else 0)
    for i in range(len(rows)):
        begin = np.int64(indptr[rows[i]])
        for k in range(new_indptr[i + 1] - new_indptr[i]):
            new_indices[new_indptr[i] + k] = indices[begin + k]
            if len(values):
                new_values[new_indptr[i] + k] = values[begin + k]
    return new_indptr, new_indices, new_values


@njit(nogil=True, cache=True)
def _by_columns(indptr, indices, values, rows, n_cols):
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
