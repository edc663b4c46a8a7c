"""Parts in the memory of a Dask cluster's workers.

Dask schedules, moves and retries: a part that is lost with its worker is rebuilt from the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

from relprev.parallel.cluster import gathered, large_tasks
from relprev.parallel.threads import use_threads
from relprev.progress import passed
from relprev.rows.backend import Backend, Each, Function


class OnCluster(Backend):
    """Parts on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    futures : sequence of distributed.Future
        The parts.
    """

    def __init__(self, client: Any, futures: Sequence[Any]) -> None:
        super().__init__(futures)
        self._client = client

    def map(self, function: Function, *shared: Any, each: Each = None) -> list[Any]:
        results = gathered(self._client, self._submit(function, shared, each))
        passed()
        return results

    def derive(self, function: Function, *shared: Any, each: Each = None) -> OnCluster:
        return OnCluster(self._client, self._submit(function, shared, each))

    def keep(
        self, function: Function, *shared: Any, each: Each = None
    ) -> tuple[list[Any], OnCluster]:
        both = OnCluster(self._client, self._submit(function, shared, each))
        return both.map(itemgetter(0)), _Kept(self._client, both)

    def select(self, which: Sequence[int]) -> OnCluster:
        return OnCluster(self._client, [self._parts[k] for k in which])

    def _submit(self, function: Function, shared: Any, each: Each) -> list[Any]:
        with large_tasks():
            return [
                self._client.submit(
                    on_worker, function, part, *(() if each is None else (each[k],)), *shared,
                    pure=False,
                )
                for k, part in enumerate(self._parts)
            ]  # fmt: skip


class _Kept(OnCluster):
    """The second entries of parts that are tuples, extracted when they are first needed."""

    def __init__(self, client: Any, both: OnCluster) -> None:
        self._client, self._both = client, both

    @cached_property
    def _parts(self) -> list[Any]:  # type: ignore[override]
        return list(self._both.derive(itemgetter(1)).handles)

    def __len__(self) -> int:
        return len(self._both)


def on_worker(function: Function, *arguments: Any) -> Any:
    """Run a function with as many threads as the Dask worker has."""
    from distributed import get_worker

    with use_threads(get_worker().state.nthreads):
        return function(*arguments)
