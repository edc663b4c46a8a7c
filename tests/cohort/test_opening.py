from __future__ import annotations

import pytest

from relprev.cohort.opening import _batches


def rows(batches):
    """Rows of every worker, counted through all parts."""
    return {worker: sum(stop - start for _, start, stop in batch) for worker, batch in batches}


def test_workers_get_rows_in_proportion_to_their_threads():
    batches = _batches([10, 20, 10], {"one": 1, "three": 3})
    assert batches == [("one", [(0, 0, 10)]), ("three", [(1, 0, 20), (2, 0, 10)])]
    assert rows(_batches([10, 20, 10], {"a": 1, "b": 1})) == {"a": 20, "b": 20}


@pytest.mark.parametrize("sizes", [[7], [3, 1, 4], [1, 1, 1, 90]])
@pytest.mark.parametrize("threads", [(1,), (2, 1), (1, 1, 5)])
def test_every_row_is_dealt_once_and_in_order(sizes, threads):
    workers = {f"worker {k}": count for k, count in enumerate(threads)}
    pieces = [piece for _, batch in _batches(sizes, workers) for piece in batch]
    dealt = [(part, row) for part, start, stop in pieces for row in range(start, stop)]
    assert dealt == [(part, row) for part, size in enumerate(sizes) for row in range(size)]


def test_a_worker_without_rows_gets_no_batch():
    assert [worker for worker, _ in _batches([1], {"a": 1, "b": 1, "c": 1})] == ["b"]
