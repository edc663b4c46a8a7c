"""Which rows an estimate can use: those in the domain, in groups with enough cases."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import Cohort
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError

MIN_PATIENTS = 2  # diagnosed patients a group needs


def domain_rows(domain: Any, n: int) -> NDArray[np.int64]:
    """Positions of the rows to estimate on: all, or those where the mask is true."""
    if domain is None:
        return np.arange(n)
    mask = np.asarray(domain)
    if mask.shape != (n,) or mask.dtype != bool:
        raise InvalidInputError(
            f"domain must be a boolean array of shape ({n},), got {mask.dtype} of {mask.shape}"
        )
    return np.flatnonzero(mask)


def estimable(cohort: Cohort) -> tuple[Cohort, NDArray[np.int64]]:
    """The rows of groups with enough diagnosed patients; says which groups have not."""
    hit = cohort.diagnosed == 1
    units = np.arange(cohort.n) if cohort.clusters is None else cohort.clusters
    pairs = np.unique(np.column_stack([cohort.groups[hit], units[hit]]), axis=0)
    patients = np.bincount(pairs[:, 0], minlength=cohort.n_groups)
    enough = np.flatnonzero(patients >= MIN_PATIENTS)
    if len(enough) == cohort.n_groups:
        return cohort, np.arange(cohort.n)
    thin = [cohort.group_names[k] for k in np.flatnonzero(patients < MIN_PATIENTS)]
    if len(enough) < 2:
        raise TooFewCasesError(
            f"fewer than two groups have {MIN_PATIENTS} diagnosed patients or more (too few in "
            f"{', '.join(thin)}); merge groups"
        )
    warnings.warn(
        f"no estimate for {', '.join(thin)}: fewer than {MIN_PATIENTS} diagnosed patients; rows "
        "that need these groups (also in a complement) are withheld; merge them with another",
        DataWarning,
        stacklevel=3,
    )
    rows = np.flatnonzero(np.isin(cohort.groups, enough))
    part = cohort.take(rows)
    number = np.zeros(cohort.n_groups, dtype=cohort.groups.dtype)
    number[enough] = np.arange(len(enough))
    return Cohort(
        X=part.X, diagnosed=part.diagnosed, groups=number[part.groups],
        group_names=tuple(cohort.group_names[k] for k in enough), weights=part.weights,
        clusters=part.clusters, strata=part.strata, psus=part.psus,
        feature_names=part.feature_names, ids=part.ids,
    ), rows  # fmt: skip
