"""What users wait for, before and after the work on speed, in one run.

The source as it was at a commit is taken out of git's history into a temporary folder. Every
command runs once to compile and cache, and is then measured with both sources in turn, in
processor seconds (of all cores, which other programs disturb less) and by the clock.

The small study has 2,694 people, 120 codes and three group variables, all checks. The large one
is that of `relprev init --source neds`, on a simulated file; it runs once with each source, since
everything is compiled by then. The last row compares estimates: those of PURPLE, and of the
debiased estimator with the models that it had then.
"""

from __future__ import annotations

import io
import json
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
from relprev.simulate.neds import write_neds

BEFORE = "4137a09"
ROOT = Path(__file__).resolve().parents[1]
PEOPLE, CODES = 2_694, 120
VISITS = 3_300_000
RELPREV = ("-m", "relprev")
COMMANDS: dict[str, tuple[str, ...]] = {
    "`import relprev`": ("-c", "import relprev"),
    "`relprev --help`": (*RELPREV, "--help"),
    "`relprev check`, 2,694 people": (*RELPREV, "check", "study.toml"),
    "`relprev run`, 2,694 people": (*RELPREV, "run", "study.toml", "-q", "--out", "results"),
    "`relprev demo`, 92,855 visits": (*RELPREV, "demo", "-q", "--out", "results"),
}
ESTIMATES = """
import json
from relprev import PURPLE, DebiasedPURPLE
from relprev.simulate import ed_visits
known = DebiasedPURPLE().get_params()
then = {"propensity": "ridge", "risk": "purple", "n_repeats": 1}
found = []
for visits, codes in ((20_000, 100), (100_000, 400)):
    cohort = ed_visits(visits, n_codes=codes, prevalence=0.1, seed=3).cohort
    for one in (PURPLE(), DebiasedPURPLE(**(then if "n_repeats" in known else {}))):
        found += one.fit(cohort).relative_prevalence("Group B").to_frame()["estimate"].tolist()
print(json.dumps(found))
"""
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
        if not quick:
            rows.append(_large(folder, sources))
            print(rows[-1], flush=True)
        rows.append(_estimates(sources))
        print(rows[-1], flush=True)
    return rows


def _estimates(sources: dict[str, Path]) -> dict[str, Any]:
    """How many estimates were compared, and the largest relative difference."""
    then, now = (
        np.array(json.loads(_run(("-c", ESTIMATES), source, ROOT).stdout))
        for source in sources.values()
    )
    largest = float(np.abs(now / then - 1).max())
    return {"command": "estimates", "commit": BEFORE, "compared": len(now), "largest": largest}


def _large(folder: Path, sources: dict[str, Path]) -> dict[str, Any]:
    """The study of a simulated NEDS file, with the study file of each source."""
    raw = folder / "NEDS_2019_Core.csv"
    write_neds(raw, VISITS)
    row: dict[str, Any] = {"command": f"`relprev run`, {VISITS:,} visits", "commit": BEFORE}
    for which, source in sources.items():
        work = folder / f"{which}-large"
        work.mkdir()
        os.link(raw, work / raw.name)
        _spent((*RELPREV, "init", "--source", "neds", "--condition", "ipv"), source, work)
        spent = _spent((*RELPREV, "run", "study.toml", "-q", "--out", "results"), source, work)
        row[f"{which}_cpu_seconds"], row[f"{which}_seconds"] = spent
    return row


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
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    _run(arguments, source, work)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


def _run(
    arguments: tuple[str, ...], source: Path, work: Path
) -> subprocess.CompletedProcess[bytes]:
    """Python with the package of this source."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users' Python keeps what it has compiled
    return subprocess.run(
        [sys.executable, *arguments], cwd=work, check=True, stdout=subprocess.PIPE, env=environment
    )
