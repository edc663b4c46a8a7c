from __future__ import annotations

import pytest

from relprev.parallel import cluster
from relprev.parallel.threads import thread_count
from relprev.rows.dask import OnCluster


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed")
    with cluster.local_cluster(1) as connected:
        yield connected


def test_what_is_kept_stays_on_the_workers_until_it_is_used(client):
    parts = OnCluster(client, client.scatter([[1, 2], [3]]))
    found, kept = parts.keep(lambda part: (sum(part), part[::-1]))
    assert found == [3, 3]
    assert "_parts" not in vars(kept)
    assert kept.map(lambda part: part) == [[2, 1], [3]]
    assert kept.here is None


def test_a_worker_computes_with_its_own_number_of_threads(client):
    parts = OnCluster(client, client.scatter([0, 1]))
    (worker,) = client.nthreads().values()
    assert parts.map(lambda part: thread_count()) == [worker, worker]
