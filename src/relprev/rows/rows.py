"""Rows kept in parts: the one way in which relprev holds whatever grows with the visits.

`Rows` are a sequence of parts, each holding the arrays of some of the rows. What all rows share
(group names, number of features) belongs to the subclass:

    Cohort(Rows[CohortPart])      symptoms, diagnosis, groups, weights, patients
    Problem(Rows[ProblemPart])    the same in the form the likelihood needs
    ScoreData(Rows[ScorePart])    with propensities and risks

A function works on one part, which it always sees in memory. It is applied to all of them by

    map       results, one per part, in order
    total     the sum of the results: every sum over rows is one of these
    derive    new rows made from the old ones and kept in the same place
    keep      both: results, and something that stays with the rows

and only what ``map`` and ``total`` return is moved. Where the parts are is up to a backend:
`relprev.rows.memory` (this process; a cohort in memory is one part), `relprev.rows.disk`
(memory-mapped files, visited one after another) or `relprev.rows.dask` (a cluster's workers).
No caller asks which. Code that cannot work on parts calls `Rows.in_memory`, which returns the only
part or raises an error that says what to do; `Rows.together` fetches all rows when they are known
to be few.
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
        Where the parts are kept.
    sizes : tuple of int
        Rows per part.

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
        """Number of each part's first row."""
        return [int(start) for start in np.cumsum([0, *self.sizes[:-1]])]

    @property
    def handles(self) -> Sequence[Any]:
        """Stand-ins for the parts, to pass as ``each`` to rows kept in the same place."""
        return self.backend.handles

    def map(self, function: Callable[..., Q], *shared: Any, each: Each = None) -> list[Q]:
        """Apply a function to each part and return the results in order.

        Parameters
        ----------
        function : function of a part, its entry of ``each`` if given, and ``shared``
            A cluster's workers must be able to import it.
        *shared : object
            Further arguments, the same for all parts.
        each : sequence with one entry per part, optional
            An argument of the part's own; see `cut` and `handles`.
        """
        return self.backend.map(function, *shared, each=each)

    def total(
        self, function: Callable[..., tuple[Any, ...]], *shared: Any, each: Each = None
    ) -> Any:
        """Like `map` with a function that returns a tuple: sums over the parts, entry by entry.

        Entries are numbers or arrays of the same shape for all parts, added in the parts' order.
        """
        return total(self.map(function, *shared, each=each))

    def derive(self, function: Callable[..., Q], *shared: Any, each: Each = None) -> Rows[Q]:
        """Like `map` with a function that returns a new part of as many rows: the new rows."""
        return Rows(self.backend.derive(function, *shared, each=each), self.sizes)

    def keep(
        self, function: Callable[..., tuple[Any, Q]], *shared: Any, each: Each = None
    ) -> tuple[list[Any], Rows[Q]]:
        """Like `map` with a function that returns (result, kept): the results, and new rows."""
        results, kept = self.backend.keep(function, *shared, each=each)
        return results, Rows(kept, self.sizes)

    def pick(self, function: Callable[..., Q], positions: Positions, *shared: Any) -> Rows[Q]:
        """Make new rows from some of these.

        Parameters
        ----------
        function : function of a part, (positions in the part, rows picked before it), ``shared``
            Returns the part's rows at these positions. Not called for parts without any.
        positions : integer array of shape (m,)
            In ascending order, unless there is only one part.
        *shared : object
            Further arguments, the same for all parts.
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
        """Cut an array of shape (n, ...) into one array per part, to pass as ``each``."""
        return np.split(values, np.cumsum(self.sizes)[:-1])

    def cut_positions(self, positions: Positions) -> tuple[Sequence[Positions], list[int]]:
        """Cut row numbers, shape (m,), into positions within each part, and count those.

        Row numbers must ascend, unless there is only one part. Positions are computed when they
        are read.

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
            raise InvalidInputError(
                "rows of a cohort kept in parts must be taken in ascending order; sort them first"
            )
        first = np.cumsum([0, *self.sizes])
        ends = np.searchsorted(positions, first)
        pieces = _Lazy(
            len(self.sizes),
            lambda k: (positions[ends[k] : ends[k + 1]] - first[k]).astype(np.int32),
        )
        return pieces, np.diff(ends).tolist()

    def gathered(self, function: Callable[..., NDArray[Any]], *shared: Any) -> NDArray[Any]:
        """Like `map` with a function that returns an array: all joined, of shape (n, ...).

        With a single part in memory the array is not copied.
        """
        found = self.map(function, *shared)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def in_memory(self, what: str = "this") -> P:
        """The only part, if the rows are one part in memory; else an error that names ``what``."""
        here: Sequence[P] | None = self.backend.here
        if here is None or len(here) != 1:
            raise InvalidInputError(
                f"{what} needs a cohort in memory, but this one is kept in parts; use fewer visits "
                "(Cohort.take, then Cohort.collected), or a method that works on parts"
            )
        return here[0]

    def together(self) -> P:
        """One part in memory with all rows: the only part itself, if it is in memory already."""
        here: Sequence[P] | None = self.backend.here
        if here is not None and len(here) == 1:
            return here[0]
        parts: list[Any] = self.map(copied)
        made: P = parts[0].joined(parts)
        return made

    def collected(self) -> Self:
        """The same rows as one part in memory: these rows themselves, if they are that already."""
        here = self.backend.here
        if here is not None and len(here) == 1:
            return self
        return self.holding(one_part(self.together(), self.n))

    def holding(self, rows: Rows[P], **changes: Any) -> Self:
        """An object like this one, with the parts of ``rows`` and ``changes`` of attributes."""
        return replace(self, backend=rows.backend, sizes=rows.sizes, **changes)


def one_part(part: P, size: int) -> Rows[P]:
    """Rows of a single part in memory.

    Examples
    --------
    >>> one_part(np.arange(3), 3).in_memory()
    array([0, 1, 2])
    """
    return Rows(InMemory([part]), (size,))


def total(results: Sequence[tuple[Any, ...]]) -> Any:
    """Sums of several results, entry by entry, added in order.

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
    """The part in memory of its own."""
    return part.with_arrays({name: np.array(values) for name, values in part.arrays().items()})


class _Lazy(Sequence[Any]):
    """A sequence whose entries are computed when they are read, and not kept."""

    def __init__(self, count: int, make: Callable[[int], Any]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: Any) -> Any:
        if not 0 <= k < self._count:
            raise IndexError(k)
        return self._make(k)
