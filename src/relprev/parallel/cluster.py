"""Dask clusters: start one, connect to one, and say in plain words what goes wrong there.

Scheduling, transport and retries are Dask's. What is added is that a cluster which cannot
give the right answer, or any, is an error before the work begins or as soon as it shows.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any

from relprev.errors import ClusterError, InvalidInputError
from relprev.parallel.threads import available_cores
from relprev.store.versions import versions

SECONDS = 10.0  # to wait for a scheduler
WORKER_SECONDS = 60.0  # to wait for a worker: some clusters start them when needed
REMEDY = (
    "together they hold the whole cohort. Give them more memory, add machines, or work without a "
    "cluster (out of core); then run again: a study goes on where it was"
)


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """A cluster of processes on this machine, which share its cores and memory.

    Parameters
    ----------
    workers : int
        Number of processes.

    Yields
    ------
    distributed.Client
        Connected to it.
    """
    distributed = _distributed()
    if workers < 1:
        raise InvalidInputError(f"workers must be 1 or more, got {workers}")
    watched = importlib.util.find_spec("bokeh") is not None  # what Dask's dashboard needs
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=max(1, available_cores() // workers),
            dashboard_address="127.0.0.1:0" if watched else None, silence_logs=logging.ERROR,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


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
    try:
        client = distributed.Client(address, timeout=timeout or SECONDS)
    except (OSError, TimeoutError, ValueError):
        raise ClusterError(
            f"no scheduler answers at {address}; check the address (as 'dask scheduler' prints "
            "it), that it runs, and that no firewall is between"
        ) from None
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


def gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Results of futures, in order; an error if the cluster loses all its workers meanwhile.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    futures : sequence of distributed.Future
        Waited for as long as there are workers.

    Returns
    -------
    list
        What the futures return.
    """
    from distributed import wait

    with plain_errors():
        while True:
            try:
                wait(futures, timeout=WORKER_SECONDS)
            except TimeoutError:
                _require_workers(client)
            else:
                return list(client.gather(futures))


def _require_workers(client: Any) -> None:
    """Fail if the cluster has no workers and gets none within a minute."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise ClusterError(
            f"the cluster at {client.scheduler.address} has no workers; start some with 'dask "
            f"worker {client.scheduler.address}', then run again: a study goes on where it was"
        ) from None


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
