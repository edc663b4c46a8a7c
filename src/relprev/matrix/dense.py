"""Dense design: a C-ordered float64 array.

Its loops are our own, not BLAS, so that results do not depend on the number of BLAS threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.lazy import OnDemand
from relprev.matrix.base import ABREAST, Columns, IndexArray, Matrix

if TYPE_CHECKING:
    from relprev.matrix import kernels
else:
    kernels = OnDemand("relprev.matrix.kernels")


class Dense(Matrix):
    """Dense design matrix.

    Parameters
    ----------
    values : array of shape (n_rows, n_cols)
        The matrix, less its origin.
    origin : array of shape (n_cols,), optional
        What was subtracted from each row. Default: nothing.

    Examples
    --------
    >>> import numpy as np
    >>> Dense(np.eye(2)).rmatvec(np.array([3.0, 4.0]))
    array([3., 4.])
    >>> Dense(np.eye(2)).about(np.array([0.5, 0.0])).values
    array([[ 0.5,  0. ],
           [-0.5,  1. ]])
    >>> Dense(np.eye(2)).movable()
    array([ True,  True])
    """

    def __init__(self, values: FloatArray, origin: FloatArray | None = None) -> None:
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.origin = origin
        self.shape = self.values.shape

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    @property
    def nnz(self) -> int:
        return self.values.size

    def dot(self, w: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        kernels.dense_dot(self.values, w, start, stop, out)

    def add_tdot(self, r: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        kernels.dense_add_tdot(self.values, r, start, stop, out, 1)

    def add_tdot_sq(self, h: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        kernels.dense_add_tdot(self.values, h, start, stop, out, 2)

    def dots(self, W: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        if W.shape[1] % ABREAST:
            return super().dots(W, start, stop, out)
        return kernels.dense_dots(self.values, W, start, stop, out)

    def add_tdots(self, R: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        if out.shape[1] % ABREAST:
            return super().add_tdots(R, start, stop, out)
        return kernels.dense_add_tdots(self.values, R, start, stop, out)

    def take(self, rows: IndexArray) -> Dense:
        return Dense(self.values[rows], self.origin)

    def columns(self, rows: IndexArray | None = None) -> Columns:
        values = self.values if rows is None else self.values[rows]
        n, p = values.shape
        row_of = np.tile(np.arange(n, dtype=np.int32), p)
        return Columns(np.arange(p + 1, dtype=np.int64) * n, row_of, values.T.ravel())

    def nonzero_squares(self) -> tuple[FloatArray, IndexArray]:
        return (self.values**2).sum(axis=0), (self.values != 0).sum(axis=0)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"values": self.values}

    def with_arrays(self, arrays: dict[str, np.ndarray]) -> Dense:
        return Dense(arrays["values"], self.origin)

    def movable(self) -> NDArray[np.bool_]:
        """Columns that `about` can shift, shape (n_cols,): all of them."""
        return np.ones(self.n_cols, dtype=bool)

    def about(self, origin: FloatArray) -> Dense:
        """The matrix whose products are those of ``X - origin``; `to_scipy` still gives X."""
        return Dense(self.values - origin, origin)

    def to_scipy(self) -> FloatArray:
        return self.values if self.origin is None else self.values + self.origin
