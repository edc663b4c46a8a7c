"""Refuse parameters of estimators that make no sense, in the same words for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from relprev.cohort import Cohort
from relprev.errors import InvalidInputError


def require_whole(least: int, **given: Any) -> None:
    """Fail unless every value is a whole number, ``least`` or more.

    Examples
    --------
    >>> require_whole(2, folds=1)
    Traceback (most recent call last):
        ...
    relprev.errors.InvalidInputError: folds must be a whole number >= 2, got 1
    """
    for name, value in given.items():
        if not isinstance(value, int | np.integer) or value < least:
            raise InvalidInputError(f"{name} must be a whole number >= {least}, got {value!r}")


def require_share(**given: float) -> None:
    """Fail unless every value lies between 0 and 1, neither of which is allowed."""
    for name, value in given.items():
        if not 0 < value < 1:
            raise InvalidInputError(f"{name} must be between 0 and 1, got {value}")


def require_finite(**given: float) -> None:
    """Fail unless every value is a finite number, 0 or more."""
    for name, value in given.items():
        if not 0 <= value < np.inf:
            raise InvalidInputError(f"{name} must be 0 or more, got {value}")


def require_reference(reference: str | None, cohort: Cohort) -> None:
    """Fail if the reference is not one of the cohort's groups."""
    if reference is not None and reference not in cohort.group_names:
        raise InvalidInputError(
            f"reference={reference!r} is not a group; groups: {cohort.group_names}"
        )
