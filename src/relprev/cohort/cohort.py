"""The cohort: everything an estimator needs to know about the visits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.design import Design
from relprev.errors import InvalidInputError

ROW_FIELDS = ("diagnosed", "groups", "weights", "clusters", "strata", "psus", "ids")


@dataclass(frozen=True, eq=False, repr=False)
class Cohort:
    """Visits with symptoms, group and recorded diagnosis. Frozen and validated.

    Use `as_cohort` to make one from plain arrays or frames.

    Parameters
    ----------
    X : Design of shape (n, p)
        Symptoms. Must not contain the codes that define the diagnosis.
    diagnosed : uint8 array of shape (n,)
        1 where the condition is recorded.
    groups : unsigned integer array of shape (n,)
        Positions in ``group_names``.
    group_names : tuple of str
    weights : float64 array of shape (n,), optional
        Positive sampling weights.
    clusters : integer array of shape (n,), optional
        Patients: rows of one patient stay together in every split.
    strata, psus : integer arrays of shape (n,), optional
        Survey design.
    feature_names : tuple of str, optional
    ids : array of shape (n,), optional
        Visit identifiers. Kept, never printed.

    Examples
    --------
    >>> from relprev.cohort import as_cohort
    >>> cohort = as_cohort(np.eye(4), [1, 0, 0, 1], groups=["a", "a", "b", "b"])
    >>> cohort.group_names, cohort.take(cohort.diagnosed == 1).n
    (('a', 'b'), 2)
    """

    X: Design
    diagnosed: NDArray[np.uint8]
    groups: NDArray[np.uint8] | NDArray[np.uint16]
    group_names: tuple[str, ...]
    weights: NDArray[np.float64] | None = None
    clusters: NDArray[np.integer[Any]] | None = None
    strata: NDArray[np.integer[Any]] | None = None
    psus: NDArray[np.integer[Any]] | None = None
    feature_names: tuple[str, ...] | None = None
    ids: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        n = self.X.n_rows
        if n == 0:
            raise InvalidInputError("the cohort has 0 rows; check the inclusion rules")
        for name in ROW_FIELDS:
            values = getattr(self, name)
            if values is not None and np.shape(values) != (n,):
                raise InvalidInputError(
                    f"{name} has shape {np.shape(values)}, expected ({n},): one value for each "
                    "of X's rows"
                )
        names = self.feature_names
        if names is not None and len(names) != self.X.n_cols:
            raise InvalidInputError(
                f"feature_names has {len(names)} names, X has {self.X.n_cols} columns"
            )
        if len(set(self.group_names)) != len(self.group_names):
            raise InvalidInputError("group_names has a name twice")
        if int(self.groups.max()) >= len(self.group_names):
            raise InvalidInputError("groups has a number that group_names does not name")
        if int(self.diagnosed.max()) > 1:
            raise InvalidInputError("diagnosed must be 0 or 1")
        for field_ in fields(self):
            value = getattr(self, field_.name)
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
                object.__setattr__(self, field_.name, value)

    @property
    def n(self) -> int:
        """Number of visits."""
        return self.X.n_rows

    @property
    def n_groups(self) -> int:
        return len(self.group_names)

    @property
    def group_labels(self) -> NDArray[Any]:
        """Group name of every visit, shape (n,)."""
        return np.asarray(self.group_names)[self.groups]

    @property
    def n_cols(self) -> int:
        return self.X.n_cols

    def __len__(self) -> int:
        return self.n

    def map(self, function: Callable[..., Any], *shared: Any) -> list[Any]:
        """``[function(self, *shared)]``: a cohort in memory is one part."""
        return [function(self, *shared)]

    def gathered(self, name: str) -> NDArray[Any] | None:
        """One value a visit: "diagnosed", "groups", "clusters" and so on; None if absent."""
        values: NDArray[Any] | None = getattr(self, name)
        return values

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the visits."""
        rows = {name: getattr(self, name) for name in ROW_FIELDS}
        return self.X.to_arrays() | {k: v for k, v in rows.items() if v is not None}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Cohort:
        """The same cohort on other memory."""
        rows = {name: arrays[name] for name in ROW_FIELDS if name in arrays}
        return replace(self, X=self.X.with_arrays(arrays), **rows)  # type: ignore[arg-type]

    def take(self, rows: NDArray[Any]) -> Cohort:
        """The visits at the given positions (or where a mask is true), all groups kept."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        parts = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in ROW_FIELDS
        }
        return Cohort(
            X=self.X.take(rows),
            group_names=self.group_names,
            feature_names=self.feature_names,
            **parts,  # type: ignore[arg-type]
        )

    def with_groups(self, kept: NDArray[np.int64]) -> Cohort:
        """The same visits with only these groups, renumbered; all visits must be in one."""
        number = np.zeros(self.n_groups, dtype=self.groups.dtype)
        number[kept] = np.arange(len(kept))
        names = tuple(self.group_names[k] for k in kept)
        return replace(self, groups=number[self.groups], group_names=names)

    def save(self, path: str | Path) -> None:
        """Write to one file, whole or not at all. See `relprev.cohort.storage`."""
        from relprev.cohort.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | Path) -> Cohort:
        """Read a file written by `save`."""
        from relprev.cohort.storage import load

        return load(path)

    def __repr__(self) -> str:
        has = [
            name
            for name in ("weights", "clusters", "strata", "psus")
            if getattr(self, name) is not None
        ]
        extras = f", with {', '.join(has)}" if has else ""
        return (
            f"<Cohort of {self.n:,} visits x {self.X.n_cols:,} features, groups "
            f"{', '.join(self.group_names)}{extras}>"
        )
