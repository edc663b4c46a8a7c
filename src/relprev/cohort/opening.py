"""Open a cohort written in parts, on disk or spread over the workers of a cluster.

Whoever reads a file checks it against its checksum (`relprev.cohort.part_files`): this process
or, on a cluster, a worker. Each worker is dealt consecutive rows in proportion to its threads, and
reads them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relprev.cohort.cohort import Cohort
from relprev.cohort.part import CohortPart
from relprev.cohort.part_files import open_part, read_header, verify_files
from relprev.parallel.cluster import placed, require_ready
from relprev.rows.backend import Backend
from relprev.rows.dask import OnCluster
from relprev.rows.disk import OnDisk, Scratch
from relprev.rows.rows import copied


def open_parts(folder: str | Path, client: Any, *, scratch: str | Path | None) -> Cohort:
    """The cohort in a folder; see `Cohort.open`."""
    folder = Path(folder).absolute()  # workers may be in another directory
    header = read_header(folder)
    shared = (header["kind"], header["n_cols"], tuple(header["group_names"]))
    files = [(folder / part["file"], part) for part in header["parts"]]
    sizes = [part["rows"] for _, part in files]
    if client is None:
        verify_files(files)
        opened = [open_part(path, part, *shared) for path, part in files]
        backend: Backend = OnDisk(opened, Scratch(scratch))
    else:
        require_ready(client)
        batches = _batches(sizes, client.nthreads())
        sizes = [sum(stop - start for _, start, stop in batch) for _, batch in batches]
        dealt = [
            (worker, [(*files[k], start, stop) for k, start, stop in batch])
            for worker, batch in batches
        ]
        futures = placed(client, _open_rows, dealt, *shared)
        backend = OnCluster(client, futures)
    names = header["feature_names"]
    return Cohort(
        backend, tuple(sizes), header["n_cols"], shared[2],
        None if names is None else tuple(names), tuple(header["fields"]),
        tuple(header["control_names"]), tuple(header.get("sampled_psus", ())),
    )  # fmt: skip


def _open_rows(
    pieces: Sequence[tuple[Path, dict[str, Any], int, int]], kind: str, n_cols: int,
    names: tuple[str, ...],
) -> CohortPart:  # fmt: skip
    """Rows of several files as one part in memory."""
    found = []
    verify_files([(path, about) for path, about, _, _ in pieces])
    for path, about, start, stop in pieces:
        part = open_part(path, about, kind, n_cols, names)
        whole = stop - start == part.n
        found.append(copied(part) if whole else part.take(np.arange(start, stop)))
    return CohortPart.joined(found)


def _batches(
    sizes: Sequence[int], threads: dict[str, int]
) -> list[tuple[str, list[tuple[int, int, int]]]]:
    """One batch of consecutive rows per worker, in proportion to its threads.

    A batch is (worker, [(part, first row, one past the last row), ...]).
    """
    first = np.cumsum([0, *sizes])
    share = np.cumsum([0, *threads.values()]) / sum(threads.values())
    cuts = np.rint(share * first[-1]).astype(np.int64)
    batches = []
    for worker, low, high in zip(threads, cuts, cuts[1:], strict=False):
        spans = zip(np.maximum(first[:-1], low) - first[:-1],
                    np.minimum(first[1:], high) - first[:-1], strict=True)  # fmt: skip
        batch = [(k, int(a), int(b)) for k, (a, b) in enumerate(spans) if a < b]
        if batch:
            batches.append((worker, batch))
    return batches
