"""Parts on this machine's disk: memory-mapped files, visited one after another.

What ``derive`` makes is written to a scratch folder. Pages are released after each visit, so
memory holds one part and a few numbers per row.
"""

from __future__ import annotations

import errno
import mmap
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.progress import passed
from relprev.rows.backend import Backend, Each, Function, Part

ALIGNMENT = 64


class OnDisk(Backend):
    """Parts in memory-mapped files.

    Parameters
    ----------
    parts : sequence of Part
        Their arrays are memory-mapped, see `map_file`.
    folder : Scratch, optional
        Where derived parts are written. Default: a new temporary folder.
    """

    def __init__(self, parts: Sequence[Any], folder: Scratch | None = None) -> None:
        super().__init__(parts)
        self._folder = folder or Scratch()

    def map(self, function: Function, *shared: Any, each: Each = None) -> list[Any]:
        results = [self._visit(k, function, shared, each) for k in range(len(self))]
        passed()
        return results

    def derive(self, function: Function, *shared: Any, each: Each = None) -> OnDisk:
        def made(part: Any, *rest: Any) -> Any:
            new = function(part, *rest)
            return new.with_arrays(self._folder.spill(new.arrays()))

        return OnDisk(self.map(made, *shared, each=each), self._folder)

    def keep(self, function: Function, *shared: Any, each: Each = None) -> tuple[list[Any], OnDisk]:
        """As declared; what is kept is a few numbers per row and stays in memory."""
        results, kept = zip(*self.map(function, *shared, each=each), strict=True)
        return list(results), OnDisk(kept, self._folder)

    def select(self, which: Sequence[int]) -> OnDisk:
        return OnDisk([self._parts[k] for k in which], self._folder)

    def _visit(self, k: int, function: Function, shared: Any, each: Each) -> Any:
        own = () if each is None else (each[k],)
        result = function(self._parts[k], *own, *shared)
        if isinstance(result, np.ndarray) and _mapping(result) is not None:
            result = result.copy()  # reading the result must not load the pages again
        for part in _parts_in((self._parts[k], own)):
            for array in part.arrays().values():
                give_back(array)
        return result


def _parts_in(value: Any) -> list[Part]:
    """The part itself, or those in a tuple: what a visit may have read."""
    if isinstance(value, tuple):
        return [part for item in value for part in _parts_in(item)]
    return [value] if hasattr(value, "with_arrays") else []


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
    """Raise this process's limit on open files to the system's maximum; each part is one file."""
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
    """Release the pages of a memory-mapped array; they are read again when needed."""
    mapping = _mapping(array)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


class Scratch:
    """A private folder for derived parts, removed once it is no longer used.

    It is made ``inside`` a folder, by default the system's for temporary files (``$TMPDIR``).
    """

    def __init__(self, inside: str | Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="relprev-", dir=inside))
        self._count = 0
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def spill(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The arrays in memory-mapped files; those already in one stay where they are."""
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
