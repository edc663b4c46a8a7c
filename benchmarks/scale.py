"""Past memory and past one process: the same visits in memory, out of core and on a cluster.

Every measurement is a process of its own. The visits are those of `benchmarks.neds`, written
in parts of two million.

- In memory and out of core at 15,357,528 visits, out of core at 100 million: one pass
  (likelihood and gradient), PURPLE's path of six penalties, DebiasedPURPLE.
- On Dask workers of one thread each, one and two of them, at 15,357,528 visits. The driver's
  overhead of a pass is its time by the clock less the kernel time of the slowest worker.

Memory: ``anonymous_gib`` is the largest RssAnon (Linux), the memory that only this process
can free, read twenty times a second; ``peak_gib`` (VmHWM) also counts pages of mapped files,
which the system drops when it needs the room.

The visits stay in RELPREV_SCALE_FOLDER if that is set; otherwise in a temporary folder.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import best_seconds, peak_gib, seconds, write_results
from benchmarks.neds import CODES, NATIONAL, VISITS
from relprev.cohort import AnyCohort, PartitionedCohort, write_parts
from relprev.inference import DebiasedPURPLE
from relprev.model.likelihood import (
    AnyProblem,
    Parameters,
    Problem,
    _pass,
    evaluate,
    problem_of,
)
from relprev.model.path import PAPER_GRID, fit_path
from relprev.parallel import thread_count
from relprev.simulate import ed_visit_parts, ed_visits

MANY = 100_000_000
PART_ROWS = 2_000_000
PASSES = 5
TIMES = ("pass_seconds", "path_seconds", "debiased_seconds")
GIB = 2**30


def run(quick: bool) -> list[dict[str, Any]]:
    """In memory, out of core and on one and two workers; then many visits out of core."""
    few, many = (VISITS // 20, MANY // 50) if quick else (VISITS, MANY)
    jobs = [
        ("in memory", few, 0), ("out of core", few, 0), ("cluster", few, 1), ("cluster", few, 2),
        ("out of core", many, 0),
    ]  # fmt: skip
    rows: list[dict[str, Any]] = []
    with _folder() as folder:
        stored = {visits: _stored(folder, visits, quick) for visits in (few, many)}
        for kind, visits, workers in jobs:
            row, found = _alone(_measure, kind, visits, workers, str(stored[visits]))
            if not rows:
                in_memory = found
            rows.append(row | _compared(row, rows))
            if visits == few:
                rows[-1] |= _differences(in_memory, found)
            print(rows[-1], flush=True)
            write_results("scale", rows, quick)  # what is done is kept
    return rows


def _compared(row: dict[str, Any], before: list[dict[str, Any]]) -> dict[str, float]:
    """Time a visit over that in memory; time with one worker over that with several."""
    if row["kind"] == "out of core":
        ratio = before[0]["visits"] / row["visits"]
        return {f"{name}_in_memory": row[name] / before[0][name] * ratio for name in TIMES}
    if row.get("workers", 1) > 1:
        return {f"{name}_speedup": before[-1][name] / row[name] for name in TIMES}
    return {}


@contextmanager
def _folder() -> Iterator[Path]:
    kept = os.environ.get("RELPREV_SCALE_FOLDER")
    if kept:
        yield Path(kept)
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _stored(folder: Path, visits: int, quick: bool) -> Path:
    """The visits in parts, written unless they are there already."""
    path = folder / f"visits-{visits}"
    if not path.exists():
        rows = PART_ROWS // 8 if quick else PART_ROWS
        write_parts(ed_visit_parts(visits, rows=rows, **NATIONAL), path)
    return path


def _alone(function: Any, *arguments: Any) -> Any:
    """What the function returns in a new process, whose memory is then its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _measure(
    kind: str, visits: int, workers: int, folder: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One row, and the estimates behind it."""
    if kind == "in memory":
        return _fits(ed_visits(visits, **NATIONAL).cohort, kind)
    if kind == "out of core":
        return _fits(PartitionedCohort.open(folder), kind)
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = PartitionedCohort.open(folder, client)
        row, found = _fits(parts, kind)
        return row | {"workers": workers} | _driver(problem_of(parts)), found


def _fits(cohort: AnyCohort, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with _anonymous() as largest:
        problem = problem_of(cohort)
        at = _some_parameters(problem)
        one_pass = best_seconds(lambda: evaluate(problem, at), PASSES)
        path_seconds, path = seconds(lambda: fit_path(problem, PAPER_GRID))
        path_anonymous = largest[0]
        debiased_seconds, fitted = seconds(lambda: DebiasedPURPLE(lonely_psu="adjust").fit(cohort))
    table = fitted.relative_prevalence().to_frame()
    row = {
        "kind": kind, "visits": cohort.n, "codes": CODES, "parts": len(problem.sizes),
        "threads": thread_count(), "bytes": sum(problem.map(_n_bytes)),
        "ones": sum(problem.map(_ones)), "diagnosed": int(fitted._n_diagnosed.sum()),
        "pass_seconds": one_pass, "path_seconds": path_seconds,
        "path_passes": sum(point.certificate.passes for point in path),
        "path_converged": all(point.certificate.converged for point in path),
        "debiased_seconds": debiased_seconds, "strength": fitted.strength_,
        "lambda": fitted.lambda_, "largest_std_error": float(table["std_error"].max()),
        "path_anonymous_gib": path_anonymous / GIB, "anonymous_gib": largest[0] / GIB,
        "peak_gib": peak_gib(),
    }  # fmt: skip
    found = {
        "path": np.array([_ratios(problem, point.parameters) for point in path]),
        "estimate": table["estimate"].to_numpy(float),
        "std_error": table["std_error"].to_numpy(float),
    }
    return row, found


def _some_parameters(problem: AnyProblem) -> Parameters:
    rng = np.random.default_rng(0)
    theta = np.log(rng.uniform(0.2, 0.9, problem.n_groups))
    return Parameters(0.1 * rng.normal(size=problem.n_cols), -3.0, theta)


def _ratios(problem: AnyProblem, at: Parameters) -> np.ndarray:
    """Mean p(y=1|x) of every group over the first group's."""
    mean = evaluate(problem, at).condition / problem.group_weight
    return mean / mean[0]


def _differences(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Largest relative differences from the numbers found in memory."""
    return {f"{name}_difference": float(np.abs(other[name] / one[name] - 1).max()) for name in one}


def _n_bytes(part: Problem) -> int:
    return sum(array.nbytes for array in part.arrays().values())


def _ones(part: Problem) -> int:
    return int(part.X.nnz)


# -- the driver ----------------------------------------------------------------------------


def _driver(problem: AnyProblem) -> dict[str, Any]:
    """What a pass costs beside the kernels, and the bytes that travel."""
    at = _some_parameters(problem)
    overheads, took = [], []
    for _ in range(PASSES):
        clock, found = seconds(lambda: problem.map(_timed_pass, at))
        busy: dict[int, float] = {}
        for process, kernel, _ in found:
            busy[process] = busy.get(process, 0.0) + kernel
        took.append(clock)
        overheads.append(clock - max(busy.values()))
    result = found[0][2]
    return {
        "timed_pass_seconds": float(np.median(took)),
        "driver_seconds": float(np.median(overheads)),
        "driver_share": float(np.median(overheads) / np.median(took)),
        "bytes_sent_a_part": len(pickle.dumps(at)),
        "bytes_returned_a_part": len(pickle.dumps(result)),
    }


def _timed_pass(part: Problem, at: Parameters) -> tuple[int, float, Any]:
    start = perf_counter()
    result = _pass(part, at)
    return os.getpid(), perf_counter() - start, result


@contextmanager
def _anonymous() -> Iterator[list[int]]:
    """A list whose entry is the largest anonymous memory of this process so far, in bytes."""
    largest, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            largest[0] = max(largest[0], _rss_anon())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield largest
    finally:
        done.set()
        thread.join()


def _rss_anon() -> int:
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])
    return 0
