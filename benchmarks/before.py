"""What users wait for, before and after the work on speed, in one run.

The source as it was at a commit is taken out of git's history into a temporary folder. Every
command runs once to compile and cache, and is then measured with both sources in turn, in
processor seconds (of all cores, which other programs disturb less) and by the clock.

The small study has 2,694 people, 120 codes and three group variables, all checks.
"""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.simulate import ed_visits

BEFORE = "4137a09"
ROOT = Path(__file__).resolve().parents[1]
PEOPLE, CODES = 2_694, 120
RELPREV = ("-m", "relprev")
COMMANDS: dict[str, tuple[str, ...]] = {
    "`import relprev`": ("-c", "import relprev"),
    "`relprev --help`": (*RELPREV, "--help"),
    "`relprev check`, 2,694 people": (*RELPREV, "check", "study.toml"),
    "`relprev run`, 2,694 people": (*RELPREV, "run", "study.toml", "-q", "--out", "results"),
    "`relprev demo`, 92,855 visits": (*RELPREV, "demo", "-q", "--out", "results"),
}
STUDY = """
condition = {name = "it", codes = ["ICD10:T74.11"]}
[source]
kind = "tables"
visits = "visits.csv"
codes = "codes.csv"
visit_id = "visit"
code = "code"
version = "ICD10"
patient = "visit"
attributes = ["group", "region", "payer"]
[[groups]]
column = "group"
[[groups]]
column = "region"
[[groups]]
column = "payer"
"""


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per command; if quick, studies are left out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = {"before": taken_out(BEFORE, folder / "before"), "after": ROOT / "src"}
        _write_study(folder)
        rows = []
        for title, arguments in list(COMMANDS.items())[: 3 if quick else None]:
            row: dict[str, Any] = {"command": title, "commit": BEFORE}
            for when in ("first", "measured"):
                for which, source in sources.items():
                    work = folder / f"{which}-{when}"
                    work.mkdir(exist_ok=True)
                    for file in ("study.toml", "visits.csv", "codes.csv"):
                        (work / file).write_bytes((folder / file).read_bytes())
                    spent = _spent(arguments, source, work)
                    if when == "measured":
                        row[f"{which}_cpu_seconds"], row[f"{which}_seconds"] = spent
            rows.append(row)
            print(row, flush=True)
    return rows


def taken_out(commit: str, folder: Path) -> Path:
    """The source at a commit, in a folder of its own."""
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "src"], capture_output=True, check=False
    )
    if packed.returncode:
        sys.exit(f"commit {commit} is not in this copy's history; clone the repository with it")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def _write_study(folder: Path) -> None:
    cohort = ed_visits(PEOPLE, n_codes=CODES, prevalence=0.25, seed=3).cohort
    rng = np.random.default_rng(0)
    number = np.arange(PEOPLE)
    visits = pd.DataFrame({"visit": number, "group": cohort.group_labels})
    visits["region"] = np.array(["North", "South", "West"])[rng.integers(0, 3, PEOPLE)]
    visits["payer"] = np.array(["Private", "Public"])[rng.integers(0, 2, PEOPLE)]
    X, diagnosed = cohort.X.to_scipy().tocoo(), np.flatnonzero(cohort.diagnosed)
    codes = [*(f"X{j:03d}" for j in X.col), *["T7411"] * len(diagnosed)]
    visits.to_csv(folder / "visits.csv", index=False)
    recorded = pd.DataFrame({"visit": np.concatenate([X.row, diagnosed]), "code": codes})
    recorded.to_csv(folder / "codes.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")


def _spent(arguments: tuple[str, ...], source: Path, work: Path) -> tuple[float, float]:
    """Processor seconds and seconds by the clock of a command."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users' Python keeps what it has compiled
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], cwd=work, check=True, stdout=subprocess.DEVNULL,
        env=environment,
    )  # fmt: skip
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock
