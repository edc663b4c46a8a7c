"""How often every feature occurs among some rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.cohort import Cohort, CohortPart
from relprev.matrix import Dense, Matrix
from relprev.matrix.csr import CSR


def feature_counts(cohort: CohortPart, mask: NDArray[Any]) -> FloatArray:
    """Rows of the mask in which each feature is not zero, shape (p,).

    Examples
    --------
    >>> import numpy as np
    >>> from relprev import as_cohort
    >>> cohort = as_cohort(np.eye(4), [1, 0, 0, 1], groups=["a", "a", "b", "b"])
    >>> feature_counts(cohort.in_memory(), cohort.diagnosed == 1)
    array([1., 0., 0., 1.])
    """
    X: Matrix = cohort.X
    present = X.presence() if isinstance(X, CSR) else Dense((X.to_scipy() != 0).astype(float))
    return np.rint(present.rmatvec(np.asarray(mask, dtype=float)))


def feature_labels(cohort: Cohort) -> list[str]:
    """Names of the features, or their column numbers."""
    if cohort.feature_names is not None:
        return list(cohort.feature_names)
    return [f"column {j}" for j in range(cohort.n_cols)]
