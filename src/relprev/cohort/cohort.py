"""The cohort: everything an estimator needs to know about the visits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.errors import InvalidInputError
from relprev.estimates import COMPLEMENT, PAIRWISE
from relprev.matrix import Matrix

ROW_FIELDS = ("diagnosed", "groups", "weights", "clusters", "strata", "psus", "ids")
MAX_GROUPS = 1000


def group_dtype(n_groups: int) -> Any:
    """Smallest type that holds every group's number."""
    return np.uint8 if n_groups <= 256 else np.uint16


@dataclass(frozen=True, eq=False, repr=False)
class Cohort:
    """Visits with symptoms, group and recorded diagnosis. Frozen and validated.

    Use `as_cohort` to make one from plain arrays or frames.

    Parameters
    ----------
    X : Matrix of shape (n, p)
        Symptoms. Must not contain the codes that define the diagnosis.
    diagnosed : uint8 array of shape (n,)
        1 where the condition is recorded.
    groups : unsigned integer array of shape (n,)
        Positions in ``group_names``.
    group_names : tuple of str
        Names of the groups.
    weights : float64 array of shape (n,), optional
        Positive sampling weights.
    clusters : integer array of shape (n,), optional
        Patients: rows of one patient stay together in every split.
    strata, psus : integer arrays of shape (n,), optional
        Survey design.
    feature_names : tuple of str, optional
        Names of X's columns.
    ids : array of shape (n,), optional
        Visit identifiers. Kept, never printed.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.cohort import as_cohort
    >>> cohort = as_cohort(np.eye(4), [1, 0, 0, 1], groups=["a", "a", "b", "b"])
    >>> cohort.n, cohort.n_cols, cohort.n_groups, cohort.group_names
    (4, 4, 2, ('a', 'b'))
    >>> cohort.take(cohort.diagnosed == 1).group_labels
    array(['a', 'b'], dtype='<U1')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cohort.save(f"{folder}/study.cohort")
    ...     print(Cohort.load(f"{folder}/study.cohort"))
    <Cohort of 4 visits x 4 features, groups a, b>

    A cohort in memory is worked on as one part, see `PartitionedCohort`:

    >>> cohort.map(len), cohort.gathered("groups").tolist(), sorted(cohort.arrays())[:2]
    ([4], [0, 0, 1, 1], ['diagnosed', 'groups'])
    >>> cohort.with_arrays(cohort.arrays())
    <Cohort of 4 visits x 4 features, groups a, b>
    >>> cohort.take(np.array([0, 1])).with_groups(np.array([0]))
    <Cohort of 2 visits x 4 features, groups a>
    """

    X: Matrix
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
        taken = [name for name in (COMPLEMENT, PAIRWISE) if name in self.group_names]
        if taken:
            raise InvalidInputError(
                f"a group is named {taken[0]!r}, which means a comparison in versus=...; rename "
                "the group"
            )
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
        """Number of groups."""
        return len(self.group_names)

    @property
    def group_labels(self) -> NDArray[Any]:
        """Group name of every visit, shape (n,)."""
        return np.asarray(self.group_names)[self.groups]

    @property
    def n_cols(self) -> int:
        """Number of features."""
        return self.X.n_cols

    @property
    def fields(self) -> tuple[str, ...]:
        """What is known of every visit: diagnosed, groups and perhaps weights, clusters, ..."""
        return tuple(name for name in ROW_FIELDS if getattr(self, name) is not None)

    def __len__(self) -> int:
        return self.n

    def map(self, function: Callable[..., Any], *shared: Any) -> list[Any]:
        """Apply a function to every part; a cohort in memory is one part.

        Parameters
        ----------
        function : function of a Cohort and ``shared``
            What to do.
        *shared : object
            Further arguments.

        Returns
        -------
        list of one
            ``[function(self, *shared)]``.
        """
        return [function(self, *shared)]

    def gathered(self, name: str) -> NDArray[Any] | None:
        """One value a visit.

        Parameters
        ----------
        name : str
            "diagnosed", "groups", "weights", "clusters", "strata" or "psus".

        Returns
        -------
        array of shape (n,), or None
            None if the cohort does not have it.
        """
        values: NDArray[Any] | None = getattr(self, name)
        return values

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the visits.

        Returns
        -------
        dict of str to array
            Those of the design and those of shape (n,).
        """
        rows = {name: getattr(self, name) for name in ROW_FIELDS}
        return self.X.to_arrays() | {k: v for k, v in rows.items() if v is not None}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Cohort:
        """The same cohort on other memory.

        Parameters
        ----------
        arrays : dict of str to array
            As from `arrays`, with the same shapes.

        Returns
        -------
        Cohort
            Made of these arrays.
        """
        rows = {name: arrays[name] for name in ROW_FIELDS if name in arrays}
        return replace(self, X=self.X.with_arrays(arrays), **rows)  # type: ignore[arg-type]

    def take(self, rows: NDArray[Any]) -> Cohort:
        """Some of the visits, all groups kept.

        Parameters
        ----------
        rows : integer or boolean array of shape (m,) or (n,)
            Positions, or a mask.

        Returns
        -------
        Cohort
            Of those visits.
        """
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
        """The same visits with only these groups, renumbered; all visits must be in one.

        Parameters
        ----------
        kept : integer array of shape (k,)
            Positions in ``group_names``.

        Returns
        -------
        Cohort
            With ``k`` groups.
        """
        number = np.zeros(self.n_groups, dtype=self.groups.dtype)
        number[kept] = np.arange(len(kept))
        names = tuple(self.group_names[k] for k in kept)
        return replace(self, groups=number[self.groups], group_names=names)

    def without(self, *names: str) -> Cohort:
        """The same visits without some of what is known of them.

        Parameters
        ----------
        *names : str
            Of "weights", "clusters", "strata", "psus", "ids".

        Returns
        -------
        Cohort
            These are None in it.

        Examples
        --------
        >>> from relprev.simulate import ed_visits
        >>> ed_visits(500, n_codes=50).cohort.without("clusters")
        <Cohort of 500 visits x 50 features, groups Group A, Group B, Group C, Group D>
        """
        return replace(self, **dict.fromkeys(names))  # type: ignore[arg-type]

    def collected(self) -> Cohort:
        """The cohort in memory: itself.

        Returns
        -------
        Cohort
            This one.

        Examples
        --------
        >>> from relprev.simulate import ed_visits
        >>> cohort = ed_visits(500, n_codes=50).cohort
        >>> cohort.collected() is cohort
        True
        """
        return self

    def save(self, path: str | Path) -> None:
        """Write to one file, whole or not at all. See `relprev.cohort.storage`.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        from relprev.cohort.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | Path) -> Cohort:
        """Read a file written by `save`.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Cohort
            As it was saved.
        """
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
