"""Run seeded replicates on several processes and keep their rows in one tidy file.

The file is written whole every minute; replicates found in it are not run again. A
``.json`` file beside it records the command, the machine and the versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.measure import machine

from relprev.parallel.processes import in_processes
from relprev.progress import progress
from relprev.store.files import written_whole

EVERY = 60.0  # seconds after which the file is written again
RESULTS = Path(__file__).parent / "results"
Job = tuple[str, int]  # scenario, replicate
Run = Callable[[Job], list[dict[str, Any]]]


def seed_of(job: Job) -> np.random.SeedSequence:
    """A replicate's own seed, independent of the order in which replicates run."""
    scenario, replicate = job
    return np.random.SeedSequence([replicate, *scenario.encode()])


def _rows(run: Run, job: Job) -> list[dict[str, Any]]:
    return run(job)


def run_all(run: Run, jobs: list[Job], out: Path, processes: int, command: str) -> pd.DataFrame:
    """Rows of all jobs, read from the file if it holds them and run otherwise.

    Jobs are started in the order given. If all scenarios of a replicate are next to each other,
    a run that is stopped early has the same number of replicates of each.
    """
    done = pd.read_csv(out) if out.is_file() else pd.DataFrame()
    known = set(zip(done.scenario, done.replicate, strict=True)) if len(done) else set()
    todo = [job for job in jobs if job not in known]
    rows = done.to_dict("records")
    written = monotonic()
    with progress("Replicates", len(todo), True) as advance:
        for number, (_, found) in enumerate(in_processes(_rows, run, todo, processes), 1):
            rows += found
            advance("")
            if monotonic() - written > EVERY or number == len(todo):
                _write(pd.DataFrame(rows), out, command)
                written = monotonic()
    return pd.DataFrame(rows)


def _write(table: pd.DataFrame, out: Path, command: str) -> None:
    ordered = table.sort_values(["scenario", "replicate"], kind="stable")
    note = {"command": command, **machine()}
    with written_whole(out) as temporary:
        ordered.to_csv(temporary, index=False, float_format="%.6g")
    with written_whole(out.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
