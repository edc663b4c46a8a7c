"""Rows kept in parts: on disk, or on the workers of a Dask cluster.

Every sum over rows is taken as ``total(rows.map(function, *shared))``: each part is
given to a function of the same kernels that work in memory, and only what the function
returns travels. ``derive`` makes new parts of the old ones, which stay where those are.

- `InMemory`: parts are objects of this process, most often a single one.
- `OutOfCore`: parts are memory-mapped files of this machine, visited one after another.
  What ``derive`` makes is written to a scratch folder. Pages are given back after each
  visit, so memory holds one part and a few numbers a row.
- `OnCluster`: parts live in the memory of Dask workers. Scheduling, transport and retries
  are Dask's: a part that is lost with its worker is made again from the files.

A part is any object with ``arrays()`` (its arrays by name) and ``with_arrays`` (the same
object on other memory).
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from relprev.parallel.cluster import gathered, large_tasks
from relprev.progress import passed

ALIGNMENT = 64


class Part(Protocol):
    """What is kept in parts."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """The same part on other memory."""


class Partitions(ABC):
    """Parts that can be mapped over."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of parts."""

    @abstractmethod
    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """``function(part, *shared)`` of every part, in order; see ``derive`` for ``each``."""

    @abstractmethod
    def derive(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> Partitions:
        """Parts made by ``function(part, *shared)``, or ``function(part, each[k], *shared)``."""

    @property
    @abstractmethod
    def handles(self) -> Sequence[Any]:
        """Stand for the parts in ``each`` of ``map`` and ``derive`` of other partitions."""

    @abstractmethod
    def select(self, which: Sequence[int]) -> Partitions:
        """Some of the parts."""

    def take(
        self, function: Callable[..., Any], rows: NDArray[np.int64], sizes: Sequence[int],
        *shared: Any,
    ) -> tuple[Partitions, tuple[int, ...]]:  # fmt: skip
        """Parts made by ``function(part, (rows of the part, rows taken before), *shared)``.

        Parameters
        ----------
        rows : ascending row numbers
        sizes : rows of every part

        Returns
        -------
        the parts that keep rows, and their sizes
        """
        pieces, counts = slices(rows, sizes), np.diff(_cuts(rows, sizes)).tolist()
        which = [k for k, count in enumerate(counts) if count]
        kept = tuple(counts[k] for k in which)
        before = np.cumsum([0, *kept]).tolist()
        each = Lazy(len(which), lambda k: (pieces[which[k]], before[k]))
        return self.select(which).derive(function, *shared, each=each), kept


class InMemory(Partitions):
    """Parts in this process's memory.

    Parameters
    ----------
    parts : sequence of Part
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = list(parts)

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def handles(self) -> Sequence[Any]:
        return self._parts

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        own = [()] * len(self) if each is None else [(value,) for value in each]
        return [function(part, *more, *shared) for part, more in zip(self._parts, own, strict=True)]

    def derive(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> InMemory:
        return InMemory(self.map(function, *shared, each=each))

    def select(self, which: Sequence[int]) -> InMemory:
        return InMemory([self._parts[k] for k in which])


class OutOfCore(Partitions):
    """Parts on this machine's disk.

    Parameters
    ----------
    parts : sequence of Part
        On memory-mapped arrays, see `map_file`.
    """

    def __init__(self, parts: Sequence[Any], folder: Scratch | None = None) -> None:
        self._parts = list(parts)
        self._folder = folder or Scratch()

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def handles(self) -> Sequence[Any]:
        return self._parts

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        results = [self._visit(k, function, shared, each) for k in range(len(self))]
        passed()
        return results

    def derive(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> OutOfCore:
        def made(part: Any, *rest: Any) -> Any:
            new = function(part, *rest)
            return new.with_arrays(self._folder.spill(new.arrays()))

        return OutOfCore(self.map(made, *shared, each=each), self._folder)

    def select(self, which: Sequence[int]) -> OutOfCore:
        return OutOfCore([self._parts[k] for k in which], self._folder)

    def _visit(
        self, k: int, function: Callable[..., Any], shared: Any, each: Sequence[Any] | None
    ) -> Any:
        own = () if each is None else (each[k],)
        result = function(self._parts[k], *own, *shared)
        for part in _parts_in((self._parts[k], own)):
            for array in part.arrays().values():
                give_back(array)
        return result


def _parts_in(value: Any) -> list[Part]:
    """The part that this is, or those in a tuple: what a visit may have touched."""
    if isinstance(value, tuple):
        return [part for item in value for part in _parts_in(item)]
    return [value] if hasattr(value, "with_arrays") else []


class OnCluster(Partitions):
    """Parts on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    futures : sequence of distributed.Future
        The parts.
    """

    def __init__(self, client: Any, futures: Sequence[Any]) -> None:
        self._client = client
        self._futures = list(futures)

    def __len__(self) -> int:
        return len(self._futures)

    @property
    def handles(self) -> Sequence[Any]:
        return self._futures

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        results = gathered(self._client, self._submit(function, shared, each))
        passed()
        return results

    def derive(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> OnCluster:
        return OnCluster(self._client, self._submit(function, shared, each))

    def select(self, which: Sequence[int]) -> OnCluster:
        return OnCluster(self._client, [self._futures[k] for k in which])

    def _submit(
        self, function: Callable[..., Any], shared: Any, each: Sequence[Any] | None
    ) -> list[Any]:
        with large_tasks():
            return [
                self._client.submit(
                    on_worker, function, part, *(() if each is None else (each[k],)), *shared,
                    pure=False,
                )
                for k, part in enumerate(self._futures)
            ]  # fmt: skip


def on_worker(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function with as many threads as the Dask worker has."""
    from distributed import get_worker

    os.environ["RELPREV_NUM_THREADS"] = str(get_worker().state.nthreads)
    return function(*arguments)


def total(results: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Sums of the parts' results, entry by entry, in the order of the parts.

    Examples
    --------
    >>> total([(1, np.array([1.0, 2.0])), (2, np.array([3.0, 4.0]))])
    (3, array([4., 6.]))
    """
    sums = list(results[0])
    for result in results[1:]:
        sums = [a + b for a, b in zip(sums, result, strict=True)]
    return tuple(sums)


class Lazy(Sequence[Any]):
    """A sequence whose entries are made when they are asked for, and not kept.

    Examples
    --------
    >>> list(Lazy(3, lambda k: k**2))
    [0, 1, 4]
    """

    def __init__(self, count: int, make: Callable[[int], Any]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: Any) -> Any:
        if not 0 <= k < self._count:
            raise IndexError(k)
        return self._make(k)


def slices(rows: NDArray[np.int64], sizes: Sequence[int]) -> Sequence[NDArray[np.int32]]:
    """Ascending row numbers cut into those of every part, counted from the part's first row.

    Examples
    --------
    >>> [piece.tolist() for piece in slices(np.array([0, 2, 3, 7]), sizes=(3, 5))]
    [[0, 2], [0, 4]]
    """
    first, cuts = np.cumsum([0, *sizes]), _cuts(rows, sizes)
    return Lazy(len(sizes), lambda k: (rows[cuts[k] : cuts[k + 1]] - first[k]).astype(np.int32))


def _cuts(rows: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """How many of the row numbers lie before every part, and in all of them."""
    return np.searchsorted(rows, np.cumsum([0, *sizes]))


def map_file(path: str | Path) -> mmap.mmap:
    """A file as read-only memory."""
    try:
        return _mapped(path)
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
    allow_more_files()
    return _mapped(path)


def _mapped(path: str | Path) -> mmap.mmap:
    with Path(path).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def allow_more_files() -> None:
    """Let this process have as many files open as the system allows it; each part is one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _mapping(array: NDArray[Any]) -> mmap.mmap | None:
    """The memory-mapped file behind an array, if there is one."""
    base: Any = array
    while base is not None:
        if isinstance(base, mmap.mmap):
            return base
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return None


def give_back(array: NDArray[Any]) -> None:
    """Let the system drop the pages of a memory-mapped array; they are read again when needed."""
    mapping = _mapping(array)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


class Scratch:
    """A private folder for derived parts, removed when nobody uses it any more.

    Parameters
    ----------
    inside : path, optional
        Where to make it. Default: the system's folder for temporary files (``$TMPDIR``).
    """

    def __init__(self, inside: str | Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="relprev-", dir=inside))
        self._count = 0
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def spill(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The arrays on memory-mapped files; those that are on one already stay there."""
        new = {name: array for name, array in arrays.items() if _mapping(array) is None}
        new = {name: array for name, array in new.items() if array.nbytes}
        if not new:
            return arrays
        self._count += 1
        path = self.path / f"{self._count}.bin"
        places = {}
        with path.open("wb") as file:
            for name, array in new.items():
                file.write(b"\0" * (-file.tell() % ALIGNMENT))
                places[name] = file.tell()
                np.ascontiguousarray(array).tofile(file)
        memory = map_file(path)
        path.unlink()  # the mapping keeps the content until it is dropped
        return arrays | {
            name: np.frombuffer(memory, array.dtype, array.size, places[name]).reshape(array.shape)
            for name, array in new.items()
        }
