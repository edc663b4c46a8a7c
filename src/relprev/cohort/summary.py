"""Totals and means by group, of a cohort and of a model of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts, group_sums, numbered
from relprev.cohort.cohort import Cohort
from relprev.cohort.part import CohortPart
from relprev.estimates import GroupSummary
from relprev.matrix import Matrix

MIN_PATIENTS = 2  # diagnosed patients a group needs for an estimate


def group_means(values: FloatArray, cohort: Cohort) -> FloatArray:
    """Weighted mean of ``values`` in each group, shape (n_groups,); NaN where it has no rows."""
    sums, weights = cohort.total(_weighted_sums, each=cohort.cut(values))
    with np.errstate(invalid="ignore"):
        return sums / weights


def _weighted_sums(part: CohortPart, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    weights, k = part.row_weights, part.n_groups
    return group_sums(part.groups, weights * values, k), group_sums(part.groups, weights, k)


def summarise(
    cohort: Cohort,
    condition: FloatArray | Callable[[Matrix], FloatArray],
    diagnosis_rate: FloatArray | None = None,
) -> GroupSummary:
    """Summary of each group.

    Parameters
    ----------
    cohort : Cohort
    condition : array of shape (n_groups,), or function of X
        Mean p(y=1|x) of each group, or p(y=1|x) of each row, up to a common factor.
    diagnosis_rate : array of shape (n_groups,), optional
        c_g up to a common factor. Default: diagnosed share divided by ``condition``.
    """
    predict = condition if callable(condition) else None
    n, n_diagnosed, weight, recorded, sick = cohort.total(_totals, predict)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sick / weight if callable(condition) else condition
        share = recorded / weight
        rate = share / mean if diagnosis_rate is None else diagnosis_rate
    return GroupSummary(
        names=cohort.group_names, weight=weight, diagnosed_rate=share, condition=mean,
        diagnosis_rate=rate, n=n, n_diagnosed=n_diagnosed,
    )  # fmt: skip


def group_totals(cohort: Cohort) -> tuple[NDArray[Any], ...]:
    """Rows, diagnosed rows, weight, and weight of the diagnosed; shape (n_groups,) each."""
    found: tuple[NDArray[Any], ...] = cohort.total(_totals, None)
    return found[:4]


def group_patients(cohort: Cohort) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None:
    """By group: patients, those with a diagnosed row, those with an undiagnosed one.

    A patient may have both kinds of rows. None where patients are not known.
    """
    clusters, groups, k = cohort.clusters, cohort.groups, cohort.n_groups
    if clusters is None:
        return None
    pair = numbered(clusters)[1] * np.int64(k) + groups

    def patients(pairs: NDArray[Any]) -> NDArray[Any]:
        return group_counts(np.unique(pairs) % k, k)

    hit = cohort.diagnosed == 1
    return patients(pair), patients(pair[hit]), patients(pair[~hit])


def diagnosed_patients(cohort: Cohort) -> NDArray[Any]:
    """Diagnosed patients of every group, shape (n_groups,); rows where patients are not known."""
    people = group_patients(cohort)
    found: NDArray[Any] = group_totals(cohort)[1] if people is None else people[1]
    return found


def _totals(
    part: CohortPart, predict: Callable[[Matrix], FloatArray] | None
) -> tuple[NDArray[Any], ...]:
    """As in `group_totals`, and the weighted sum of p(y=1|x)."""
    g, k, hit, weights = part.groups, part.n_groups, part.diagnosed == 1, part.row_weights
    sick = np.zeros(k) if predict is None else group_sums(g, weights * predict(part.X), k)
    return (
        group_counts(g, k), group_counts(g[hit], k), group_sums(g, weights, k),
        group_sums(g[hit], weights[hit], k), sick,
    )  # fmt: skip
