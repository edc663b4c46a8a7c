"""A whole study on a simulated NEDS file: cohort, both estimators, all checks, report.

The study file is the one that ``relprev init --source neds`` writes, with four group variables.
The time includes reading the raw file for the first time. The second run has another seed: cohorts
are kept, everything else is made again. With ``--full`` a file with as many visits as a year of
NEDS follows (7 GB of disk, an hour). Peak memory is that of the process so far, so the largest file
is last.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.measure import peak_gib, seconds
from relprev.simulate.neds import write_neds
from relprev.study import Study
from relprev.study.file.template import study_template

VISITS, FULL = 3_300_000, 33_100_000


def run(quick: bool, full: bool = False) -> list[dict[str, Any]]:
    """One row per size: minutes, the stages that took longest, memory."""
    sizes = (VISITS // 20,) if quick else (VISITS, FULL) if full else (VISITS,)
    return [_measure(visits) for visits in sizes]


def _measure(visits: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_neds(folder / "NEDS_2019_Core.csv", visits)
        file = folder / "study.toml"
        text = study_template("neds", "ipv")
        file.write_text(text.replace("# cache =", "cache ="), encoding="utf-8")
        study = Study.from_toml(file)
        before = process_time()
        took, result = seconds(lambda: study.run(folder / "results"))
        used = process_time() - before
        report = (folder / "results" / "report.html").stat().st_size
        again = replace(study, seed=study.seed + 1)
        later, _ = seconds(lambda: again.run(folder / "results", force=True))
    row = {
        "visits": visits, "variables": len(result.report.variables), "minutes": took / 60,
        "processor_minutes": used / 60, "minutes_again": later / 60,
        "stages": result.report.manifest["seconds"], "report_bytes": report, "peak_gib": peak_gib(),
    }  # fmt: skip
    print(row, flush=True)
    return row
