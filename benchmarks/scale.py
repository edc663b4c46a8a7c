"""Past memory and past one process: the same visits in memory, out of core and on a cluster.

Every measurement runs in a process of its own. The visits are those of `benchmarks.neds`, written
in parts of two million. PURPLE's path of six penalties, then DebiasedPURPLE, are timed

- in memory and out of core at 15,357,528 visits, out of core at 100 million;
- on one and on two Dask workers with one thread each, at 15,357,528 visits. The driver's overhead
  per pass is the pass's time by the clock minus the kernel time of the slowest worker.

Other programs on the machine lengthen the time by the clock. ``cpu_seconds`` is the processor time
of the driver and all workers; ``critical_cpu_seconds`` is that of the driver and its busiest
worker.

Memory: ``anonymous_gib`` is the largest RssAnon (Linux), the memory that only this process can
free, sampled twenty times per second; ``peak_gib`` (VmHWM) also counts pages of mapped files, which
the system drops when it needs the room.

If RELPREV_SCALE_FOLDER is set, visits and measurements stay there and an interrupted run picks up
where it stopped; otherwise they are in a temporary folder.
"""

from __future__ import annotations

import json
import os
import pickle
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks.measure import best_seconds, peak_gib, seconds
from benchmarks.neds import CODES, NATIONAL, VISITS
from relprev.cohort import Cohort, write_parts
from relprev.inference import DebiasedPURPLE
from relprev.model.likelihood import Parameters, Problem, ProblemPart, _pass, evaluate
from relprev.model.path import PAPER_GRID, fit_path
from relprev.parallel.threads import thread_count
from relprev.simulate import ed_visit_parts, ed_visits
from relprev.store.files import written_whole

MANY = 100_000_000
PART_ROWS = 2_000_000
PASSES = 5
DRIVER_PASSES = 20
GIB = 2**30
Found = dict[str, Any]


class Job(NamedTuple):
    """What to fit, where the visits are, how many there are, and on how many workers."""

    fit: str
    where: str
    visits: int
    workers: int


def run(quick: bool) -> list[Found]:
    """One row per fit and place; estimates are compared with those in memory."""
    few, many = (VISITS // 100, MANY // 100) if quick else (VISITS, MANY)
    jobs = [
        Job("path", "in memory", few, 0), Job("path", "out of core", few, 0),
        Job("path", "out of core", many, 0), Job("path", "cluster", few, 1),
        Job("path", "cluster", few, 2), Job("debiased", "in memory", few, 0),
        Job("debiased", "out of core", few, 0), Job("debiased", "cluster", few, 1),
        Job("debiased", "cluster", few, 2), Job("debiased", "out of core", many, 0),
    ]  # fmt: skip
    rows: list[Found] = []
    with _folder() as folder:
        stored = {visits: _stored(folder, visits, quick) for visits in (few, many)}
        for job in jobs:
            row, estimates = _kept(folder, job, str(stored[job.visits]))
            if job.where == "in memory":
                in_memory, estimates_in_memory = row, estimates
            elif job.visits == few:
                row |= _differences(estimates_in_memory, estimates)
            rows.append(row | _compared(row, in_memory, rows))
            print(rows[-1], flush=True)
    return rows


def _kept(folder: Path, job: Job, visits: str) -> tuple[Found, Found]:
    """Row and estimates of a job, from its file if it was done before."""
    path = folder / f"{'-'.join(map(str, job)).replace(' ', '-')}.json"
    if not path.exists():
        with written_whole(path) as temporary:
            temporary.write_text(json.dumps(_alone(_measure, job, visits)))
    row, estimates = json.loads(path.read_text())
    return row, {name: np.array(values) for name, values in estimates.items()}


def _compared(row: Found, in_memory: Found, before: list[Found]) -> Found:
    """Time per visit relative to in memory; time with one worker relative to several."""
    names = [
        name for name in ("seconds", "critical_cpu_seconds", "pass_seconds", "pass_cpu_seconds")
        if name in row
    ]  # fmt: skip
    if row["where"] == "out of core":
        ratio = in_memory["visits"] / row["visits"]
        return {f"{name}_in_memory": row[name] / in_memory[name] * ratio for name in names}
    if row["workers"] > 1:
        return {f"{name}_speedup": before[-1][name] / row[name] for name in names}
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
    """The visits in parts, written unless they are already there."""
    path = folder / f"visits-{visits}"
    if not path.exists():
        rows = PART_ROWS // 8 if quick else PART_ROWS
        write_parts(ed_visit_parts(visits, rows=rows, **NATIONAL), path)
    return path


def _alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run the function in a new process, so that its memory is measured separately."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _measure(job: Job, folder: str) -> tuple[Found, Found]:
    """One row and the estimates behind it."""
    fit = _path if job.fit == "path" else _debiased
    with _visits(job, folder) as (cohort, workers), _anonymous() as largest:
        before = np.array([process_time(), *workers(process_time)])
        with (
            mock.patch("relprev.rows.disk.passed") as on_disk,
            mock.patch("relprev.rows.dask.passed") as on_cluster,
        ):
            row, estimates = fit(cohort)
        spent = np.array([process_time(), *workers(process_time)]) - before
        row["cpu_seconds"] = float(spent.sum())
        row["critical_cpu_seconds"] = float(spent[0] + spent[1:].max(initial=0.0))
        row["passes_over_parts"] = on_disk.call_count + on_cluster.call_count
        if job.workers and job.fit == "path":
            row |= _driver(Problem.from_cohort(cohort))
        row |= {"anonymous_gib": largest() / GIB, "peak_gib": peak_gib()}
        row["worker_gib"] = max(workers(peak_gib), default=0.0)
        threads = job.workers or thread_count()
        return job._asdict() | {"codes": CODES, "threads": threads} | row, estimates


@contextmanager
def _visits(job: Job, folder: str) -> Iterator[tuple[Cohort, Callable[..., list[float]]]]:
    """The cohort, and a function that calls a given function on every worker."""
    if job.where == "in memory":
        yield ed_visits(job.visits, **NATIONAL).cohort, lambda function: []
    elif job.where == "out of core":
        yield Cohort.open(folder), lambda function: []
    else:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=job.workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
            ) as cluster,
            Client(cluster) as client,
        ):
            parts = Cohort.open(folder, client)
            yield parts, lambda function: list(client.run(function).values())


def _path(cohort: Cohort) -> tuple[Found, Found]:
    """PURPLE's path of six penalties, and one pass."""
    problem = Problem.from_cohort(cohort)
    at = _some_parameters(problem)
    took, path = seconds(lambda: fit_path(problem, PAPER_GRID))
    row = {
        "seconds": took, "passes": sum(point.certificate.passes for point in path),
        "converged": all(point.certificate.converged for point in path),
        "pass_seconds": best_seconds(lambda: evaluate(problem, at), PASSES),
        "pass_cpu_seconds": _cpu_seconds(lambda: evaluate(problem, at)),
        "parts": len(problem.sizes), "bytes": sum(problem.map(_n_bytes)),
        "ones": sum(problem.map(_ones)),
    }  # fmt: skip
    return row, {"estimate": [_ratios(problem, point.parameters).tolist() for point in path]}


def _debiased(cohort: Cohort) -> tuple[Found, Found]:
    """DebiasedPURPLE with its default settings."""
    took, fitted = seconds(lambda: DebiasedPURPLE(lonely_psu="adjust").fit(cohort))
    table = fitted.relative_prevalence().to_frame()
    row = {
        "seconds": took, "diagnosed": int(table["n_diagnosed"].sum()),
        "strength": fitted.strength_, "lambda": fitted.lambda_,
        "largest_std_error": float(table["std_error"].max()),
    }  # fmt: skip
    return row, {name: table[name].tolist() for name in ("estimate", "std_error")}


def _cpu_seconds(function: Callable[[], Any]) -> float:
    """Processor time of this process, averaged over several runs."""
    start = process_time()
    for _ in range(PASSES):
        function()
    return (process_time() - start) / PASSES


def _some_parameters(problem: Problem) -> Parameters:
    rng = np.random.default_rng(0)
    theta = np.log(rng.uniform(0.2, 0.9, problem.n_groups))
    return Parameters(0.1 * rng.normal(size=problem.n_cols), -3.0, theta)


def _ratios(problem: Problem, at: Parameters) -> np.ndarray:
    """Mean p(y=1|x) of every group, divided by the first group's."""
    mean = evaluate(problem, at).condition / problem.group_weight
    return mean / mean[0]


def _differences(one: Found, other: Found) -> Found:
    """Largest relative differences from the numbers found in memory."""
    return {f"{name}_difference": float(np.abs(other[name] / one[name] - 1).max()) for name in one}


def _n_bytes(part: ProblemPart) -> int:
    return sum(array.nbytes for array in part.arrays().values())


def _ones(part: ProblemPart) -> int:
    return int(part.X.nnz)


# -- the driver ----------------------------------------------------------------------------


def _driver(problem: Problem) -> Found:
    """What a pass costs besides the kernels, and the bytes sent; medians over many passes."""
    at = _some_parameters(problem)
    clocks, kernels, cpu, start = [], [], [], process_time()
    for _ in range(DRIVER_PASSES):
        clock, found = seconds(lambda: problem.map(_timed_pass, at))
        clocks.append(clock)
        kernels.append(max(kernel for kernel, _, _ in found))
        cpu.append(max(spent for _, spent, _ in found))
    spent = (process_time() - start) / DRIVER_PASSES
    overhead = np.array(clocks) - kernels
    return {
        "driver_seconds": float(np.median(overhead)),
        "driver_seconds_least": float(overhead.min()),
        "driver_share": float(np.median(overhead / clocks)),
        "driver_share_least": float((overhead / clocks).min()),
        "driver_cpu_seconds": spent,
        "driver_cpu_share": float(spent / (spent + np.mean(cpu))),
        "bytes_sent_a_part": len(pickle.dumps(at)),
        "bytes_returned_a_part": len(pickle.dumps(found[0][2])),
    }


def _timed_pass(part: ProblemPart, at: Parameters) -> tuple[float, float, Any]:
    """Time of the kernels by the clock and in processor time, and what they return."""
    start, cpu = perf_counter(), process_time()
    result = _pass(part, at)
    return perf_counter() - start, process_time() - cpu, result


@contextmanager
def _anonymous() -> Iterator[Callable[[], int]]:
    """A function that gives the largest anonymous memory of this process so far, in bytes."""
    largest, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            largest[0] = max(largest[0], _rss_anon())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: largest[0]
    finally:
        done.set()
        thread.join()


def _rss_anon() -> int:
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])
    return 0
