"""Part of a cohort: some of its visits, as arrays in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.errors import InvalidInputError
from relprev.estimates import COMPLEMENT, PAIRWISE
from relprev.matrix import Matrix
from relprev.matrix.csr import stacked

ROW_FIELDS = ("diagnosed", "groups", "weights", "clusters", "strata", "psus", "ids", "controls")


@dataclass(frozen=True, eq=False, repr=False)
class CohortPart:
    """Visits with symptoms, group and recorded diagnosis, validated.

    Functions passed to `Cohort.map` receive one part at a time; a cohort in memory has only one.

    Parameters
    ----------
    X : Matrix of shape (n, p)
        Symptoms.
    diagnosed : uint8 array of shape (n,)
        1 where the condition is recorded.
    groups : unsigned integer array of shape (n,)
        Positions in ``group_names``.
    group_names : tuple of str
        Names behind the numbers in ``groups``, in order.
    weights, clusters, strata, psus, ids, controls : arrays of shape (n,), optional
        As in `Cohort`.

    Examples
    --------
    >>> from relprev.cohort import as_cohort
    >>> part = as_cohort(np.eye(4), [1, 0, 0, 1], groups=list("aabb")).in_memory()
    >>> part.n, part.n_cols, part.fields, part.row_weights
    (4, 4, ('diagnosed', 'groups'), array([1., 1., 1., 1.]))
    >>> part.take(np.array([2, 3])).group_labels
    array(['b', 'b'], dtype='<U1')
    >>> CohortPart.joined([part, part.with_arrays(part.arrays())]).n
    8
    """

    X: Matrix
    diagnosed: NDArray[np.uint8]
    groups: NDArray[np.uint8] | NDArray[np.uint16]
    group_names: tuple[str, ...]
    weights: NDArray[np.float64] | None = None
    clusters: NDArray[np.integer[Any]] | None = None
    strata: NDArray[np.integer[Any]] | None = None
    psus: NDArray[np.integer[Any]] | None = None
    ids: NDArray[Any] | None = None
    controls: NDArray[np.unsignedinteger[Any]] | None = None

    def __post_init__(self) -> None:
        self._check_shapes()
        if len(set(self.group_names)) != len(self.group_names):
            raise InvalidInputError("group_names holds a name twice; give each group its own name")
        taken = [name for name in (COMPLEMENT, PAIRWISE) if name in self.group_names]
        if taken:
            raise InvalidInputError(
                f"a group is named {taken[0]!r}, which has a meaning of its own in versus=...; "
                "rename the group"
            )
        if int(self.groups.max()) >= len(self.group_names):
            raise InvalidInputError(
                f"groups must hold positions in group_names (0 to {len(self.group_names) - 1}), "
                f"got {int(self.groups.max())}"
            )
        if int(self.diagnosed.max()) > 1:
            raise InvalidInputError("diagnosed must be 0 or 1")
        for field_ in fields(self):
            value = getattr(self, field_.name)
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
                object.__setattr__(self, field_.name, value)

    def _check_shapes(self) -> None:
        n = self.X.n_rows
        if n == 0:
            raise InvalidInputError("the cohort has 0 rows; check the inclusion rules")
        for name in self.fields:
            shape = np.shape(getattr(self, name))
            if shape != (n,):
                raise InvalidInputError(
                    f"{name} has shape {shape}, expected ({n},): one value for each row of X"
                )

    @property
    def n(self) -> int:
        """Number of visits."""
        return self.X.n_rows

    def __len__(self) -> int:
        return self.n

    @property
    def n_cols(self) -> int:
        """Number of features."""
        return self.X.n_cols

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_names)

    @property
    def group_labels(self) -> NDArray[Any]:
        """Group name of each visit, shape (n,)."""
        return np.asarray(self.group_names)[self.groups]

    @property
    def fields(self) -> tuple[str, ...]:
        """What is known about each visit: diagnosed, groups and perhaps weights, clusters, ..."""
        return tuple(name for name in ROW_FIELDS if getattr(self, name) is not None)

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """Weight of each visit, shape (n,); ones if the cohort has no weights."""
        return np.ones(self.n) if self.weights is None else np.asarray(self.weights)

    def take(self, rows: NDArray[np.integer[Any]]) -> CohortPart:
        """The visits at these positions, shape (m,), with all group names."""
        own = {name: getattr(self, name)[rows] for name in self.fields}
        return replace(self, X=self.X.take(rows), **own)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the visits: those that make up X, and the fields."""
        return self.X.to_arrays() | {name: getattr(self, name) for name in self.fields}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> CohortPart:
        """The same visits in other memory, given as `arrays` returns them."""
        own: dict[str, Any] = {name: arrays[name] for name in self.fields}
        return replace(self, X=self.X.with_arrays(arrays), **own)

    @staticmethod
    def joined(parts: Sequence[CohortPart]) -> CohortPart:
        """One part with the visits of several, which have the same groups, features and fields."""
        if len(parts) == 1:
            return parts[0]
        own: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in parts[0].fields
        }
        X = stacked([part.X for part in parts])
        return replace(parts[0], X=X, **own)
