"""Run seeded replicates on several processes and keep their rows in one tidy file.

Each replicate is kept in a folder beside the file as soon as it is finished
(`relprev.parallel.kept`). When a run ends, even by Ctrl-C or ``kill``, its replicates are written
to the file; after a ``kill -9`` the next run does so. Replicates in the file are not run again. A
``.json`` file beside it records the command, the machine and the versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.measure import write_note

from relprev.experiments.engine import provenance
from relprev.parallel.kept import STAGE, kept_outcomes
from relprev.store.digests import digest
from relprev.store.files import written_whole
from relprev.store.stages import Outcome, Store

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
MODULES = ("relprev.inference.debiased", "relprev.checks.registry", "relprev.atlas.scan",
           "relprev.experiments.semisynthetic")  # fmt: skip
ROWS = "rows"
Job = tuple[str, int]  # scenario, replicate
Rows = list[dict[str, Any]]
Run = Callable[[Job], Rows]


def seed_of(job: Job) -> np.random.SeedSequence:
    """A replicate's own seed, independent of the order in which replicates run."""
    scenario, replicate = job
    return np.random.SeedSequence([replicate, *scenario.encode()])


def run_all(run: Run, jobs: list[Job], out: Path, processes: int, command: str) -> pd.DataFrame:
    """Rows of all jobs, read from the file if it holds them and run otherwise.

    Jobs are started in the order given. If all scenarios of a replicate are next to each other,
    a run that is stopped early has the same number of replicates of each.
    """
    done = pd.read_csv(out) if out.is_file() else pd.DataFrame()
    known = set(zip(done.scenario, done.replicate, strict=True)) if len(done) else set()
    marks = _marks(run)
    keys = {digest(*marks, job): job for job in jobs}
    todo = {key: job for key, job in keys.items() if job not in known}
    folder = out.with_suffix(".cells")
    table = done
    try:
        kept_outcomes(
            partial(_outcome, run), todo, folder, processes, title="Replicates",
            words=lambda job: "", verbose=True,
        )  # fmt: skip
    finally:
        kept = [found for key in todo if (found := Store(folder).find(STAGE, key)) is not None]
        if kept:
            records = [row for found in kept for row in found.tables[ROWS].to_dict("records")]
            table = pd.DataFrame(done.to_dict("records") + records)
            _write(table, out, command)
        _remove(folder, keys)
    return table


def _remove(folder: Path, keys: Iterable[str]) -> None:
    """Remove what is in the file now; replicates that were not asked for stay."""
    for key in keys:
        for path in folder.glob(f"{STAGE}-*{key}.*"):
            path.unlink()
    with suppress(OSError):  # missing, or not empty
        folder.rmdir()


def _outcome(run: Run, job: Job) -> Outcome:
    return Outcome(tables={ROWS: pd.DataFrame(run(job))})


def _marks(run: Run) -> list[Any]:
    """What replicates depend on, apart from the job: the code and the study's options."""
    code = [file.read_bytes() for file in sorted(FOLDER.glob("*.py"))]
    options = {name: str(value) for name, value in getattr(run, "keywords", {}).items()}
    function = getattr(run, "func", run)
    return [provenance(MODULES), *code, f"{function.__module__}.{function.__qualname__}", options]


def _write(table: pd.DataFrame, out: Path, command: str) -> None:
    ordered = table.sort_values(["scenario", "replicate"], kind="stable")
    with written_whole(out) as temporary:
        ordered.to_csv(temporary, index=False, float_format="%.6g")
    write_note(out.with_suffix(".json"), command=command)
