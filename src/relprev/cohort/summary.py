"""What a cohort and a model of it say of every group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from relprev.cohort.cohort import Cohort
from relprev.estimates import GroupSummary
from relprev.groups import group_counts, group_sums

FloatArray = NDArray[np.float64]


def row_weights(cohort: Cohort) -> FloatArray:
    """Weights of the rows, ones where the cohort has none; shape (n,)."""
    return np.ones(cohort.n) if cohort.weights is None else np.asarray(cohort.weights)


def group_means(values: FloatArray, cohort: Cohort) -> FloatArray:
    """Weighted mean of ``values`` in every group, shape (n_groups,); NaN without rows."""
    weights, k = row_weights(cohort), cohort.n_groups
    with np.errstate(invalid="ignore"):
        return group_sums(cohort.groups, weights * values, k) / group_sums(
            cohort.groups, weights, k
        )


def summarise(
    cohort: Cohort, condition: FloatArray, diagnosis_rate: FloatArray | None = None
) -> GroupSummary:
    """Summary of every group.

    Parameters
    ----------
    cohort : Cohort
    condition : array of shape (n_groups,)
        Mean p(y=1|x) of every group, up to a common factor.
    diagnosis_rate : array of shape (n_groups,), optional
        c_g up to a common factor. Default: diagnosed share over ``condition``.
    """
    diagnosed, k = cohort.diagnosed == 1, cohort.n_groups
    share = group_means(diagnosed.astype(float), cohort)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = share / condition if diagnosis_rate is None else diagnosis_rate
    return GroupSummary(
        names=cohort.group_names,
        weight=group_sums(cohort.groups, row_weights(cohort), k),
        diagnosed_rate=share,
        condition=condition,
        diagnosis_rate=rate,
        n=group_counts(cohort.groups, k),
        n_diagnosed=group_counts(cohort.groups[diagnosed], k),
    )
