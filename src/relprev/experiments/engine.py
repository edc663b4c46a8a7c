"""Compute cells in several processes; keep every finished one; start again where it stopped.

A finished cell is one small file, written whole or not at all. A killed run
therefore loses only the cells under way, and the next run computes what is missing.
Cells do not share random numbers, so the results do not depend on the order or on
the number of processes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd

from relprev.experiments.experiment import Cell
from relprev.files import written_whole
from relprev.progress import progress

PACKAGES = ("relprev", "numpy", "scipy", "scikit-learn")
SOURCE = Path(__file__).parents[1]
AFTER_CELLS = ("checks/", "cli/", "demo.py", "report/", "study/", "experiments/figures.py",
               "experiments/summary.py")  # fmt: skip
THREAD_VARIABLES = (
    "RELPREV_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip
Work = Callable[[Cell], dict[str, Any]]


def run_cells(
    cells: Sequence[Cell], work: Work, folder: Path, *, jobs: int = 1, verbose: bool = False
) -> pd.DataFrame:
    """Results of all cells, in their order; also written as ``results.parquet`` and ``.csv``.

    Parameters
    ----------
    cells : sequence of Cell
    work : function from a cell to its row, importable by other processes
    folder : Path
        Finished cells are kept in ``folder/cells``.
    jobs : int
        Processes.
    verbose : bool
        Show progress and time left on standard error.
    """
    made_with = provenance()
    store = folder / "cells"
    store.mkdir(parents=True, exist_ok=True)
    paths = [store / f"{cell.key(made_with)}.json" for cell in cells]
    missing = [(cell, path) for cell, path in zip(cells, paths, strict=True) if not path.is_file()]
    with progress("Cells", len(missing), verbose) as advance:
        advance(f"{len(cells) - len(missing)} more kept from an earlier run")
        for cell in _computed(missing, work, jobs):
            advance(f"{cell.experiment}, {cell.method}")
    for unfinished in store.glob(".*.json"):  # of a killed run
        unfinished.unlink(missing_ok=True)
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    results = pd.DataFrame(rows).assign(**made_with)
    results["estimate"] = results["estimate"].astype(float)  # null is NaN
    results["ratio"] = results["ratio"].astype(float)
    with written_whole(folder / "results.parquet") as path:
        results.to_parquet(path, index=False)
    with written_whole(folder / "results.csv") as path:
        results.to_csv(path, index=False)
    return results


def provenance() -> dict[str, str]:
    """Versions of packages, and ``source_digest``, which changes with relprev's own source.

    A cell is kept only for the same provenance: no result outlives the code that gave it. Modules
    that only read results do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(path for kind in ("*.py", "*.toml") for path in SOURCE.rglob(kind)):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(AFTER_CELLS):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    versions = {name: version(name) for name in PACKAGES}
    return {**versions, "source_digest": digest.hexdigest()[:12]}


def _computed(missing: Sequence[tuple[Cell, Path]], work: Work, jobs: int) -> Iterator[Cell]:
    """Every cell as it is finished."""
    if jobs == 1 or len(missing) <= 1:
        for cell, path in missing:
            _finish(work, cell, path)
            yield cell
        return
    context = get_context("spawn")  # a fork would copy locks held by threads
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_live_with_parent)
    with _one_thread_each(), pool:
        futures = {pool.submit(_finish, work, cell, path): cell for cell, path in missing}
        try:
            for future in as_completed(futures):
                future.result()
                yield futures[future]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(active_children()) - others:  # do not wait for cells under way
                worker.terminate()
            raise


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


def _live_with_parent() -> None:
    """Leave Ctrl-C to the process that started this one, and end when that one is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _finish(work: Work, cell: Cell, path: Path) -> None:
    row = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in work(cell).items()
    }
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(row), encoding="utf-8")
