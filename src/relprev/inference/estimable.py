"""Which rows can be used for an estimate: those in the domain, in groups with enough cases."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import Cohort
from relprev.cohort.summary import MIN_PATIENTS, diagnosed_patients
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.messages import Message

if TYPE_CHECKING:
    from relprev.inference.debiased import DebiasedPURPLE

__all__ = ["MIN_PATIENTS", "domain_rows", "estimable", "rows_used"]


def domain_rows(domain: Any, n: int) -> NDArray[np.int64]:
    """Positions of the rows to estimate on: those where the mask is true."""
    mask = np.asarray(domain)
    if mask.shape != (n,) or mask.dtype != bool:
        raise InvalidInputError(
            f"domain must be a boolean array of shape ({n},), got shape {mask.shape} "
            f"and type {mask.dtype}"
        )
    if not mask.any():
        raise InvalidInputError("domain must hold some rows, but it is false for all of them")
    return np.flatnonzero(mask)


def estimable(cohort: Cohort) -> tuple[Cohort, NDArray[np.int64]]:
    """The cohort of groups with enough diagnosed patients, and its rows; warns about the others."""
    patients = diagnosed_patients(cohort)
    enough = np.flatnonzero(patients >= MIN_PATIENTS)
    if len(enough) == cohort.n_groups:
        return cohort, np.arange(cohort.n)
    # Without their numbers: none and one must read alike.
    thin = [cohort.group_names[k] for k in np.flatnonzero(patients < MIN_PATIENTS)]
    if len(enough) < 2:
        raise TooFewCasesError(
            Message(
                "fewer than two groups have enough diagnosed patients (too few in {groups}); merge "
                "groups",
                groups=thin,
            )
        )
    said = Message(
        "no estimate for {groups}: too few diagnosed patients; rows that need these groups (also "
        "in a complement) are withheld; merge them with another",
        groups=thin,
    )
    warnings.warn(DataWarning(said), stacklevel=3)
    rows = np.flatnonzero(np.isin(cohort.groups, enough))
    return cohort.take(rows).with_groups(enough), rows


def rows_used(fitted: DebiasedPURPLE, cohort: Cohort) -> Cohort:
    """The rows and groups that an estimate rests on, of the cohort that it was fitted to."""
    if fitted.n_rows_in_ != cohort.n or fitted.groups_ != cohort.group_names:
        raise InvalidInputError(
            "the cohort is not the one that the estimator was fitted to: that had "
            f"{fitted.n_rows_in_:,} rows in the groups {list(fitted.groups_)}, this one has "
            f"{cohort.n:,} in {list(cohort.group_names)}"
        )
    names = fitted.moments_.names
    kept = cohort if len(fitted.rows_) == cohort.n else cohort.take(fitted.rows_)
    if len(names) == kept.n_groups:
        return kept
    return kept.with_groups(np.array([kept.group_names.index(name) for name in names]))
