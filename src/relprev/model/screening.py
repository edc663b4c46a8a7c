"""What must be said about the data before fitting: warnings and hopeless cases."""

from __future__ import annotations

import warnings

import numpy as np

from relprev.cohort import Cohort
from relprev.design import Dense
from relprev.design.convert import listed
from relprev.design.csr import CSR
from relprev.errors import DataWarning, InvalidInputError
from relprev.groups import group_counts

LEAK_MIN_ROWS = 10
LEAK_SHARE = 0.9  # of the rows with the feature are diagnosed
LEAK_REACH = 0.1  # of the diagnosed rows have the feature


def screen(cohort: Cohort) -> None:
    """Warn about groups without diagnosed rows, constant features and label leakage.

    Raises
    ------
    InvalidInputError
        A feature equals the diagnosis: the model would only learn to copy it.
    """
    counts = group_counts(cohort.groups, cohort.n_groups)
    cases = group_counts(cohort.groups[cohort.diagnosed == 1], cohort.n_groups)
    names = np.asarray(cohort.group_names, dtype=object)
    empty = [repr(name) for name in names[counts == 0]]
    if empty:
        _warn(f"these groups have no rows and get no estimate: {listed(empty)}")
    silent = [repr(name) for name in names[(cases == 0) & (counts > 0)]]
    if silent:
        _warn(
            f"these groups have no diagnosed row: {listed(silent)}; their diagnosis rate is "
            "estimated as 0 and their relative prevalence rests on their symptoms alone"
        )
    _features(cohort)


def _features(cohort: Cohort) -> None:
    n, n_cases = cohort.n, int(cohort.diagnosed.sum())
    with_feature, diagnosed_with = _counts(cohort)
    constant = with_feature == 0
    if isinstance(cohort.X, Dense):
        constant |= np.ptp(cohort.X.values, axis=0) == 0
    else:
        constant |= (with_feature == n) & (cohort.X.typical_size() == 1)
    if constant.any():
        _warn(
            f"{int(constant.sum()):,} of {len(constant):,} features are constant and carry no "
            f"information: {_labels(cohort, constant)}"
        )
    copies = ~constant & (diagnosed_with == n_cases) & (with_feature == n_cases)
    if copies.any():
        raise InvalidInputError(
            f"X holds the diagnosis itself: {_labels(cohort, copies)} equals s; remove every code "
            "that defines the condition from X"
        )
    share = diagnosed_with / np.maximum(with_feature, 1)
    leaks = (with_feature >= LEAK_MIN_ROWS) & (share >= LEAK_SHARE)
    leaks &= ~constant & (diagnosed_with >= LEAK_REACH * n_cases)
    if leaks.any():
        _warn(
            f"nearly everyone with {_labels(cohort, leaks)} is diagnosed; if these features record "
            "the diagnosis in another way, remove them from X"
        )


def _counts(cohort: Cohort) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and diagnosed rows, with each feature.

    A dense feature counts as present where it is above its middle value if it takes
    two values, and elsewhere where it is not zero.
    """
    s = cohort.diagnosed.astype(float)
    if isinstance(cohort.X, Dense):
        X = cohort.X.values
        low, high = X.min(axis=0), X.max(axis=0)
        two_values = ((low == X) | (high == X)).all(axis=0)
        present = np.where(two_values, 0.5 * (low + high) < X, X != 0)
        return present.sum(axis=0), s @ present
    assert isinstance(cohort.X, CSR)
    presence = cohort.X.presence()
    return np.rint(presence.rmatvec(np.ones(cohort.n))), np.rint(presence.rmatvec(s))


def _labels(cohort: Cohort, which: np.ndarray) -> str:
    positions = np.flatnonzero(which)
    names = cohort.feature_names
    return listed([repr(names[j]) if names else f"column {j}" for j in positions])


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=5)
