"""Run independent pieces of work in several processes.

Results must not depend on the number of processes, so each piece of work draws its random
numbers from a seed of its own, never from a shared stream. With one process per core, more
threads would only compete: each process uses one.
"""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from relprev.parallel.threads import use_threads

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_processes(
    work: Callable[[Any, Item], Result], shared: Any, items: Sequence[Item], processes: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in the order in which they finish.

    Parameters
    ----------
    work : function of (shared, item), importable by other processes
    shared : object
        What all pieces of work need; sent to each process once.
    items : sequence
    processes : int
        With 1, the work is done in this process, item by item.

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
    others = set(active_children())
    context = get_context("spawn")  # a fork would copy locks held by threads
    with ProcessPoolExecutor(processes, context, initializer=_start, initargs=(shared,)) as pool:
        futures = {pool.submit(_call, work, item): item for item in items}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(active_children()) - others:  # do not wait for work under way
                worker.terminate()
            raise


_shared: Any = None  # set in worker processes


def _start(shared: Any) -> None:
    """Leave Ctrl-C to the parent process, and exit when the parent is gone."""
    global _shared
    _shared = shared
    threadpool_limits(1)  # in the libraries that unpickling ``shared`` has loaded
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()
    atexit.register(os._exit, 0)  # a watching thread is no leak that libraries need report


def _call(work: Callable[[Any, Item], Result], item: Item) -> Result:
    with use_threads(1):
        return work(_shared, item)
