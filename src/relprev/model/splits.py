"""Split a cohort into sets of rows that share no patient, with diagnosed rows in each.

Clusters (patients) are stratified by group and by whether any of their rows is
diagnosed, shuffled, and dealt to the sets in proportion. Every set therefore has about
the same mix, and none lacks diagnosed rows of a group that has enough of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import numbered
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.messages import Count, Message


def split(
    cohort: Cohort, shares: Sequence[float], seed: int, *, in_all: bool = True
) -> list[NDArray[np.int64]]:
    """Row positions of the sets, in ascending order.

    Parameters
    ----------
    cohort : Cohort
    shares : sequence of float
        Relative sizes of the sets.
    seed : int
    in_all : bool
        Fail where a group has too few diagnosed patients for every set to hold one. If false, the
        first sets get them.

    Examples
    --------
    >>> from relprev.simulate import ed_visits
    >>> cohort = ed_visits(20_000, n_codes=200, seed=0).cohort
    >>> train, rest = split(cohort, [0.75, 0.25], seed=0)
    >>> set(cohort.clusters[train]) & set(cohort.clusters[rest])
    set()
    """
    fractions = np.asarray(shares, dtype=float)
    if len(fractions) < 2 or (fractions <= 0).any():
        raise InvalidInputError(f"shares must hold two or more positive numbers, got {shares}")
    edges = np.cumsum(fractions / fractions.sum())[:-1]
    cluster = _cluster_numbers(cohort)
    stratum = _cluster_strata(cohort, cluster)
    dealt = np.zeros(len(stratum), dtype=np.uint8 if len(fractions) < 256 else np.uint16)
    rng = np.random.default_rng(seed)
    for value in np.unique(stratum):
        members = rng.permutation(np.flatnonzero(stratum == value))
        diagnosed = value % 2 == 1
        if in_all and diagnosed and len(members) < len(fractions):
            raise _too_few(cohort.group_names[value // 2], len(members))
        dealt[members] = _deal(len(members), edges, rng)
    of_row = dealt[cluster]
    return [np.flatnonzero(of_row == k) for k in range(len(fractions))]


def _too_few(group: str, patients: int) -> TooFewCasesError:
    return TooFewCasesError(
        Message(
            "group {group} has too few diagnosed patients ({n}) for a split; merge the group with "
            "another, or fit without a split (a single lambda)",
            group=repr(group),
            n=Count(patients, "diagnosed patient", (("n_diagnosed", group),)),
        )
    )


def _deal(count: int, edges: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Set of each of ``count`` shuffled clusters: one for each set, the rest by size.

    Sizes are rounded at random, so that many small strata do not all favour the same set.
    """
    cuts = np.floor(edges * count + rng.random()).astype(int)
    sets = len(edges) + 1
    low = np.minimum(np.arange(1, sets), count)
    high = np.maximum(count - np.arange(sets - 1, 0, -1), low)
    return np.searchsorted(np.clip(cuts, low, high), np.arange(count), side="right")


def _cluster_numbers(cohort: Cohort) -> NDArray[np.integer]:
    """Clusters as numbers 0 .. m - 1."""
    clusters = cohort.clusters
    return np.arange(cohort.n) if clusters is None else numbered(clusters)[1]


def _cluster_strata(cohort: Cohort, cluster: NDArray[np.integer]) -> NDArray[np.int64]:
    """2 * group + any diagnosed, per cluster.

    A patient recorded in several groups counts in the group of a diagnosed row.
    """
    stratum = np.empty(int(cluster.max()) + 1, dtype=np.int64)
    groups, hit = cohort.groups, cohort.diagnosed == 1
    stratum[cluster] = 2 * groups.astype(np.int64)
    stratum[cluster[hit]] = 2 * groups[hit].astype(np.int64) + 1
    return stratum
