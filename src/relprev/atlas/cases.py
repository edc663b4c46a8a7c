"""Visits at which conditions are recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from relprev.cohort import Cohort
from relprev.cohort.part import CohortPart
from relprev.inference.sampling import SamplingDesign

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cases:
    """Visits with any of several conditions, and which have which.

    Parameters
    ----------
    rows : integer array of shape (m,)
        Their positions in the cohort, ascending.
    of : dict of condition to integer array
        Positions in ``rows``.
    patients : dict of condition to integer array of shape (K,)
        Patients of every group, or visits where patients are not known.
    design : SamplingDesign
        Of these visits.
    """

    rows: Positions
    of: dict[str, Positions]
    patients: dict[str, NDArray[np.int64]]
    design: SamplingDesign


def cases_of(
    cohort: Cohort, design: SamplingDesign, groups: NDArray[Any],
    conditions: Mapping[str, NDArray[np.int64]],
) -> Cases:  # fmt: skip
    """Find the cases of conditions, given the columns of each."""
    found = cohort.map(_rows_with, list(conditions.values()), each=cohort.first_rows)
    each = [np.concatenate([part[k] for part in found]) for k in range(len(conditions))]
    rows = np.unique(np.concatenate(each))
    return Cases(
        rows,
        {name: np.searchsorted(rows, own) for name, own in zip(conditions, each, strict=True)},
        {
            name: _patients(own, groups, design.patient, cohort.n_groups)
            for name, own in zip(conditions, each, strict=True)
        },
        design.take(rows),
    )


def _rows_with(
    part: CohortPart, first_row: int, conditions: list[NDArray[np.int64]]
) -> list[Positions]:
    X = sparse.csc_array(part.X.to_scipy())
    return [np.unique(X[:, columns].indices).astype(np.int64) + first_row for columns in conditions]


def _patients(
    rows: Positions, groups: NDArray[Any], patient: NDArray[Any] | None, n_groups: int
) -> NDArray[np.int64]:
    """How many patients, or visits, of every group are among the rows, shape (K,)."""
    if patient is None:
        return np.bincount(groups[rows], minlength=n_groups)
    pairs = np.unique(np.column_stack([groups[rows], patient[rows]]), axis=0)
    return np.bincount(pairs[:, 0].astype(np.int64), minlength=n_groups)
