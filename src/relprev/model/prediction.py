"""What a fitted model is asked about: rows with the features of ``fit``, in its groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.matrix import Matrix, as_matrix


def checked_matrix(X: Any, n_features: int, fitted_names: Sequence[str] | None) -> Matrix:
    """X with as many columns as in ``fit`` and, where both are known, the same names.

    Examples
    --------
    >>> checked_matrix(np.zeros((3, 2)), 2, None).n_rows
    3
    """
    found, names = as_matrix(X.X if isinstance(X, Cohort) else X)
    if found.n_cols != n_features:
        raise InvalidInputError(f"X has {found.n_cols} features, expected {n_features} as in fit")
    if names is not None and fitted_names is not None and list(names) != list(fitted_names):
        raise InvalidInputError(
            "the columns of X differ from those in fit, in name or order; give the same columns"
        )
    return found


def group_numbers(groups: Any, fitted_names: tuple[str, ...], n_rows: int) -> NDArray[np.int64]:
    """Position of each row's group among those of ``fit``, shape (n,).

    Examples
    --------
    >>> group_numbers(["b", "a", "b"], ("a", "b"), 3)
    array([1, 0, 1])
    """
    codes, found = pd.factorize(np.asarray(groups, dtype=object), use_na_sentinel=False)
    labels = [str(label) for label in found]
    if len(codes) != n_rows:
        raise InvalidInputError(f"groups has {len(codes)} values, X has {n_rows} rows")
    unknown = sorted(set(labels) - set(fitted_names))
    if unknown:
        raise InvalidInputError(f"groups must be among {fitted_names}, got {unknown}")
    position = {name: k for k, name in enumerate(fitted_names)}
    return np.array([position[label] for label in labels], dtype=np.int64)[codes]
