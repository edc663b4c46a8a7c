"""Turn what users have (numpy, scipy.sparse, pandas, polars) into a design matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relprev.arrays import LARGEST
from relprev.errors import InvalidInputError
from relprev.lazy import OnDemand
from relprev.matrix.base import Matrix
from relprev.matrix.csr import BinaryCSR, FloatCSR
from relprev.matrix.dense import Dense
from relprev.messages import Count, Message, Number

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = OnDemand("scipy.sparse")

MAX_NAMED = 5  # names listed in a message before "and k more"


def as_matrix(X: Any) -> tuple[Matrix, tuple[str, ...] | None]:
    """Design matrix and feature names (None if the input has no names).

    Sparse input that holds only ones becomes `BinaryCSR`, other sparse input `FloatCSR`,
    everything else `Dense`. Explicit zeros in sparse input are dropped, and duplicate
    entries are summed.

    Parameters
    ----------
    X : array, sparse matrix, pandas or polars frame, or `Matrix`, shape (n, p)
        A `Matrix` is returned unchanged.

    Returns
    -------
    Matrix of shape (n, p), and tuple of str or None
        Names are those of a frame's columns.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> as_matrix(sp.eye_array(3, format="csr"))[0]
    <BinaryCSR 3 x 3, 3 stored, 0.0 MiB>
    """
    if isinstance(X, Matrix):
        return X, None
    if sp.issparse(X):
        return _from_sparse(X), None
    names = _column_names(X)
    values = _frame_values(X) if names is not None else np.asarray(X)
    if values.dtype.kind not in "buif":
        raise InvalidInputError(
            f"X must be numeric, got an array of type {values.dtype}; encode text and dates as "
            "numbers (for categories: one 0/1 column each)"
        )
    if values.ndim != 2:
        raise InvalidInputError(
            f"X must have two dimensions (rows, features), got {values.ndim}; "
            "for a single feature use X.reshape(-1, 1)"
        )
    values = values.astype(np.float64, copy=False)
    _check_finite(values, values, names)
    return Dense(values), names


def _from_sparse(X: Any) -> Matrix:
    if X.dtype.kind not in "buif":
        raise InvalidInputError(f"X must be numeric, got a sparse matrix of type {X.dtype}")
    if X.ndim != 2:
        raise InvalidInputError(f"X must have two dimensions (rows, features), got {X.ndim}")
    csr = sp.csr_array(X)
    if csr.dtype.kind == "f":
        _check_finite(csr.data, csr, None)
    if not csr.has_canonical_format or not csr.data.all():
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    if csr.data.dtype == bool or bool((csr.data == 1).all()):
        return BinaryCSR(csr.indptr, csr.indices, csr.shape[1])
    return FloatCSR(csr.indptr, csr.indices, csr.data.astype(np.float64), csr.shape[1])


def _column_names(X: Any) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def _frame_values(X: Any) -> np.ndarray:
    """Values of a pandas or polars frame, NaN where missing; an error for non-numeric columns."""
    columns = {str(name): X[name] for name in X.columns}
    bad = [f"{name!r} ({c.dtype})" for name, c in columns.items() if not _is_numeric(c)]
    if bad:
        raise InvalidInputError(
            f"X has columns that are not numeric: {listed(bad)}; drop them or encode them as "
            "numbers (for categories: one 0/1 column each)"
        )
    if not columns:
        return np.empty((len(X), 0))
    return np.column_stack([_column_values(column) for column in columns.values()])


def _is_numeric(column: Any) -> bool:
    if isinstance(column, pd.Series):
        return pd.api.types.is_numeric_dtype(column.dtype)  # true for booleans too
    return bool(column.dtype.is_numeric() or str(column.dtype) == "Boolean")  # polars


def _column_values(column: Any) -> np.ndarray:
    if isinstance(column, pd.Series):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(column.to_list() if column.has_nulls() else column.to_numpy(), np.float64)


def _check_finite(values: np.ndarray, X: Any, names: tuple[str, ...] | None) -> None:
    if values.dtype.kind != "f" or not values.size:
        return
    if float(values.min()) >= -LARGEST and float(values.max()) <= LARGEST:  # false for NaN too
        return
    if sp.issparse(X):
        coo = X.tocoo()
        bad = ~(np.abs(coo.data) <= LARGEST)
        columns, first_row = np.unique(coo.col[bad]), int(coo.row[bad].min())
        count = int(bad.sum())
    else:
        bad = ~(np.abs(values) <= LARGEST)
        columns = np.flatnonzero(bad.any(axis=0))
        first_row = int(np.flatnonzero(bad.any(axis=1))[0])
        count = int(bad.sum())
    labels = [repr(names[j]) if names else str(j) for j in columns]
    found: Count | Message = Count(count, "missing or infinite value")
    if np.isfinite(values).all():
        found = Message(
            "{values} beyond {most}", values=Count(count, "value"), most=Number(LARGEST)
        )
    raise InvalidInputError(
        Message(
            "X has {found}, first in row {first}, in columns {columns}; fill them in or drop those "
            "rows or columns",
            found=found, first=Count(first_row), columns=listed(labels),
        )
    )  # fmt: skip


def listed(labels: list[str]) -> str:
    """The first few labels, and how many more there are."""
    shown = ", ".join(labels[:MAX_NAMED])
    more = len(labels) - MAX_NAMED
    return shown if more <= 0 else f"{shown} and {more} more"
