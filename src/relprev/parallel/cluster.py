"""Dask clusters: start one, connect to one, and report its failures in plain words.

Dask schedules, moves and retries. What is added here is an error, before the work begins or as
soon as it shows, if a cluster cannot give the right answer or any answer at all.
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
POLL_SECONDS = 5.0  # between looks at the workers while waiting for results
STEADY_SECONDS = 30.0  # after which a worker counts as stable
LOST_SECONDS = 90.0  # without a stable worker or a result, before giving up
RESUMES = "run again: a study resumes where it stopped"
REMEDY = (
    "together they hold the whole cohort. Give them more memory, add machines, or work without a "
    f"cluster (out of core); then {RESUMES}"
)


@contextmanager
def local_cluster(workers: int, *, with_dashboard: bool = False) -> Iterator[Any]:
    """A client of a new cluster of processes, which share this machine's cores and memory.

    They communicate by TLS, with certificates made for this cluster and kept in memory, so that
    other users of the machine can neither listen in nor send work.

    Parameters
    ----------
    workers : int
        Number of processes.
    with_dashboard : bool
        Whether to serve Dask's page about its workers (this needs bokeh), which every user of this
        machine can read. Without it, no page is served at all.
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
            dashboard_address="127.0.0.1:0",
            security=_certificates(), silence_logs=logging.ERROR,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        if not with_dashboard:
            cluster.scheduler.http_server.stop()
            cluster.scheduler.services.clear()
        client.register_plugin(_without_page())
        yield client


def _certificates() -> Any:
    from distributed.security import Security

    try:
        return Security.temporary()
    except ImportError:
        raise ClusterError(
            "a cluster on this machine needs the package cryptography to keep other users out: "
            "pip install 'relprev[cluster]'"
        ) from None


def _without_page() -> Any:
    """A plugin that stops the workers' HTTP servers, which nobody uses."""
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
        The scheduler's, for example ``"tcp://10.0.0.5:8786"``.
    timeout : float, optional
        Seconds to wait for it. Default: 10.
    """
    distributed = _distributed()
    client, why = None, ""
    try:
        client = distributed.Client(address, timeout=timeout or SECONDS)
    except TypeError:
        why = (
            f"the scheduler at {address} requires TLS, but Dask's configuration names no "
            "certificates; set distributed.comm.tls"
        )
    except (OSError, TimeoutError, ValueError):
        why = (
            f"no scheduler answers at {address}; check the address (as 'dask scheduler' prints "
            "it), that the scheduler runs, and that no firewall is in the way"
        )
    if client is None:
        gc.collect()  # collected later, a client that could not connect may stop the next one
        raise ClusterError(why)
    with client:
        yield client


def dashboard(client: Any) -> str:
    """Web address of Dask's page about its workers; empty if there is none."""
    has_page = "dashboard" in client.scheduler_info(n_workers=0).get("services", {})
    return str(client.dashboard_link) if has_page else ""


def require_ready(client: Any) -> None:
    """Wait for a first worker; fail unless all workers have this process's versions."""
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
                f"the worker at {worker} has other versions ({'; '.join(differ)}), so results "
                "could differ; install the same versions on all machines"
            )


def _matters(name: str, version: str) -> str:
    """The part of a version that must agree; Python's bug-fix releases may differ."""
    return version.rpartition(".")[0] if name == "python" else version


def large_tasks() -> AbstractContextManager[Any]:
    """Inside, Dask does not warn about tasks that carry many row numbers.

    It would advise scattering them, but what is scattered is lost with its worker.
    """
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


def placed(
    client: Any, function: Callable[..., Any], dealt: Sequence[tuple[str, Any]], *shared: Any
) -> list[Any]:
    """Call ``function(own, *shared)`` on each worker with its own entry of ``dealt``.

    Entries are (address of the worker, own). Returns finished futures; what is lost later may be
    rebuilt by any worker.
    """
    futures = [
        client.submit(
            function, own, *shared, pure=False, workers=[worker], allow_other_workers=True
        )
        for worker, own in dealt
    ]
    gathered(client, [client.submit(_nothing, future, pure=False) for future in futures])
    keys = [future.key for future in futures]

    def forget_workers(dask_scheduler: Any = None) -> None:  # or it would wait for them forever
        for key in keys:
            dask_scheduler.tasks[key].worker_restrictions = None

    client.run_on_scheduler(forget_workers)
    return futures


def _nothing(_: Any) -> None:
    """Wait for a future without moving its result."""


def gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Results of futures, in order; an error if no worker is left to compute them."""
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
    """Tells slow work from work that no worker is left to do.

    There is life as long as futures keep finishing, or a worker that has been up for a while is
    busy. Counting workers is not enough: nannies restart a worker whenever it dies, so there always
    seem to be some, and Dask may leave tasks to a worker that is gone.
    """

    def __init__(self, client: Any, futures: Sequence[Any]) -> None:
        self._client, self._futures = client, futures
        self._since, self._done = monotonic(), 0
        self._first_seen: dict[str, float] = {}

    def require_life(self) -> None:
        """Fail after `LOST_SECONDS` without life."""
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
                f"the workers of the cluster at {self._client.scheduler.address} are idle although "
                f"results are missing; {RESUMES}"
            )
        elif self._first_seen:
            raise ClusterError(
                f"the workers of the cluster at {self._client.scheduler.address} keep dying, most "
                f"likely for lack of memory ({REMEDY}), or because something kills them; see their "
                "logs"
            )
        else:
            raise _no_workers(self._client)


def _require_workers(client: Any) -> None:
    """Fail if the cluster has no worker within `WORKER_SECONDS`."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise _no_workers(client) from None


def _no_workers(client: Any) -> ClusterError:
    return ClusterError(
        f"the cluster at {client.scheduler.address} has no workers; start some with 'dask "
        f"worker {client.scheduler.address}', then {RESUMES}"
    )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Inside, failures of the cluster become a `ClusterError`."""
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker:
        raise ClusterError(
            "workers keep dying over the same part of the cohort, most likely for lack of memory: "
            f"{REMEDY}"
        ) from None
    except MemoryError:
        raise ClusterError(f"a worker ran out of memory: {REMEDY}") from None
    except (CommClosedError, CancelledError, asyncio.CancelledError, TimeoutError):
        raise ClusterError(
            f"the connection to the cluster's scheduler was lost; see its log, then {RESUMES}"
        ) from None


def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError:
        raise ClusterError(
            "a cluster needs the package distributed: pip install 'relprev[cluster]'"
        ) from None
    return distributed
