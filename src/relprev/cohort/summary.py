"""What a cohort and a model of it say of every group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts, group_sums, numbered
from relprev.cohort.cohort import Cohort
from relprev.cohort.partitioned import AnyCohort
from relprev.estimates import GroupSummary
from relprev.matrix import Matrix
from relprev.partitions import total


def row_weights(cohort: Cohort) -> FloatArray:
    """Weights of the rows, ones where the cohort has none; shape (n,)."""
    return np.ones(cohort.n) if cohort.weights is None else np.asarray(cohort.weights)


def total_weight(cohort: Cohort) -> float:
    """Sum of the rows' weights."""
    return float(row_weights(cohort).sum())


def group_means(values: FloatArray, cohort: Cohort) -> FloatArray:
    """Weighted mean of ``values`` in every group, shape (n_groups,); NaN without rows."""
    weights, k = row_weights(cohort), cohort.n_groups
    with np.errstate(invalid="ignore"):
        return group_sums(cohort.groups, weights * values, k) / group_sums(
            cohort.groups, weights, k
        )


def summarise(
    cohort: AnyCohort,
    condition: FloatArray | Callable[[Matrix], FloatArray],
    diagnosis_rate: FloatArray | None = None,
) -> GroupSummary:
    """Summary of every group.

    Parameters
    ----------
    cohort : Cohort or PartitionedCohort
    condition : array of shape (n_groups,), or function of X
        Mean p(y=1|x) of every group, or p(y=1|x) of every row, up to a common factor.
    diagnosis_rate : array of shape (n_groups,), optional
        c_g up to a common factor. Default: diagnosed share over ``condition``.
    """
    predict = condition if callable(condition) else None
    n, n_diagnosed, weight, recorded, sick = total(cohort.map(_totals, predict))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sick / weight if callable(condition) else condition
        share = recorded / weight
        rate = share / mean if diagnosis_rate is None else diagnosis_rate
    return GroupSummary(
        names=cohort.group_names, weight=weight, diagnosed_rate=share, condition=mean,
        diagnosis_rate=rate, n=n, n_diagnosed=n_diagnosed,
    )  # fmt: skip


def group_totals(cohort: AnyCohort) -> tuple[NDArray[Any], ...]:
    """By group: rows, diagnosed rows, weight, weight of the diagnosed."""
    return total(cohort.map(_totals, None))[:4]


def group_patients(cohort: AnyCohort) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """By group: patients, and patients diagnosed there; nothing where patients are not known."""
    clusters, groups = cohort.gathered("clusters"), cohort.gathered("groups")
    diagnosed = cohort.gathered("diagnosed")
    if clusters is None or groups is None or diagnosed is None:
        return None
    k = cohort.n_groups
    pair = numbered(clusters)[1] * np.int64(k) + groups

    def patients(pairs: NDArray[Any]) -> NDArray[Any]:
        return group_counts(np.unique(pairs) % k, k)

    return patients(pair), patients(pair[diagnosed == 1])


def _totals(
    cohort: Cohort, predict: Callable[[Matrix], FloatArray] | None
) -> tuple[NDArray[Any], ...]:
    """By group: rows, diagnosed rows, weight, weight of the diagnosed, weighted p(y=1|x)."""
    g, k, hit = cohort.groups, cohort.n_groups, cohort.diagnosed == 1
    weights = row_weights(cohort)
    sick = np.zeros(k) if predict is None else group_sums(g, weights * predict(cohort.X), k)
    return (
        group_counts(g, k), group_counts(g[hit], k), group_sums(g, weights, k),
        group_sums(g[hit], weights[hit], k), sick,
    )  # fmt: skip
