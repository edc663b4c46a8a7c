"""The cohort: everything an estimator needs to know about the visits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.cohort.part import ROW_FIELDS, CohortPart
from relprev.errors import InvalidInputError
from relprev.matrix import Matrix
from relprev.rows import Rows, one_part
from relprev.store.digests import digest

MAX_GROUPS = 1000
MAX_CONTROLS = 64


def group_dtype(n_groups: int) -> Any:
    """The smallest type that holds every group's number."""
    return np.uint8 if n_groups <= 256 else np.uint16


def control_dtype(n_controls: int) -> Any:
    """Smallest type that has a bit for every control."""
    return next(kind for kind in (np.uint8, np.uint16, np.uint32, np.uint64)
                if n_controls <= np.iinfo(kind).bits)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Cohort(Rows[CohortPart]):
    """Visits with symptoms, group and recorded diagnosis, in memory or in parts.

    Use `as_cohort` to make one from plain arrays or frames, and `Cohort.open` for one that is
    larger than memory: its parts stay on disk or on the workers of a Dask cluster. All attributes
    but ``X`` are available either way; arrays of shape (n,) are assembled from the parts when
    they are read.

    Parameters
    ----------
    backend : Backend
        Where the parts are kept, see :mod:`relprev.rows.rows`.
    sizes : tuple of int
        Visits per part. A cohort in memory has one part.
    n_cols : int
        Number of features.
    group_names : tuple of str
        Names behind the numbers in ``groups``, in order.
    feature_names : tuple of str, optional
        One for each column of X.
    fields : tuple of str
        What is known about each visit: diagnosed, groups and perhaps weights, clusters, ...
    control_names : tuple of str
        Control conditions, in the order of the bits of ``controls``.
    sampled_psus : tuple of int
        Of a survey: primary sampling units of every stratum, with or without rows in the cohort.
        Empty: those that have rows.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.cohort import as_cohort, write_parts
    >>> cohort = as_cohort(np.eye(4), [1, 0, 0, 1], groups=["a", "a", "b", "b"])
    >>> cohort.n, cohort.n_cols, cohort.n_groups, cohort.group_names
    (4, 4, 2, ('a', 'b'))
    >>> cohort.take(cohort.diagnosed == 1).group_labels
    array(['a', 'b'], dtype='<U1')
    >>> cohort.take(np.array([0, 1])).with_groups(np.array([0]))
    <Cohort of 2 visits x 4 features, groups a>
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cohort.save(f"{folder}/study.cohort")
    ...     print(Cohort.load(f"{folder}/study.cohort"))
    <Cohort of 4 visits x 4 features, groups a, b>

    In two parts on disk, with functions that work on one part at a time:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parts([cohort, cohort], f"{folder}/visits")
    ...     visits = Cohort.open(f"{folder}/visits")
    ...     print(visits)
    ...     print(visits.map(len), visits.total(lambda part: (part.n, part.diagnosed.sum())))
    ...     print(visits.take(np.array([0, 5])).collected())
    <Cohort of 8 visits x 4 features in 2 parts, groups a, b>
    [4, 4] (8, np.uint64(4))
    <Cohort of 2 visits x 4 features, groups a, b>
    """

    n_cols: int
    group_names: tuple[str, ...]
    feature_names: tuple[str, ...] | None
    fields: tuple[str, ...]
    control_names: tuple[str, ...] = ()
    sampled_psus: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        names = self.feature_names
        if names is not None and len(names) != self.n_cols:
            raise InvalidInputError(
                f"feature_names has {len(names)} names, X has {self.n_cols} columns"
            )
        if bool(self.control_names) != ("controls" in self.fields):
            raise InvalidInputError("controls and control_names must be given together")

    @staticmethod
    def of(
        *, feature_names: tuple[str, ...] | None = None, control_names: tuple[str, ...] = (),
        sampled_psus: tuple[int, ...] = (), **arrays: Any,
    ) -> Cohort:  # fmt: skip
        """A cohort in memory from arrays that have been checked; `as_cohort` checks them first.

        Parameters
        ----------
        feature_names : tuple of str, optional
            One for each column of X.
        control_names : tuple of str
            What the bits of ``controls`` stand for, from the lowest.
        sampled_psus : tuple of int
            Primary sampling units of every stratum, if not all of them have rows.
        **arrays : X, diagnosed, groups, group_names, and any others
            Symptoms (a `Matrix` of shape (n, p)) and arrays of shape (n,): diagnosis (0 or 1),
            positions in ``group_names``, weights, clusters (patients), strata, psus, ids, controls.

        Examples
        --------
        >>> from relprev.matrix import Dense
        >>> Cohort.of(X=Dense(np.eye(2)), diagnosed=np.array([1, 0], np.uint8),
        ...           groups=np.array([0, 1], np.uint8), group_names=("a", "b"))
        <Cohort of 2 visits x 2 features, groups a, b>
        """
        part = CohortPart(**arrays)
        rows = one_part(part, part.n)
        return Cohort(
            rows.backend, rows.sizes, part.n_cols, part.group_names, feature_names, part.fields,
            control_names, sampled_psus,
        )  # fmt: skip

    @staticmethod
    def open(
        folder: str | Path, client: Any = None, *, scratch: str | Path | None = None
    ) -> Cohort:
        """Open a folder written by `write_parts` or `build_cohorts`.

        Parameters
        ----------
        folder : path
            With a cluster, one that all its workers can read.
        client : distributed.Client, optional
            Keep the parts on this Dask cluster, whose workers read them at once. Default: leave
            them on disk and read them one after another, when they are needed.
        scratch : path, optional
            Folder for temporary files made from parts on disk. Default: the system's
            (``$TMPDIR``).
        """
        from relprev.cohort.opening import open_parts

        return open_parts(folder, client, scratch=scratch)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_names)

    @property
    def X(self) -> Matrix:
        """Symptoms, shape (n, p). Only for cohorts in memory."""
        return self.in_memory("Cohort.X").X

    @property
    def diagnosed(self) -> NDArray[np.uint8]:
        """Whether the condition is recorded, 0 or 1; shape (n,)."""
        return self.gathered(_field, "diagnosed")

    @property
    def groups(self) -> NDArray[Any]:
        """Group of each visit, as a position in ``group_names``, shape (n,)."""
        return self.gathered(_field, "groups")

    @property
    def group_labels(self) -> NDArray[Any]:
        """Group name of each visit, shape (n,)."""
        return np.asarray(self.group_names)[self.groups]

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Sampling weights, positive, shape (n,); None if there are none."""
        return self._known("weights")

    @property
    def clusters(self) -> NDArray[np.integer[Any]] | None:
        """Patient of each visit, shape (n,): a patient's visits stay together in every split."""
        return self._known("clusters")

    @property
    def strata(self) -> NDArray[np.integer[Any]] | None:
        """Survey stratum of each visit, shape (n,)."""
        return self._known("strata")

    @property
    def psus(self) -> NDArray[np.integer[Any]] | None:
        """Primary sampling unit of each visit, shape (n,)."""
        return self._known("psus")

    @property
    def ids(self) -> NDArray[Any] | None:
        """Visit identifiers, shape (n,). Kept in memory, never printed or written in parts."""
        return self._known("ids")

    @property
    def controls(self) -> NDArray[np.unsignedinteger[Any]] | None:
        """Control conditions recorded at every visit, shape (n,): bit k for the k-th of them."""
        return self._known("controls")

    def _known(self, name: str) -> NDArray[Any] | None:
        return self.gathered(_field, name) if name in self.fields else None

    def take(self, rows: NDArray[Any]) -> Cohort:
        """The cohort of some of the visits, kept where these are; all groups remain.

        Parameters
        ----------
        rows : integer or boolean array of shape (m,) or (n,)
            Positions, in ascending order if there is more than one part; or a mask.
        """
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return self.holding(self.pick(_taken, rows))

    def with_groups(self, kept: NDArray[np.int64]) -> Cohort:
        """The same visits with only these groups, renumbered; every visit must be in one of them.

        Parameters
        ----------
        kept : integer array of shape (k,)
            Positions in ``group_names``, in the order wanted.
        """
        names = tuple(self.group_names[k] for k in kept)
        number = np.zeros(self.n_groups, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        return self.holding(self.derive(_regrouped, number, names), group_names=names)

    def with_values(self, **values: NDArray[Any] | None) -> Cohort:
        """The same visits with other values of some fields.

        Parameters
        ----------
        **values : array of shape (n,), or None
            By name of the field; None removes it.

        Examples
        --------
        >>> from relprev.simulate import ed_visits
        >>> cohort = ed_visits(500, n_codes=50).cohort
        >>> cohort.with_values(clusters=None, weights=np.full(500, 2.0)).fields
        ('diagnosed', 'groups', 'weights')
        """
        nothing: list[Any] = [None] * len(self.sizes)
        pieces = {
            name: nothing if given is None else self.cut(given) for name, given in values.items()
        }
        each = [{name: cut[k] for name, cut in pieces.items()} for k in range(len(self.sizes))]
        known = dict.fromkeys(self.fields, True) | {
            name: given is not None for name, given in values.items()
        }
        fields = tuple(name for name in ROW_FIELDS if known.get(name))
        return self.holding(self.derive(_replaced, each=each), fields=fields)

    def without(self, *names: str) -> Cohort:
        """The same visits without some fields: "weights", "clusters", "strata", "psus" or "ids".

        Examples
        --------
        >>> from relprev.simulate import ed_visits
        >>> ed_visits(500, n_codes=50).cohort.without("clusters")
        <Cohort of 500 visits x 50 features, groups Group A, Group B, Group C, Group D>
        """
        return self.with_values(**dict.fromkeys(names))

    def digest(self) -> str:
        """24 hexadecimal digits that tell cohorts apart; identifiers of visits do not count.

        Examples
        --------
        >>> from relprev.simulate import gauss_synth
        >>> first, same, other = (gauss_synth(seed=seed).cohort.digest() for seed in (0, 0, 1))
        >>> first == same, first == other
        (True, False)
        """
        return digest(self.group_names, self.feature_names, *self.map(_digest))

    def save(self, path: str | Path) -> None:
        """Write a cohort in memory to one file, whole or not at all; see also `write_parts`."""
        from relprev.cohort.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | Path) -> Cohort:
        """Read a file written by `save`."""
        from relprev.cohort.storage import load

        return load(path)

    def __repr__(self) -> str:
        parts = f" in {len(self.sizes)} parts" if len(self.sizes) > 1 else ""
        has = [name for name in ("weights", "clusters", "strata", "psus") if name in self.fields]
        extras = f", with {', '.join(has)}" if has else ""
        return (
            f"<Cohort of {self.n:,} visits x {self.n_cols:,} features{parts}, groups "
            f"{', '.join(self.group_names)}{extras}>"
        )


def _digest(part: CohortPart) -> str:
    arrays = part.arrays()
    arrays.pop("ids", None)
    return digest(*arrays, *arrays.values())


def _field(part: CohortPart, name: str) -> NDArray[Any]:
    values: NDArray[Any] = getattr(part, name)
    return values


def _taken(part: CohortPart, where: tuple[NDArray[np.int64], int]) -> CohortPart:
    return part.take(where[0])


def _regrouped(part: CohortPart, number: NDArray[np.int64], names: tuple[str, ...]) -> CohortPart:
    groups: Any = number.astype(part.groups.dtype)[part.groups]
    return replace(part, groups=groups, group_names=names)


def _replaced(part: CohortPart, values: dict[str, Any]) -> CohortPart:
    return replace(part, **values)
