"""The interface that every design matrix offers to the model.

Three products are all the model needs. With rows i, columns j:

    dot            out_i  = sum_j X_ij w_j          for start <= i < stop
    add_tdot       out_j += sum_i X_ij r_i          over start <= i < stop
    add_tdot_sq    out_j += sum_i X_ij^2 h_i        over start <= i < stop

(the first two also for several w or r at once, `dots` and `add_tdots`), besides
selecting rows (splits) and the columns of a few rows (coordinate descent).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.parallel.threads import blocks, map_chunks

IndexArray = NDArray[np.integer[Any]]

ABREAST = 4  # predictors that the sparse loops process at once


@dataclass(frozen=True)
class Columns:
    """Compressed columns: column j holds entries ``indptr[j]:indptr[j + 1]``.

    Parameters
    ----------
    indptr : int64 array of shape (n_cols + 1,)
        Where each column starts, and where the last one ends.
    rows : int32 array of shape (nnz,)
        Row of each entry.
    values : float64 array of shape (nnz,), or None
        None when every stored entry is one.

    Examples
    --------
    >>> from relprev.matrix import Dense
    >>> Dense(np.array([[1.0, 2.0], [3.0, 4.0]])).columns().values
    array([1., 3., 2., 4.])
    """

    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: FloatArray | None


class Matrix(ABC):
    """A design matrix X of shape (n_rows, n_cols): the interface that all kinds share.

    Notes
    -----
    The products: :mod:`relprev.matrix.base`.

    Examples
    --------
    >>> from relprev.matrix import as_matrix
    >>> X, _ = as_matrix(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]))
    >>> X.matvec(np.array([1.0, 10.0])), X.rmatvec(np.ones(3)), X.rmatvec_sq(np.ones(3))
    (array([10.,  2., 30.]), array([2., 4.]), array([ 4., 10.]))

    Products over some of the rows write into, or add to, an existing array:

    >>> out = np.zeros(2)
    >>> X.dot(np.array([1.0, 10.0]), start=1, stop=3, out=out)
    >>> out
    array([ 2., 30.])
    >>> sums, squares = np.zeros(2), np.zeros(2)
    >>> X.add_tdot(np.ones(2), start=1, stop=3, out=sums)
    >>> X.add_tdot_sq(np.ones(2), start=1, stop=3, out=squares)
    >>> sums, squares
    (array([2., 3.]), array([4., 9.]))

    Rows, columns and other forms:

    >>> X.take(np.array([0, 2])).to_scipy()
    array([[0., 1.],
           [0., 3.]])
    >>> X.columns(np.array([0, 1])).values
    array([0., 2., 1., 0.])
    >>> X.nonzero_squares(), X.typical_size()
    ((array([ 4., 10.]), array([1, 2])), array([2.        , 2.23606798]))
    >>> X.size_sums()[0], X.with_arrays(X.to_arrays()).shape == X.shape
    (array([ 4., 10.]), True)
    """

    shape: tuple[int, int]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_cols(self) -> int:
        """Number of columns."""
        return self.shape[1]

    def __len__(self) -> int:
        return self.n_rows

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""

    @property
    @abstractmethod
    def nnz(self) -> int:
        """Number of stored entries."""

    @abstractmethod
    def dot(self, w: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Write ``X[start:stop] @ w`` into ``out``, shape (stop - start,)."""

    @abstractmethod
    def add_tdot(self, r: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Add ``X[start:stop].T @ r`` to ``out``, shape (n_cols,)."""

    @abstractmethod
    def add_tdot_sq(self, h: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Add ``(X[start:stop] ** 2).T @ h`` to ``out``, shape (n_cols,)."""

    def dots(self, W: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Write ``X[start:stop] @ W``, transposed, into ``out``.

        Parameters
        ----------
        W : array of shape (n_cols, q)
            One column per predictor; see `side_by_side`.
        start, stop : int
            Rows to use.
        out : array of shape (q, stop - start), or with more columns
            Overwritten with the product.

        Examples
        --------
        >>> from relprev.matrix import Dense
        >>> out = np.zeros((2, 1))
        >>> Dense(np.array([[1.0, 2.0]])).dots(np.array([[1.0, 0.0], [1.0, 5.0]]), 0, 1, out)
        >>> out
        array([[ 3.],
               [10.]])
        """
        for k in range(W.shape[1]):
            self.dot(W[:, k], start, stop, out[k])

    def add_tdots(self, R: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Add ``X[start:stop].T @ R.T`` to ``out``.

        Parameters
        ----------
        R : array of shape (q, stop - start), or with more columns
            One row per predictor.
        start, stop : int
            Rows to use.
        out : array of shape (n_cols, q)
            The product is added to it.

        Examples
        --------
        >>> from relprev.matrix import Dense
        >>> out = np.zeros((2, 2))
        >>> Dense(np.array([[1.0, 2.0]])).add_tdots(np.array([[1.0], [10.0]]), 0, 1, out)
        >>> out
        array([[ 1., 10.],
               [ 2., 20.]])
        """
        for k in range(out.shape[1]):
            self.add_tdot(R[k], start, stop, out[:, k])

    @abstractmethod
    def take(self, rows: IndexArray) -> Matrix:
        """The rows at these positions, shape (m,), as a matrix of the same kind."""

    @abstractmethod
    def columns(self, rows: IndexArray | None = None) -> Columns:
        """The matrix by columns, or only the rows at these positions, numbered 0 to m - 1."""

    @abstractmethod
    def nonzero_squares(self) -> tuple[FloatArray, IndexArray]:
        """Sum of squares and number of each column's non-zero values, shape (n_cols,) each."""

    def size_sums(self) -> tuple[FloatArray, IndexArray]:
        """Two sums, shape (n_cols,) each, from which `root_mean_square` gets the typical size.

        Added over matrices stacked on one another, they give the typical size in the whole stack.
        """
        return self.nonzero_squares()

    def typical_size(self) -> FloatArray:
        """Root mean square of each column's non-zero values, shape (n_cols,); 1 if it has none."""
        return root_mean_square(*self.size_sums())

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """The arrays that make up the matrix, by name; which ones depends on the kind."""

    @abstractmethod
    def with_arrays(self, arrays: dict[str, np.ndarray]) -> Matrix:
        """A matrix of the same kind and number of columns from arrays as `to_arrays` gives them."""

    @abstractmethod
    def to_scipy(self) -> Any:
        """The matrix for other libraries: a scipy.sparse.csr_array, or an array if it is dense."""

    def matvec(self, w: FloatArray) -> FloatArray:
        """The product ``X @ w``, shape (n_rows,), on all threads."""
        out = np.empty(self.n_rows)
        map_chunks(
            lambda a, b: [self.dot(w, lo, hi, out[lo:hi]) for lo, hi in blocks(a, b)], self.n_rows
        )
        return out

    def rmatvec(self, r: FloatArray) -> FloatArray:
        """The product ``X.T @ r``, shape (n_cols,), on all threads."""
        return self._sum_chunks(self.add_tdot, r)

    def rmatvec_sq(self, h: FloatArray) -> FloatArray:
        """The product ``(X ** 2).T @ h``, shape (n_cols,), on all threads."""
        return self._sum_chunks(self.add_tdot_sq, h)

    def _sum_chunks(self, product: Any, r: FloatArray) -> FloatArray:
        def one(start: int, stop: int) -> FloatArray:
            out = np.zeros(self.n_cols)
            product(r[start:stop], start, stop, out)
            return out

        return (
            np.sum(map_chunks(one, self.n_rows), axis=0) if self.n_rows else np.zeros(self.n_cols)
        )

    def __repr__(self) -> str:
        n, p = self.shape
        size = f"{self.nbytes / 2**20:,.1f} MiB"
        return f"<{type(self).__name__} {n:,} x {p:,}, {self.nnz:,} stored, {size}>"


def root_mean_square(sum_of_squares: FloatArray, count: IndexArray) -> FloatArray:
    """Root mean square of each column; 1 if it has no non-zero value."""
    some = count > 0
    return np.sqrt(np.where(some, sum_of_squares, 1.0) / np.where(some, count, 1.0))


def side_by_side(coefficients: FloatArray) -> FloatArray:
    """Coefficients of q predictors, shape (q, p), as the W of `Matrix.dots`.

    Two or more are padded with zeros to a multiple of `ABREAST`.

    Examples
    --------
    >>> side_by_side(np.ones((3, 2)))
    array([[1., 1., 1., 0.],
           [1., 1., 1., 0.]])
    """
    q, p = coefficients.shape
    W = np.zeros((p, filled_up(q)))
    W[:, :q] = coefficients.T
    return W


def filled_up(q: int) -> int:
    """Number of predictors after padding: ``q`` if it is 1, else a multiple of `ABREAST`.

    Examples
    --------
    >>> filled_up(1), filled_up(3), filled_up(5)
    (1, 4, 8)
    """
    return q if q == 1 else -(-q // ABREAST) * ABREAST
