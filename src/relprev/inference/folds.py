"""Folds for nuisances that are predicted on rows they were not fitted on.

A patient's rows, and with a survey design a PSU's, are never split over folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import AnyCohort
from relprev.errors import DataWarning, TooFewCasesError
from relprev.inference.design import SamplingDesign
from relprev.model.splits import split


def make_folds(
    cohort: AnyCohort, design: SamplingDesign, count: int, seed: int
) -> list[NDArray[np.int64]]:
    """Row positions of every fold.

    Without PSUs, patients are dealt so that every fold has diagnosed patients of every
    group; if a group has too few for that, there are fewer folds (and a warning). PSUs
    are shuffled and dealt in turn, stratum by stratum.

    Examples
    --------
    >>> from relprev.simulate import ed_visits
    >>> cohort = ed_visits(5_000, n_codes=100, seed=0).cohort
    >>> [len(fold) > 800 for fold in make_folds(cohort, SamplingDesign.from_cohort(cohort), 5, 0)]
    [True, True, True, True, True]
    """
    if cohort.gathered("psus") is not None:
        return _by_psu(design, count, seed)
    for number in range(count, 1, -1):
        try:
            folds = split(cohort, [1.0] * number, seed)
        except TooFewCasesError:
            if number == 2:
                raise
            continue
        if number < count:
            warnings.warn(
                f"{number} folds are used instead of {count}: a group has only {number} patients "
                "with a recorded diagnosis, and every fold needs one",
                DataWarning,
                stacklevel=3,
            )
        return folds
    raise TooFewCasesError("folds must be at least 2")


def _by_psu(design: SamplingDesign, count: int, seed: int) -> list[NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(design.stratum))
    order = order[np.argsort(design.stratum[order], kind="stable")]
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) % count
    return [np.flatnonzero(fold[design.psu] == k) for k in range(count)]


def fold_of_rows(folds: Sequence[NDArray[np.int64]]) -> NDArray[np.uint8]:
    """The number of every row's fold.

    Examples
    --------
    >>> fold_of_rows([np.array([0, 2]), np.array([1])])
    array([0, 1, 0], dtype=uint8)
    """
    fold = np.empty(sum(map(len, folds)), dtype=np.uint8)
    for k, rows in enumerate(folds):
        fold[rows] = k
    return fold
