"""A whole study on a simulated NEDS file: cohort, both estimators, all checks, report.

The study file is the one that ``relprev init --source neds`` writes, with four group variables.
The time includes reading the raw file for the first time. With ``--full`` a file with as many
visits as a year of NEDS follows (7 GB of disk, half an hour). Peak memory is that of the process
so far, so the largest file is last.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
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
        took, result = seconds(lambda: Study.from_toml(file).run(folder / "results"))
        report = (folder / "results" / "report.html").stat().st_size
    stages = result.report.manifest["seconds"]
    slowest = dict(sorted(stages.items(), key=lambda item: -item[1])[:5])
    row = {
        "visits": visits, "variables": len(result.report.variables), "minutes": took / 60,
        "slowest_stages": slowest, "report_bytes": report, "peak_gib": peak_gib(),
    }  # fmt: skip
    print(row, flush=True)
    return row
