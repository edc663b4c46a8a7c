"""Look at the data before fitting: warn about oddities, refuse hopeless cases."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts
from relprev.cohort import Cohort, CohortPart
from relprev.errors import DataWarning, InvalidInputError
from relprev.matrix import Dense
from relprev.matrix.coerce import listed
from relprev.matrix.csr import CSR
from relprev.messages import SMALL, Message, Number

LEAK_SHARE = 0.9  # of the rows with the feature are diagnosed
LEAK_REACH = 0.1  # of the diagnosed rows have the feature


def screen(cohort: Cohort, *, domain: bool = False) -> None:
    """Warn about groups without rows, constant features and label leakage.

    In a ``domain``, some rows of the data, many features are the same for all; that is not said.

    Raises
    ------
    InvalidInputError
        A feature equals the diagnosis: the model would only learn to copy it.
    """
    empty = _named(cohort, cohort.total(_group_counts)[0] == 0)
    if empty:
        _warn(
            Message("these groups have no rows and get no estimate: {groups}", groups=listed(empty))
        )
    _features(cohort, domain)


def screen_diagnoses(cohort: Cohort, few: int = SMALL) -> None:
    """Warn about groups with ``few`` diagnosed rows or fewer, in one wording for all of them."""
    counts, cases = cohort.total(_group_counts)
    named = _named(cohort, (cases <= few) & (counts > 0))
    if named:
        _warn(
            Message(
                "these groups have few diagnosed rows or none: {groups}; their diagnosis rates are "
                "hardly known, and their relative prevalence rests mostly on their symptoms",
                groups=listed(named),
            )
        )


def _named(cohort: Cohort, which: NDArray[np.bool_]) -> list[str]:
    return [repr(cohort.group_names[k]) for k in np.flatnonzero(which)]


def _group_counts(part: CohortPart) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    k = part.n_groups
    diagnosed = part.groups[part.diagnosed == 1]
    return group_counts(part.groups, k), group_counts(diagnosed, k)


def _features(cohort: Cohort, domain: bool) -> None:
    n_cases = sum(cohort.map(_n_diagnosed))
    with_feature, diagnosed_with, constant = _presence(cohort)
    if constant.any() and not domain:
        _warn(
            Message(
                "{some} of {all} features are constant and carry no information: {features}",
                some=Number(int(constant.sum()), ","), all=Number(len(constant), ","),
                features=_labels(cohort, constant),
            )
        )  # fmt: skip
    copies = ~constant & (diagnosed_with == n_cases) & (with_feature == n_cases)
    if copies.any():
        raise InvalidInputError(
            Message(
                "X holds the diagnosis itself: {features} equals s; remove every code that defines "
                "the condition from X",
                features=_labels(cohort, copies),
            )
        )
    share = diagnosed_with / np.maximum(with_feature, 1)
    leaks = (diagnosed_with > SMALL) & (share >= LEAK_SHARE)
    leaks &= ~constant & (diagnosed_with >= LEAK_REACH * n_cases)
    if leaks.any():
        _warn(
            Message(
                "nearly everyone with {features} is diagnosed; if these features record the "
                "diagnosis in another way, remove them from X",
                features=_labels(cohort, leaks),
            )
        )


def _n_diagnosed(part: CohortPart) -> int:
    return int(part.diagnosed.sum())


def _presence(cohort: Cohort) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Rows, and diagnosed rows, with each feature; and which features are constant.

    A dense feature counts as present where it is above its middle value if it takes
    two values, and elsewhere where it is not zero.
    """
    extremes = [found for found in cohort.map(_extremes) if found is not None]
    if not extremes:
        rows, diagnosed, squares = cohort.total(_sparse_counts)
        return rows, diagnosed, (rows == 0) | ((rows == cohort.n) & (squares == rows))
    low = np.min([least for least, _ in extremes], axis=0)
    high = np.max([largest for _, largest in extremes], axis=0)
    two_values = np.logical_and.reduce(cohort.map(_two_values, low, high))
    cut = np.where(two_values, 0.5 * (low + high), np.nan)
    rows, diagnosed = cohort.total(_dense_counts, cut)
    return rows, diagnosed, (rows == 0) | (low == high)


def _sparse_counts(part: CohortPart) -> tuple[FloatArray, FloatArray, FloatArray]:
    assert isinstance(part.X, CSR)
    hit = part.X.presence().rmatvec(part.diagnosed.astype(float))
    squares, count = part.X.nonzero_squares()
    return count.astype(float), np.rint(hit), squares


def _extremes(part: CohortPart) -> tuple[FloatArray, FloatArray] | None:
    """Smallest and largest value of every feature; None if sparse."""
    if not isinstance(part.X, Dense):
        return None
    return part.X.values.min(axis=0), part.X.values.max(axis=0)


def _two_values(part: CohortPart, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    X = part.X.to_arrays()["values"]
    return ((low == X) | (high == X)).all(axis=0)


def _dense_counts(part: CohortPart, cut: FloatArray) -> tuple[FloatArray, FloatArray]:
    X = part.X.to_arrays()["values"]
    present = np.where(np.isnan(cut), X != 0, cut < X)
    return present.sum(axis=0).astype(float), part.diagnosed.astype(float) @ present


def _labels(cohort: Cohort, which: np.ndarray) -> str:
    positions = np.flatnonzero(which)
    names = cohort.feature_names
    return listed([repr(names[j]) if names else f"column {j}" for j in positions])


def _warn(message: Message) -> None:
    warnings.warn(DataWarning(message), stacklevel=5)
