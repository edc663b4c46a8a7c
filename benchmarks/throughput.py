"""Raw files to cohorts by this version and by an older one, in one run.

A NEDS file and the same visits as tables, wide (codes in columns) and long (one row per code),
are read and made a cohort of by both sources in turn, in processes of their own, three times each.
A process does it twice, and the second time is measured: what is loaded once is no throughput. The
least processor time of the three counts, with all of DuckDB's threads. A ratio of 1 or less says
that nothing has become slower; equal sources differ by a few percent.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.before import ROOT, taken_out
from relprev.simulate.neds import write_neds
from relprev.sources.formats import csv_relation
from relprev.sources.neds_store import read_layout

AGAINST = "2ae726c"  # before symptoms, persons, concept sets, MEDS and spreadsheets were read
REPEATS = 3
CODE_COLUMNS = 10
READ = """
import sys, tempfile, time
from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable, build_cohorts, cohort_spec
from relprev.sources import read_neds, read_tables

kind = sys.argv[1]
for _ in range(2):
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as cache:
        if kind == "neds":
            source, spec = read_neds("NEDS_2019_Core.csv", cache=cache), cohort_spec("ipv-neds")
        else:
            wide = kind == "wide"
            code = [f"dx{k}" for k in range(1, COLUMNS + 1)] if wide else "code"
            source = read_tables(
                "wide.csv" if wide else "visits.csv", None if wide else "codes.csv",
                visit_id="visit", code=code, version="ICD10", age="age", sex="sex",
                attributes=["payer"],
            )
            spec = CohortSpec(CodeSet.of("ipv", ["ICD10:T74*"]), (GroupVariable("payer"),))
        with source:
            build_cohorts(spec, source)
    spent = time.process_time() - begun
print(spent)
""".replace("COLUMNS", str(CODE_COLUMNS))
KINDS = {"neds": "NEDS", "wide": "wide table", "long": "long table"}


def run(quick: bool, against: str = AGAINST) -> list[dict[str, Any]]:
    """One row per kind of file, with the ratio of this version's processor time to the other's."""
    visits = 300_000 if quick else 3_000_000
    rows = []
    with tempfile.TemporaryDirectory(prefix="relprev-") as name:
        folder = Path(name)
        sources = {"older": taken_out(against, folder / "older"), "this": ROOT / "src"}
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # its memory is not ours
            pool.submit(_write, folder, visits).result()
        for kind, title in KINDS.items():
            spent: dict[str, list[float]] = {which: [] for which in sources}
            for _ in range(REPEATS):
                for which, source in sources.items():
                    spent[which].append(_cpu_seconds(kind, source, folder))
            least = {which: min(times) for which, times in spent.items()}
            rows.append({
                "read": title, "visits": visits, "against": against,
                "older_cpu_seconds": least["older"], "cpu_seconds": least["this"],
                "ratio": least["this"] / least["older"],
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def _write(folder: Path, visits: int) -> None:
    """The NEDS file, and its visits as tables."""
    core = folder / "NEDS_2019_Core.csv"
    write_neds(core, visits, n_codes=2_000, prevalence=0.02, seed=1)
    relation = csv_relation(core, read_layout("Core", 2019), header=False)
    kept = "KEY_ED AS visit, AGE AS age, if(FEMALE = '1', 'F', 'M') AS sex, PAY1 AS payer"
    codes = ", ".join(f"I10_DX{k} AS dx{k}" for k in range(1, CODE_COLUMNS + 1))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE wide AS SELECT {kept}, {codes} FROM {relation}")
        connection.execute("CREATE TABLE visits AS SELECT visit, age, sex, payer FROM wide")
        columns = ", ".join(f"dx{k}" for k in range(1, CODE_COLUMNS + 1))
        connection.execute(
            "CREATE TABLE codes AS FROM (SELECT visit, "
            f"unnest([{columns}]) AS code FROM wide) WHERE trim(code) <> ''"
        )
        for table in ("wide", "visits", "codes"):
            connection.execute(f"COPY {table} TO '{folder / table}.csv' (HEADER)")


def _cpu_seconds(kind: str, source: Path, folder: Path) -> float:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", READ, kind], cwd=folder, check=True,
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(source)},
    )  # fmt: skip
    return float(done.stdout.split()[-1])  # DuckDB may have drawn a progress bar before
