"""Dask clusters: start one, connect to one, and say in plain words what goes wrong there.

Scheduling, transport and retries are Dask's. What is added is that a cluster which cannot
give the right answer, or any, is an error before the work begins or as soon as it shows.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager
from time import monotonic
from types import ModuleType
from typing import Any

from relprev.errors import ClusterError, InvalidInputError
from relprev.parallel.threads import available_cores
from relprev.store.versions import versions

SECONDS = 10.0  # to wait for a scheduler
WORKER_SECONDS = 60.0  # to wait for a worker: some clusters start them when needed
POLL_SECONDS = 5.0  # between looks at the workers while results are waited for
STEADY_SECONDS = 30.0  # after which a worker counts as there to stay
LOST_SECONDS = 90.0  # without such a worker, and without a result, before giving up
REMEDY = (
    "together they hold the whole cohort. Give them more memory, add machines, or work without a "
    "cluster (out of core); then run again: a study goes on where it was"
)


@contextmanager
def local_cluster(workers: int, *, with_dashboard: bool = False) -> Iterator[Any]:
    """A cluster of processes on this machine, which share its cores and memory.

    They speak TLS with certificates made for this cluster and kept in memory, so that other
    users of the machine can neither read along nor send work.

    Parameters
    ----------
    workers : int
        Number of processes.
    with_dashboard : bool
        Whether to open the page on which Dask shows what its workers do (this needs bokeh);
        everybody on this machine can read it. Without it, no page is served at all.

    Yields
    ------
    distributed.Client
        Connected to it.
    """
    distributed = _distributed()
    import dask

    if workers < 1:
        raise InvalidInputError(f"workers must be 1 or more, got {workers}")
    pages: dict[str, Any] = {} if with_dashboard else {"distributed.scheduler.http.routes": []}
    with (
        dask.config.set({**pages, "distributed.worker.http.routes": []}),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=max(1, available_cores() // workers),
            dashboard_address="127.0.0.1:0" if with_dashboard else None,
            security=_certificates(), silence_logs=logging.ERROR,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        if not with_dashboard:
            cluster.scheduler.http_server.stop()
        client.register_plugin(_without_page())
        yield client


def _certificates() -> Any:
    """Certificates for one cluster."""
    from distributed.security import Security

    try:
        return Security.temporary()
    except ImportError:
        raise ClusterError(
            "a cluster on this machine needs the package cryptography, which keeps other users "
            "out: pip install 'relprev[cluster]'"
        ) from None


def _without_page() -> Any:
    """A plugin that ends the workers' HTTP servers, which nobody uses."""
    from distributed.diagnostics.plugin import WorkerPlugin

    class WithoutPage(WorkerPlugin):
        name = "relprev-without-page"

        def setup(self, worker: Any) -> None:
            worker.http_server.stop()

    return WithoutPage()


@contextmanager
def connect(address: str, *, timeout: float | None = None) -> Iterator[Any]:
    """A client of a running cluster.

    Parameters
    ----------
    address : str
        Of its scheduler, for example ``"tcp://10.0.0.5:8786"``.
    timeout : float, optional
        Seconds to wait for it. Default: 10.

    Yields
    ------
    distributed.Client
        Connected to it.
    """
    distributed = _distributed()
    client, why = None, ""
    try:
        client = distributed.Client(address, timeout=timeout or SECONDS)
    except TypeError:
        why = (
            f"the scheduler at {address} speaks TLS, and no certificates for it are in Dask's "
            "configuration (distributed.comm.tls)"
        )
    except (OSError, TimeoutError, ValueError):
        why = (
            f"no scheduler answers at {address}; check the address (as 'dask scheduler' prints "
            "it), that it runs, and that no firewall is between"
        )
    if client is None:
        gc.collect()  # a client that could not connect may stop the next if it is collected later
        raise ClusterError(why)
    with client:
        yield client


def dashboard(client: Any) -> str:
    """Address of the page on which Dask shows what its workers do; empty if there is none.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.

    Returns
    -------
    str
        A web address.
    """
    has_page = "dashboard" in client.scheduler_info(n_workers=0).get("services", {})
    return str(client.dashboard_link) if has_page else ""


def require_ready(client: Any) -> None:
    """Fail unless the cluster has workers, all with this process's versions.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster. Its first worker is waited for.
    """
    _require_workers(client)
    ours = versions()
    with plain_errors():
        found = client.run(versions, on_error="return")
    for worker, theirs in found.items():
        if isinstance(theirs, OSError):
            raise ClusterError(f"the worker at {worker} does not answer; see its log")
        if isinstance(theirs, Exception):
            raise ClusterError(
                f"the worker at {worker} cannot load relprev ({type(theirs).__name__}); install "
                f"relprev {ours['relprev']} there"
            )
        differ = [f"{name} {theirs[name]} there, {own} here"
                  for name, own in ours.items()
                  if _matters(name, theirs[name]) != _matters(name, own)]  # fmt: skip
        if differ:
            raise ClusterError(
                f"the worker at {worker} has other versions: {'; '.join(differ)}; results could "
                "differ. Install the same versions on all machines"
            )


def _matters(name: str, version: str) -> str:
    """The part of a version that must be the same; Python's bug fixes need not be."""
    return version.rpartition(".")[0] if name == "python" else version


def large_tasks() -> AbstractContextManager[Any]:
    """Inside, Dask does not warn of tasks that carry many row numbers.

    It would advise to scatter them, but what is scattered is lost with its worker.

    Returns
    -------
    context manager
        Around the tasks' submission.
    """
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


def placed(
    client: Any, function: Callable[..., Any], dealt: Sequence[tuple[str, Any]], *shared: Any
) -> list[Any]:
    """Have every worker make its own; what is lost later may be made again by any other.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    function : function of (what is dealt to the worker, *shared)
        Called on the workers.
    dealt : sequence of (address of a worker, object)
        What is whose.
    *shared : object
        Further arguments.

    Returns
    -------
    list of distributed.Future
        Finished.
    """
    futures = [
        client.submit(
            function, own, *shared, pure=False, workers=[worker], allow_other_workers=True
        )
        for worker, own in dealt
    ]
    gathered(client, [client.submit(_nothing, future, pure=False) for future in futures])
    keys = [future.key for future in futures]

    def forget_workers(dask_scheduler: Any = None) -> None:  # would wait for these for ever
        for key in keys:
            dask_scheduler.tasks[key].worker_restrictions = None

    client.run_on_scheduler(forget_workers)
    return futures


def _nothing(_: Any) -> None:
    """Wait for what is given, and let it stay where it is."""


def gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Results of futures, in order; an error if nobody is left to work on them.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    futures : sequence of distributed.Future
        Waited for as long as one is finished now and then, or a worker stays.

    Returns
    -------
    list
        What the futures return.
    """
    watch = _Watch(client, futures)
    results = client.gather(futures, asynchronous=True)
    with plain_errors():
        waiting = asyncio.run_coroutine_threadsafe(results, client.loop.asyncio_loop)
        while True:
            try:
                return list(waiting.result(POLL_SECONDS))
            except TimeoutError:
                if waiting.done():
                    raise
                watch.require_life()


class _Watch:
    """Tells slow work from work that nobody is left to do.

    There is life as long as futures are finished, or a worker that has been there for a while works
    on something. Nannies start a worker again whenever it ends, so that there always seem to be
    some; and Dask may leave tasks to a worker that is gone.
    """

    def __init__(self, client: Any, futures: Sequence[Any]) -> None:
        self._client, self._futures = client, futures
        self._since, self._done = monotonic(), 0
        self._first_seen: dict[str, float] = {}

    def require_life(self) -> None:
        """Fail if there has been no life for some time."""
        now, done = monotonic(), sum(future.done() for future in self._futures)
        self._first_seen = {
            worker: self._first_seen.get(worker, now) for worker in self._client.nthreads()
        }
        steady = any(now - first > STEADY_SECONDS for first in self._first_seen.values())
        if done > self._done or (steady and any(self._client.processing().values())):
            self._since, self._done = now, done
        elif now - self._since <= LOST_SECONDS:
            return
        elif steady:
            raise ClusterError(
                f"the workers of the cluster at {self._client.scheduler.address} have nothing to "
                "do, though results are waited for; run again: a study goes on where it was"
            )
        elif self._first_seen:
            raise ClusterError(
                f"the workers of the cluster at {self._client.scheduler.address} are lost again "
                f"and again, most likely for lack of memory ({REMEDY}), or because something ends "
                "them; see their logs"
            )
        else:
            raise _no_workers(self._client)


def _require_workers(client: Any) -> None:
    """Fail if the cluster has no workers and gets none within a minute."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise _no_workers(client) from None


def _no_workers(client: Any) -> ClusterError:
    return ClusterError(
        f"the cluster at {client.scheduler.address} has no workers; start some with 'dask "
        f"worker {client.scheduler.address}', then run again: a study goes on where it was"
    )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Inside, what goes wrong on the cluster becomes a `ClusterError`."""
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker:
        raise ClusterError(
            "workers were lost again and again over the same part of the cohort, most likely for "
            f"lack of memory: {REMEDY}"
        ) from None
    except MemoryError:
        raise ClusterError(f"a worker ran out of memory: {REMEDY}") from None
    except (CommClosedError, CancelledError, asyncio.CancelledError, TimeoutError):
        raise ClusterError(
            "the connection to the cluster's scheduler was lost; see the scheduler's log, then run "
            "again: a study goes on where it was"
        ) from None


def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError:
        raise ClusterError(
            "a cluster needs the package distributed: pip install 'relprev[cluster]'"
        ) from None
    return distributed
