"""Rows kept in parts: the one way in which relprev holds whatever grows with the visits.

`Rows` are parts in a row, each with the arrays of some of the rows. What is true of all rows
(names of groups, number of features) is known to the subclass that adds it:

    Cohort(Rows[CohortPart])      symptoms, diagnosis, groups, weights, patients
    Problem(Rows[ProblemPart])    the same as the likelihood wants them
    ScoreData(Rows[ScorePart])    with propensities and risks

A function works on one part, which is always in memory. It reaches all of them by

    map       what it returns for every part, in order
    total     the sum of that over the parts: every sum over rows is one of these
    derive    new rows made of the old ones, which stay where those are
    keep      both at once, where a pass leaves something with the rows

and only what ``map`` and ``total`` return travels. Where the parts are is up to a backend:
`relprev.rows.memory` (this process; a cohort in memory is one part), `relprev.rows.disk`
(memory-mapped files, visited one after another) or `relprev.rows.dask` (a cluster's workers).
Nobody asks which. What cannot work on parts takes `Rows.in_memory`, which gives the only part or
says what to do; `Rows.together` fetches all rows where they are known to be few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from relprev.errors import InvalidInputError
from relprev.rows.backend import Backend, Each
from relprev.rows.memory import InMemory

P = TypeVar("P")
Q = TypeVar("Q")
Positions = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Rows(Generic[P]):
    """Rows kept in parts; see :mod:`relprev.rows.rows`.

    Parameters
    ----------
    backend : Backend
        Where the parts are.
    sizes : tuple of int
        Rows of every part.

    Examples
    --------
    >>> from relprev.rows.memory import InMemory
    >>> rows = Rows(InMemory([np.array([1.0, 2.0]), np.array([3.0])]), (2, 1))
    >>> rows.n, rows.map(np.max), rows.gathered(np.sqrt).round(1)
    (3, [np.float64(2.0), np.float64(3.0)], array([1. , 1.4, 1.7]))
    >>> rows.total(lambda part, power: (len(part), (part**power).sum()), 2)
    (3, np.float64(14.0))
    >>> rows.derive(np.negative).map(np.min)
    [np.float64(-2.0), np.float64(-3.0)]
    >>> sums, kept = rows.keep(lambda part: (part.sum(), 10 * part))
    >>> sums, kept.map(np.max)
    ([np.float64(3.0), np.float64(3.0)], [np.float64(20.0), np.float64(30.0)])
    >>> [piece.tolist() for piece in rows.cut(np.array([7, 8, 9]))]
    [[7, 8], [9]]
    >>> some = rows.pick(lambda part, where: part[where[0]], np.array([1, 2]))
    >>> some.sizes, rows.holding(some).n
    ((1, 1), 2)
    >>> one_part("all rows", 3).in_memory(), one_part("all rows", 3).together()
    ('all rows', 'all rows')
    >>> alone = one_part("all rows", 3)
    >>> alone.collected() is alone
    True
    """

    backend: Backend
    sizes: tuple[int, ...]

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(self.sizes)

    def __len__(self) -> int:
        return self.n

    @property
    def first_rows(self) -> list[int]:
        """Number of every part's first row."""
        return [int(start) for start in np.cumsum([0, *self.sizes[:-1]])]

    @property
    def handles(self) -> Sequence[Any]:
        """Stand for the parts in ``each`` of other rows that are kept in the same place."""
        return self.backend.handles

    def map(self, function: Callable[..., Q], *shared: Any, each: Each = None) -> list[Q]:
        """Apply a function to every part.

        Parameters
        ----------
        function : function of a part, its entry of ``each`` if there is one, and ``shared``
            On a cluster it must be importable there.
        *shared : object
            Further arguments, the same for all parts.
        each : sequence with one entry for every part, optional
            Further arguments of their own; see `cut` and `handles`.

        Returns
        -------
        list
            What it returned for every part, in order.
        """
        return self.backend.map(function, *shared, each=each)

    def total(
        self, function: Callable[..., tuple[Any, ...]], *shared: Any, each: Each = None
    ) -> Any:
        """Sum of what a function returns for the parts, entry by entry.

        Parameters
        ----------
        function : function that returns a tuple of numbers or arrays
            As in `map`; shapes must be the same for all parts.
        *shared : object
            As in `map`.
        each : sequence with one entry for every part, optional
            As in `map`.

        Returns
        -------
        tuple
            Sums, taken in the order of the parts.
        """
        return total(self.map(function, *shared, each=each))

    def derive(self, function: Callable[..., Q], *shared: Any, each: Each = None) -> Rows[Q]:
        """Make new rows of these, kept where these are.

        Parameters
        ----------
        function : function that returns a part with as many rows
            As in `map`.
        *shared : object
            As in `map`.
        each : sequence with one entry for every part, optional
            As in `map`.

        Returns
        -------
        Rows
            Of the new parts.
        """
        return Rows(self.backend.derive(function, *shared, each=each), self.sizes)

    def keep(
        self, function: Callable[..., tuple[Any, Q]], *shared: Any, each: Each = None
    ) -> tuple[list[Any], Rows[Q]]:
        """Apply a function that returns a result and something to be kept with the rows.

        Parameters
        ----------
        function : function that returns (result, kept)
            As in `map`.
        *shared : object
            As in `map`.
        each : sequence with one entry for every part, optional
            As in `map`.

        Returns
        -------
        list and Rows
            The results in order, and what is kept.
        """
        results, kept = self.backend.keep(function, *shared, each=each)
        return results, Rows(kept, self.sizes)

    def pick(self, function: Callable[..., Q], positions: Positions, *shared: Any) -> Rows[Q]:
        """Make new rows of some of these.

        Parameters
        ----------
        function : function of a part, (positions in the part, rows picked before) and ``shared``
            Returns the part's rows at these positions.
        positions : integer array of shape (m,)
            Ascending, unless there is one part only.
        *shared : object
            Further arguments, the same for all parts.

        Returns
        -------
        Rows
            Of the parts that have some of the rows.
        """
        if len(self.sizes) == 1:
            made = self.backend.derive(function, *shared, each=[(positions, 0)])
            return Rows(made, (len(positions),))
        pieces, counts = self.cut_positions(positions)
        which = [k for k, count in enumerate(counts) if count]
        sizes = tuple(counts[k] for k in which)
        before = np.cumsum([0, *sizes]).tolist()
        each = _Lazy(len(which), lambda k: (pieces[which[k]], before[k]))
        return Rows(self.backend.select(which).derive(function, *shared, each=each), sizes)

    def cut(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut an array with one value for every row into those of the parts.

        Parameters
        ----------
        values : array of shape (n, ...)
            One entry for every row.

        Returns
        -------
        list of arrays of shape (rows of the part, ...)
            To be used as ``each``.
        """
        return np.split(values, np.cumsum(self.sizes)[:-1])

    def cut_positions(self, positions: Positions) -> tuple[Sequence[Positions], list[int]]:
        """Cut ascending row numbers into those of the parts, counted from the part's first row.

        Parameters
        ----------
        positions : integer array of shape (m,)
            Ascending, unless there is one part only.

        Returns
        -------
        sequence of integer arrays of shape (rows of the part among these,), and list of int
            Positions in every part, made when asked for, and their numbers.

        Examples
        --------
        >>> from relprev.rows.memory import InMemory
        >>> pieces, counts = Rows(InMemory(["a", "b"]), (3, 5)).cut_positions(np.array([0, 2, 7]))
        >>> [piece.tolist() for piece in pieces], counts
        ([[0, 2], [4]], [2, 1])
        """
        if len(self.sizes) == 1:
            return [positions], [len(positions)]
        if (np.diff(positions) < 0).any():
            raise InvalidInputError("rows of a cohort kept in parts must be taken in their order")
        first = np.cumsum([0, *self.sizes])
        ends = np.searchsorted(positions, first)
        pieces = _Lazy(
            len(self.sizes),
            lambda k: (positions[ends[k] : ends[k + 1]] - first[k]).astype(np.int32),
        )
        return pieces, np.diff(ends).tolist()

    def gathered(self, function: Callable[..., NDArray[Any]], *shared: Any) -> NDArray[Any]:
        """Bring one value for every row into memory.

        Parameters
        ----------
        function : function that returns an array of shape (rows of the part, ...)
            As in `map`.
        *shared : object
            As in `map`.

        Returns
        -------
        array of shape (n, ...)
            In the order of the rows; not a copy where there is one part in memory.
        """
        found = self.map(function, *shared)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def in_memory(self, what: str = "this") -> P:
        """Give the only part, for what cannot work on parts.

        Parameters
        ----------
        what : str
            What needs it, to begin an error with.

        Returns
        -------
        part
            With all rows.
        """
        here: Sequence[P] | None = self.backend.here
        if here is None or len(here) != 1:
            raise InvalidInputError(
                f"{what} works on a cohort in memory only; this one is kept in parts. Use fewer "
                "visits (Cohort.take, then Cohort.collected), or a method that works on parts"
            )
        return here[0]

    def together(self) -> P:
        """Bring all rows into memory.

        Returns
        -------
        part
            With all rows: the only one itself, where it is in memory already.
        """
        here: Sequence[P] | None = self.backend.here
        if here is not None and len(here) == 1:
            return here[0]
        parts: list[Any] = self.map(copied)
        made: P = parts[0].joined(parts)
        return made

    def collected(self) -> Self:
        """The same rows in memory, in one part.

        Returns
        -------
        Rows
            Of this class; these themselves, where they are one part in memory already.
        """
        here = self.backend.here
        if here is not None and len(here) == 1:
            return self
        return self.holding(one_part(self.together(), self.n))

    def holding(self, rows: Rows[P], **changes: Any) -> Self:
        """The same kind of rows with other parts.

        Parameters
        ----------
        rows : Rows
            Whose parts to hold.
        **changes : object
            Other attributes that change.

        Returns
        -------
        Rows
            Of this class.
        """
        return replace(self, backend=rows.backend, sizes=rows.sizes, **changes)


def one_part(part: P, size: int) -> Rows[P]:
    """Rows in memory, in one part.

    Examples
    --------
    >>> one_part(np.arange(3), 3).in_memory()
    array([0, 1, 2])
    """
    return Rows(InMemory([part]), (size,))


def total(results: Sequence[tuple[Any, ...]]) -> Any:
    """Sums of several results, entry by entry, in their order.

    Examples
    --------
    >>> total([(1, np.array([1.0, 2.0])), (2, np.array([3.0, 4.0]))])
    (3, array([4., 6.]))
    """
    sums = list(results[0])
    for result in results[1:]:
        sums = [a + b for a, b in zip(sums, result, strict=True)]
    return tuple(sums)


def copied(part: Any) -> Any:
    """The part on memory of its own."""
    return part.with_arrays({name: np.array(values) for name, values in part.arrays().items()})


class _Lazy(Sequence[Any]):
    """A sequence whose entries are made when they are asked for, and not kept."""

    def __init__(self, count: int, make: Callable[[int], Any]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: Any) -> Any:
        if not 0 <= k < self._count:
            raise IndexError(k)
        return self._make(k)
