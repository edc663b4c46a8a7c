"""A cohort of other visits with its groups in the order of a fitted model."""

from __future__ import annotations

import numpy as np

from relprev.cohort.cohort import Cohort
from relprev.errors import InvalidInputError


def aligned(cohort: Cohort, names: tuple[str, ...], n_cols: int, parameter: str) -> Cohort:
    """The cohort with its groups in the order of ``names``: rates are looked up by number."""
    if cohort.n_cols != n_cols:
        raise InvalidInputError(
            f"{parameter} has {cohort.n_cols} features, expected {n_cols} as in fit"
        )
    if set(cohort.group_names) != set(names):
        raise InvalidInputError(
            f"the groups of {parameter} differ from those in fit: got {cohort.group_names}, "
            f"expected {names}"
        )
    if cohort.group_names == names:
        return cohort
    return cohort.with_groups(np.array([cohort.group_names.index(name) for name in names]))
