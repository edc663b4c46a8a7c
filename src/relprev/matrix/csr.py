"""Sparse designs stored by rows: binary (the ones are implied) and float.

Row i holds entries ``indptr[i]:indptr[i + 1]`` of ``indices`` (and ``values``).
Column indices use the smallest unsigned type that fits: two bytes per entry for
up to 65,536 columns, so that 92 million ones take 184 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts, group_sums
from relprev.lazy import OnDemand
from relprev.matrix.base import ABREAST, Columns, IndexArray, Matrix
from relprev.parallel.threads import map_chunks

if TYPE_CHECKING:
    import scipy.sparse as sp

    from relprev.matrix import kernels
else:
    sp = OnDemand("scipy.sparse")
    kernels = OnDemand("relprev.matrix.kernels")


def index_dtype(n_cols: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds every column index."""
    return np.uint16 if n_cols <= 2**16 else np.uint32


def pointer_dtype(nnz: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds every row pointer."""
    return np.uint32 if nnz < 2**32 else np.uint64


class CSR(Matrix):
    """What both sparse designs share."""

    def __init__(self, indptr: IndexArray, indices: IndexArray, n_cols: int) -> None:
        self.indptr = np.ascontiguousarray(indptr, dtype=pointer_dtype(len(indices)))
        self.indices = np.ascontiguousarray(indices, dtype=index_dtype(n_cols))
        self.shape = (len(indptr) - 1, int(n_cols))

    @property
    def nnz(self) -> int:
        return len(self.indices)

    def presence(self) -> BinaryCSR:
        """The same pattern with every stored entry replaced by one.

        Examples
        --------
        >>> from relprev.matrix import FloatCSR
        >>> X = FloatCSR(np.array([0, 1, 2]), np.array([1, 0]), np.array([0.5, 2.0]), n_cols=2)
        >>> X.presence().to_scipy().toarray()
        array([[0., 1.],
               [1., 0.]])
        """
        return BinaryCSR(self.indptr, self.indices, self.n_cols)

    def to_scipy(self) -> Any:
        index = np.int32 if max(self.nnz, self.n_cols) < 2**31 else np.int64
        arrays = (self._entries(), self.indices.astype(index), self.indptr.astype(index))
        return sp.csr_array(arrays, shape=self.shape)

    def _entries(self) -> FloatArray:
        """Values of the stored entries."""
        return np.ones(self.nnz)


class BinaryCSR(CSR):
    """Binary sparse design: every stored entry is one.

    Parameters
    ----------
    indptr : integer array of shape (n_rows + 1,)
        Where each row starts in ``indices``, and where the last one ends.
    indices : integer array of shape (nnz,)
        Columns of the ones, row by row.
    n_cols : int
        Columns, including those without a one.

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
        kernels.binary_dot(self.indptr, self.indices, w, start, stop, out)

    def add_tdot(self, r: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        kernels.binary_add_tdot(self.indptr, self.indices, r, start, stop, out)

    def add_tdot_sq(self, h: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        self.add_tdot(h, start, stop, out)  # 1 ** 2 = 1

    def dots(self, W: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        if W.shape[1] % ABREAST:
            return super().dots(W, start, stop, out)
        return kernels.binary_dots(self.indptr, self.indices, W, start, stop, out)

    def add_tdots(self, R: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        if out.shape[1] % ABREAST:
            return super().add_tdots(R, start, stop, out)
        return kernels.binary_add_tdots(self.indptr, self.indices, R, start, stop, out)

    def take(self, rows: IndexArray) -> BinaryCSR:
        indptr, indices, _ = _take_rows(self, _NO_VALUES, rows)
        return BinaryCSR(indptr, indices, self.n_cols)

    def columns(self, rows: IndexArray | None = None) -> Columns:
        picked = np.arange(self.n_rows) if rows is None else _positions(rows)
        indptr, by_column, _ = kernels.by_columns(
            self.indptr, self.indices, _NO_VALUES, picked, self.n_cols
        )
        return Columns(indptr, by_column, None)

    def nonzero_squares(self) -> tuple[FloatArray, IndexArray]:
        count = group_counts(self.indices, self.n_cols)
        return count.astype(float), count

    def size_sums(self) -> tuple[FloatArray, IndexArray]:
        return np.ones(self.n_cols), np.ones(self.n_cols, dtype=np.int64)  # every entry is one

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"indptr": self.indptr, "indices": self.indices}

    def with_arrays(self, arrays: dict[str, np.ndarray]) -> BinaryCSR:
        return BinaryCSR(arrays["indptr"], arrays["indices"], self.n_cols)


class FloatCSR(CSR):
    """Sparse design with float64 entries.

    Parameters
    ----------
    indptr, indices : integer arrays of shape (n_rows + 1,) and (nnz,)
        As in `BinaryCSR`.
    values : float64 array of shape (nnz,)
        The entries, less the origin.
    n_cols : int
        Columns, including those without an entry.
    origin : float64 array of shape (n_cols,), optional
        What was subtracted from each row. Default: nothing.

    Examples
    --------
    >>> import numpy as np
    >>> X = FloatCSR(np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([0.5, 2.0, 4.0]), n_cols=3)
    >>> X.matvec(np.array([1.0, 10.0, 100.0]))
    array([200.5,  40. ])

    Column 0 of this one has a value in every row, so it can be shifted:

    >>> X = FloatCSR(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([7.0, 1.0, 9.0]), n_cols=2)
    >>> X.movable(), X.about(np.array([8.0, 0.0])).values
    (array([ True, False]), array([-1.,  1.,  1.]))
    """

    def __init__(
        self, indptr: IndexArray, indices: IndexArray, values: FloatArray, n_cols: int,
        origin: FloatArray | None = None,
    ) -> None:  # fmt: skip
        super().__init__(indptr, indices, n_cols)
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.origin = origin

    @property
    def nbytes(self) -> int:
        return self.indptr.nbytes + self.indices.nbytes + self.values.nbytes

    def dot(self, w: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        kernels.float_dot(self.indptr, self.indices, self.values, w, start, stop, out)

    def add_tdot(self, r: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        kernels.float_add_tdot(self.indptr, self.indices, self.values, r, start, stop, out, 1)

    def add_tdot_sq(self, h: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        kernels.float_add_tdot(self.indptr, self.indices, self.values, h, start, stop, out, 2)

    def take(self, rows: IndexArray) -> FloatCSR:
        return FloatCSR(*_take_rows(self, self.values, rows), self.n_cols, self.origin)

    def columns(self, rows: IndexArray | None = None) -> Columns:
        picked = np.arange(self.n_rows) if rows is None else _positions(rows)
        return Columns(
            *kernels.by_columns(self.indptr, self.indices, self.values, picked, self.n_cols)
        )

    def nonzero_squares(self) -> tuple[FloatArray, IndexArray]:
        squares = group_sums(self.indices, self.values**2, self.n_cols)
        return squares, group_counts(self.indices, self.n_cols)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"indptr": self.indptr, "indices": self.indices, "values": self.values}

    def with_arrays(self, arrays: dict[str, np.ndarray]) -> FloatCSR:
        indptr, indices, values = (arrays[name] for name in ("indptr", "indices", "values"))
        return FloatCSR(indptr, indices, values, self.n_cols, self.origin)

    def movable(self) -> NDArray[np.bool_]:
        """Columns that `about` can shift, shape (n_cols,): those with a value in every row."""
        return group_counts(self.indices, self.n_cols) == self.n_rows

    def about(self, origin: FloatArray) -> FloatCSR:
        """The matrix whose products are those of ``X - origin``; `to_scipy` still gives X.

        Parameters
        ----------
        origin : float64 array of shape (n_cols,)
            Zero for columns that are not `movable`.
        """
        moved = self.values - origin[self.indices]
        return FloatCSR(self.indptr, self.indices, moved, self.n_cols, origin)

    def _entries(self) -> FloatArray:
        return self.values if self.origin is None else self.values + self.origin[self.indices]


def stacked(matrices: Sequence[Matrix]) -> Matrix:
    """The rows of several matrices of the same kind, one below the other.

    Examples
    --------
    >>> import numpy as np
    >>> one = BinaryCSR(np.array([0, 2]), np.array([0, 2]), n_cols=3)
    >>> stacked([one, one]).matvec(np.array([1.0, 10.0, 100.0]))
    array([101., 101.])
    """
    if len(matrices) == 1:
        return matrices[0]
    arrays = [matrix.to_arrays() for matrix in matrices]
    joined = {
        name: np.concatenate([own[name] for own in arrays])
        for name in arrays[0] if name != "indptr"
    }  # fmt: skip
    if "indptr" in arrays[0]:
        ends = [own["indptr"].astype(np.int64) for own in arrays]
        starts = np.cumsum([0, *(int(end[-1]) for end in ends)])
        shifted = [end[1:] + start for end, start in zip(ends, starts, strict=False)]
        joined["indptr"] = np.concatenate([[0], *shifted])
    return matrices[0].with_arrays(joined)


def beside(X: BinaryCSR, values: FloatArray) -> FloatCSR:
    """The columns of X and after them those of ``values``, shape (n, q), whose zeros are left out.

    Examples
    --------
    >>> import numpy as np
    >>> X = BinaryCSR(np.array([0, 2, 3]), np.array([0, 2, 1]), n_cols=3)
    >>> beside(X, np.array([[0.5], [0.0]])).to_scipy().toarray()
    array([[1. , 0. , 1. , 0.5],
           [0. , 1. , 0. , 0. ]])
    """
    filled = values != 0
    start = X.indptr.astype(np.int64)
    ones, more = start[1:] - start[:-1], filled.sum(axis=1)
    indptr = np.concatenate([[0], np.cumsum(ones + more)])
    n_cols = X.n_cols + values.shape[1]
    indices, entries = np.empty(indptr[-1], dtype=index_dtype(n_cols)), np.ones(indptr[-1])
    indices[np.repeat(indptr[:-1] - start[:-1], ones) + np.arange(X.nnz)] = X.indices
    row, column = np.nonzero(filled)
    place = np.repeat(indptr[1:] - more, more) + (np.cumsum(filled, axis=1) - 1)[row, column]
    indices[place], entries[place] = X.n_cols + column, values[row, column]
    return FloatCSR(indptr, indices, entries, n_cols)


_NO_VALUES = np.empty(0)


def _take_rows(
    X: CSR, values: FloatArray, rows: IndexArray
) -> tuple[NDArray[np.int64], IndexArray, FloatArray]:
    """The arrays of the rows at these positions, copied on all threads."""
    picked = _positions(rows)
    indptr = np.zeros(len(picked) + 1, dtype=np.int64)
    np.cumsum(np.diff(X.indptr)[picked], out=indptr[1:])
    indices = np.empty(indptr[-1], dtype=X.indices.dtype)
    new_values = np.empty(indptr[-1] if len(values) else 0)

    def one_chunk(start: int, stop: int) -> None:
        kernels.copy_rows(
            X.indptr, X.indices, values, picked, start, stop, indptr, indices, new_values
        )

    map_chunks(one_chunk, len(picked))
    return indptr, indices, new_values


def _positions(rows: IndexArray) -> NDArray[np.int64]:
    return np.ascontiguousarray(rows, dtype=np.int64)
