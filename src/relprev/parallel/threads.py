"""Run a kernel over row ranges on several threads, reproducibly.

Kernels release the GIL, so plain threads are enough. Rows are cut into a number
of chunks that depends on the data only, never on the number of threads, and
per-chunk sums are added in chunk order. Results are therefore bit-for-bit the
same for any thread count.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def _whole_number(text: str) -> int:
    return int(text) if text.isdigit() else 0


BLOCK_ROWS = 8192  # a block's working arrays stay in a core's cache
MAX_CHUNKS = 16
DEFAULT = _whole_number(os.environ.get("RELPREV_NUM_THREADS", ""))  # 0: all cores

_asked: ContextVar[int] = ContextVar("threads", default=0)
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_owner: tuple[int, int] = (0, 0)  # (process id, threads): a forked child needs its own pool


def available_cores() -> int:
    """Number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def thread_count() -> int:
    """Threads that kernels use: those set by `use_threads`, or `DEFAULT`, or one per core."""
    return _asked.get() or DEFAULT or available_cores()


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Inside, kernels use ``count`` threads. Also a decorator.

    Examples
    --------
    >>> with use_threads(3):
    ...     thread_count()
    3
    """
    before = _asked.set(max(1, count))
    try:
        yield
    finally:
        _asked.reset(before)


def chunks(n_rows: int) -> list[tuple[int, int]]:
    """Cut ``range(n_rows)`` into at most 16 contiguous ranges of whole blocks.

    Examples
    --------
    >>> chunks(20_000)
    [(0, 8192), (8192, 16384), (16384, 20000)]
    """
    if n_rows == 0:
        return []
    n_blocks = -(-n_rows // BLOCK_ROWS)
    n_chunks = min(MAX_CHUNKS, n_blocks)
    edges = [BLOCK_ROWS * (n_blocks * k // n_chunks) for k in range(n_chunks)]
    return list(zip(edges, [*edges[1:], n_rows], strict=True))


def blocks(start: int, stop: int) -> list[tuple[int, int]]:
    """Cut one chunk into blocks."""
    return [(lo, min(lo + BLOCK_ROWS, stop)) for lo in range(start, stop, BLOCK_ROWS)]


def map_chunks(function: Callable[[int, int], T], n_rows: int) -> list[T]:
    """Call ``function(start, stop)`` for each chunk of rows; results in chunk order."""
    return map_threads(lambda bounds: function(*bounds), chunks(n_rows))


def by_rows(function: Callable[..., NDArray[Any]], *arrays: NDArray[Any]) -> NDArray[Any]:
    """What a function that treats every row on its own makes of arrays, chunk by chunk.

    Examples
    --------
    >>> by_rows(lambda x, y: x + 2 * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([ 7., 10.])
    """
    none = function(*(array[:0] for array in arrays))
    out = np.empty((len(arrays[0]), *none.shape[1:]), none.dtype)

    def one_chunk(start: int, stop: int) -> None:
        out[start:stop] = function(*(array[start:stop] for array in arrays))

    map_chunks(one_chunk, len(out))
    return out


def map_threads(function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
    """Ordered map over ``items`` on the shared thread pool."""
    if len(items) <= 1 or thread_count() == 1:
        return [function(item) for item in items]
    return list(_shared_pool().map(function, items))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Inside, linear algebra libraries use one thread; theirs would compete with ours for cores.

    Their products are small here, and on a busy machine threads that wait for each other make
    them many times slower. Also a decorator.
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _shared_pool() -> ThreadPoolExecutor:
    global _pool, _pool_owner
    owner = (os.getpid(), thread_count())
    with _lock:
        if _pool is None or _pool_owner != owner:
            _pool = ThreadPoolExecutor(owner[1], thread_name_prefix="relprev")
            _pool_owner = owner
        return _pool
