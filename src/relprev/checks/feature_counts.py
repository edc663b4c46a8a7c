"""Count the rows and patients that have each feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.cohort import Cohort, CohortPart
from relprev.matrix import BinaryCSR, Dense, Matrix
from relprev.matrix.csr import CSR

Whole = NDArray[np.integer[Any]]


def feature_counts(cohort: CohortPart, mask: NDArray[Any]) -> FloatArray:
    """Number of rows in the mask where each feature is nonzero, shape (p,).

    Examples
    --------
    >>> import numpy as np
    >>> from relprev import as_cohort
    >>> cohort = as_cohort(np.eye(4), [1, 0, 0, 1], groups=["a", "a", "b", "b"])
    >>> feature_counts(cohort, cohort.diagnosed == 1)
    array([1., 0., 0., 1.])
    """
    X: Matrix = cohort.X
    present = X.presence() if isinstance(X, CSR) else Dense((X.to_scipy() != 0).astype(float))
    return np.rint(present.rmatvec(np.asarray(mask, dtype=float)))


def numeric_features(cohort: Cohort) -> NDArray[np.bool_]:
    """Which features hold anything but 0 and 1, shape (p,): numbers, which no visit "has".

    Examples
    --------
    >>> from relprev import as_cohort
    >>> numeric_features(as_cohort([[1.0, 37.5], [0.0, 38.0]], [1, 0], groups=["a", "b"]))
    array([False,  True])
    """
    return np.logical_or.reduce(cohort.map(_numeric))


def _numeric(part: CohortPart) -> NDArray[np.bool_]:
    X: Matrix = part.X
    if isinstance(X, BinaryCSR):
        return np.zeros(part.n_cols, dtype=bool)
    held = X.to_scipy()
    if isinstance(X, Dense):
        return np.asarray(((held != 0) & (held != 1)).any(axis=0))
    return np.bincount(held.indices[held.data != 1], minlength=part.n_cols) > 0


def patient_counts(cohort: Cohort, features: Whole) -> dict[str, list[int]]:
    """Numbers of patients with each feature, and of those diagnosed in a row that has it.

    Returns columns ``patients`` and ``patients_diagnosed``, or none if patients are unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from relprev import as_cohort
    >>> cohort = as_cohort(np.ones((4, 1)), [1, 0, 0, 1], groups=["a", "a", "b", "b"],
    ...                    clusters=[7, 7, 7, 8])
    >>> patient_counts(cohort, np.array([0]))
    {'patients': [2], 'patients_diagnosed': [2]}
    """
    if "clusters" not in cohort.fields:
        return {}
    parts = cohort.map(_who_has, features)
    whole = [[len(np.unique(np.concatenate(who))) for who in zip(*found, strict=True)]
             for found in zip(*parts, strict=True)]  # fmt: skip
    return dict(zip(("patients", "patients_diagnosed"), whole, strict=True))


def _who_has(cohort: CohortPart, features: Whole) -> tuple[list[Whole], list[Whole]]:
    """Patients of a part with each feature, and the diagnosed among them."""
    assert cohort.clusters is not None
    everybody, diagnosed = [], []
    for j in features:
        has = cohort.X.matvec((np.arange(cohort.n_cols) == j).astype(float)) != 0
        everybody.append(np.unique(cohort.clusters[has]))
        diagnosed.append(np.unique(cohort.clusters[has & (cohort.diagnosed == 1)]))
    return everybody, diagnosed


def feature_labels(cohort: Cohort) -> list[str]:
    """Names of the features, or their column numbers."""
    if cohort.feature_names is not None:
        return list(cohort.feature_names)
    return [f"column {j}" for j in range(cohort.n_cols)]
