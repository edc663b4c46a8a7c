"""Run seeded replicates on several processes and keep their rows in one tidy file.

The file is written whole after every batch; replicates found in it are not run again. A
``.json`` file beside it records the command, the machine and the versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.measure import machine

from relprev.parallel.threads import use_threads
from relprev.progress import progress
from relprev.store.files import written_whole

BATCH = 20
RESULTS = Path(__file__).parent / "results"
Job = tuple[str, int]  # scenario, replicate
Run = Callable[[Job], list[dict[str, Any]]]


def seed_of(job: Job) -> np.random.SeedSequence:
    """A replicate's own seed, independent of the order in which replicates run."""
    scenario, replicate = job
    return np.random.SeedSequence([replicate, *scenario.encode()])


def _on_one_core(run: Run, job: Job) -> list[dict[str, Any]]:
    with use_threads(1):
        return run(job)


def run_all(run: Run, jobs: list[Job], out: Path, processes: int, command: str) -> pd.DataFrame:
    """Rows of all jobs, taken from the file if they are in it and run otherwise.

    Jobs are started in the order given. If all scenarios of one replicate are next to each
    other, a run that is stopped early has the same number of replicates of each.
    """
    done = pd.read_csv(out) if out.is_file() else pd.DataFrame()
    known = set(zip(done.scenario, done.replicate, strict=True)) if len(done) else set()
    todo = [job for job in jobs if job not in known]
    rows = done.to_dict("records")
    with (
        progress("Replicates", len(todo), True) as advance,
        ProcessPoolExecutor(processes) as pool,
    ):
        futures = [pool.submit(_on_one_core, run, job) for job in todo]
        try:
            for number, future in enumerate(as_completed(futures), 1):
                rows += future.result()
                advance("")
                if number % BATCH == 0 or number == len(todo):
                    _write(pd.DataFrame(rows), out, command)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # otherwise it would run all jobs that are left
            raise
    return pd.DataFrame(rows)


def _write(table: pd.DataFrame, out: Path, command: str) -> None:
    ordered = table.sort_values(["scenario", "replicate"], kind="stable")
    note = {"command": command, **machine()}
    with written_whole(out) as temporary:
        ordered.to_csv(temporary, index=False, float_format="%.6g")
    with written_whole(out.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
