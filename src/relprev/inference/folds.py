"""Folds, so that nuisances are predicted for rows they were not fitted on.

The rows of a patient, and in a survey those of a PSU, are never split over folds: PSUs that share
patients are dealt as one unit. A model only knows groups that it was fitted on, so the rows
outside each fold include diagnosed rows of every group.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from relprev.arrays import numbered
from relprev.cohort import Cohort
from relprev.cohort.summary import diagnosed_patients
from relprev.errors import DataWarning, TooFewCasesError
from relprev.inference.sampling import SamplingDesign
from relprev.messages import SMALL, Count, Message, Number
from relprev.model.splits import split

DEALS = 200  # attempts to deal PSUs so that every training part has every group


def make_folds(
    cohort: Cohort, design: SamplingDesign, count: int, seed: int, *, warn: bool = True
) -> list[NDArray[np.int64]]:
    """Row positions of each fold; ``warn`` if there may be fewer than asked for.

    Without PSUs, patients are dealt so that each fold has diagnosed patients of every
    group; if a group has too few for that, there are fewer folds. PSUs
    are shuffled and dealt in turn, stratum by stratum, until a deal leaves diagnosed rows of
    every group outside each fold.

    Examples
    --------
    >>> from relprev.simulate import ed_visits
    >>> cohort = ed_visits(5_000, n_codes=100, prevalence=0.2, seed=0).cohort
    >>> [len(fold) > 800 for fold in make_folds(cohort, SamplingDesign.from_cohort(cohort), 5, 0)]
    [True, True, True, True, True]
    """
    if "psus" in cohort.fields:
        return _by_psu(cohort, design, count, seed, warn)
    if warn:
        _warn_if_few(cohort, count)
    for number in range(count, 1, -1):
        try:
            folds = split(cohort, [1.0] * number, seed)
        except TooFewCasesError:
            if number == 2:
                raise
            continue
        return folds
    raise TooFewCasesError(Message("folds must be at least 2"))


def _warn_if_few(cohort: Cohort, count: int) -> None:
    """Say the same of all groups with few diagnosed patients, whether they need fewer folds or not.

    A warning of those alone that do would tell a report's reader that they have 2 to 4.
    """
    patients = diagnosed_patients(cohort)
    few = [
        Message(
            "{group} ({n})",
            group=repr(name),
            n=Count(int(n), "diagnosed patient", (("n_diagnosed", name),)),
        )
        for name, n in zip(cohort.group_names, patients, strict=True)
        if 0 < n < max(count, SMALL + 1)
    ]
    if few:
        said = Message(
            "too few diagnosed patients for {asked} folds that each hold enough of them, so fewer "
            "folds may be used: {groups}",
            asked=Number(count), groups=few,
        )  # fmt: skip
        warnings.warn(DataWarning(said), stacklevel=4)


def _by_psu(
    cohort: Cohort, design: SamplingDesign, count: int, seed: int, warn: bool
) -> list[NDArray[np.int64]]:
    unit, stratum = _units(design)
    holds = _holds(cohort, unit, len(stratum))
    for name, units in zip(cohort.group_names, holds, strict=True):
        if len(units) < 2:
            raise TooFewCasesError(
                Message(
                    "group {group} has recorded diagnoses in a single primary sampling unit (those "
                    "that share patients count as one), and no model fitted without that unit "
                    "would know the group; merge it with another, or leave out psus",
                    group=repr(name),
                )
            )
    number = min(count, len(stratum))
    if warn and number < count:
        said = Message(
            "fewer folds are used than the {asked} asked for: the rows lie in only {units} (those "
            "that share patients count as one)",
            asked=Number(count), units=Count(number, "primary sampling unit"),
        )  # fmt: skip
        warnings.warn(DataWarning(said), stacklevel=4)
    rng = np.random.default_rng(seed)
    for _ in range(DEALS):
        fold = _dealt(stratum, number, rng)
        if all(len(np.unique(fold[units])) > 1 for units in holds):
            return [np.flatnonzero(fold[unit] == k) for k in range(number)]
    raise TooFewCasesError(  # fewer folds would only be harder
        Message(
            "{deals} ways to deal {units} to {folds} folds all had a fold with every recorded "
            "diagnosis of some group; merge groups that occur in few units, or use more folds",
            deals=Number(DEALS),
            units=Count(len(stratum), "primary sampling unit"),
            folds=Number(number),
        )
    )


def _dealt(
    stratum: NDArray[np.integer], number: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Fold of each unit: shuffled and dealt in turn, stratum by stratum."""
    order = rng.permutation(len(stratum))
    order = order[np.argsort(stratum[order], kind="stable")]
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) % number
    return fold


def folds_of_units(design: SamplingDesign, count: int, seed: int) -> list[NDArray[np.int64]]:
    """Row positions of each fold, dealt without regard to diagnoses.

    Examples
    --------
    >>> from relprev.simulate import ed_visits
    >>> cohort = ed_visits(5_000, n_codes=100, seed=0).cohort
    >>> [len(fold) > 800 for fold in folds_of_units(SamplingDesign.from_cohort(cohort), 5, 0)]
    [True, True, True, True, True]
    """
    unit, stratum = _units(design)
    fold = _dealt(stratum, min(count, len(stratum)), np.random.default_rng(seed))[unit]
    return [np.flatnonzero(fold == k) for k in range(int(fold.max()) + 1)]


def _units(design: SamplingDesign) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Units to deal (PSUs, joined if they share patients): of each row, and their strata."""
    found, unit = numbered(design.psu)
    stratum = design.stratum[found]
    if design.patient is not None:
        last = np.empty(int(design.patient.max()) + 1, dtype=unit.dtype)
        last[design.patient] = unit
        other = last[design.patient]
        apart = other != unit
        if apart.any():
            pairs = (np.ones(int(apart.sum()), dtype=bool), (other[apart], unit[apart]))
            joined = connected_components(coo_array(pairs, shape=(len(found),) * 2))[1]
            _, first, of_psu = np.unique(joined, return_index=True, return_inverse=True)
            unit, stratum = of_psu[unit], stratum[first]
    if len(stratum) < 2:
        single = Message("a single primary sampling unit")
        units = Count(len(found), "primary sampling unit")
        sharing = Message("{units} that all share patients", units=units)
        raise TooFewCasesError(
            Message(
                "the rows lie in {units}, and cross-fitting needs 2 that share none; leave out "
                "psus and strata, or give patients of different units different numbers",
                units=single if len(found) == 1 else sharing,
            )
        )
    return unit, stratum


def given_folds(cohort: Cohort, fold: NDArray[np.integer]) -> list[NDArray[np.int64]]:
    """Row positions of each fold, from the fold of each row.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth().cohort
    >>> [len(rows) for rows in given_folds(cohort, np.arange(cohort.n) % 3)]
    [10000, 10000, 10000]
    """
    numbers, fold = numbered(fold)
    for name, among in zip(cohort.group_names, _holds(cohort, fold, len(numbers)), strict=True):
        if len(among) < 2:
            raise TooFewCasesError(
                Message(
                    "group {group} has recorded diagnoses in one fold only, and the model for that "
                    "fold would not know the group; merge it with another, or give other folds",
                    group=repr(name),
                )
            )
    return [np.flatnonzero(fold == k) for k in range(len(numbers))]


def _holds(cohort: Cohort, unit: NDArray[np.integer], count: int) -> list[NDArray[np.int64]]:
    """The units that hold diagnosed rows of each group."""
    hit = cohort.diagnosed == 1
    table = np.zeros((cohort.n_groups, count), dtype=bool)
    table[cohort.groups[hit], unit[hit]] = True
    return [np.flatnonzero(row) for row in table]


def fold_of_rows(folds: Sequence[NDArray[np.int64]]) -> NDArray[np.unsignedinteger]:
    """Fold of each row, shape (n,).

    Examples
    --------
    >>> fold_of_rows([np.array([0, 2]), np.array([1])])
    array([0, 1, 0], dtype=uint8)
    """
    fold = np.empty(sum(map(len, folds)), dtype=np.min_scalar_type(len(folds)))
    for k, rows in enumerate(folds):
        fold[rows] = k
    return fold
