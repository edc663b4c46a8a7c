"""Independent pieces of work in several processes.

Results must not depend on the number of processes, so a piece of work draws its random
numbers from a seed of its own and never from a shared stream.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

THREAD_VARIABLES = (
    "RELPREV_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip
Item = TypeVar("Item")
Result = TypeVar("Result")


def in_processes(
    work: Callable[[Any, Item], Result], shared: Any, items: Sequence[Item], processes: int
) -> Iterator[tuple[Item, Result]]:
    """Every item with its result, in the order in which they are finished.

    Parameters
    ----------
    work : function of (shared, item), importable by other processes
    shared : object
        What all pieces of work need; sent to every process once.
    items : sequence
    processes : int
        With one, the work is done here, item after item.

    Examples
    --------
    >>> from operator import mul
    >>> list(in_processes(mul, 10, [1, 2], processes=1))
    [(1, 10), (2, 20)]
    """
    if processes == 1 or len(items) <= 1:
        for item in items:
            yield item, work(shared, item)
        return
    context = get_context("spawn")  # a fork would copy locks held by threads
    others = set(active_children())
    pool = ProcessPoolExecutor(
        processes, mp_context=context, initializer=_start, initargs=(shared,)
    )
    with _one_thread_each(), pool:
        futures = {pool.submit(_call, work, item): item for item in items}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(active_children()) - others:  # do not wait for work under way
                worker.terminate()
            raise


_shared: Any = None  # of a worker process


def _start(shared: Any) -> None:
    """Leave Ctrl-C to the process that started this one, and end when that one is gone."""
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _call(work: Callable[[Any, Item], Result], item: Item) -> Result:
    return work(_shared, item)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started inside use one thread: with one process a core, more only compete."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
