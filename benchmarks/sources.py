"""From a raw NEDS file to the cohorts: 3,300,000 and 33,100,000 simulated visits.

The following are timed one after another in the same process: a bare DuckDB scan that counts the
values in the columns relprev uses and does nothing else with them; the same scan with the codes
normalised, collected in lists and handed over, which any use of them needs; the digest of the
file; reading (digest, conversion to the store, checks); building (women aged 18 or over, the
cohorts of all four group variables). Processor seconds are given beside seconds by the clock,
because they stay the same when the machine has other work to do.

Reading cannot come near a bare scan: it also writes the numbers and lists to the store, where
every later study finds them. It does so once per file.

The largest size needs 7 GB of disk in the temporary folder.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.measure import peak_gib
from relprev.cohort import build_cohorts, cohort_spec
from relprev.simulate.neds import write_neds
from relprev.sources import Source, read_neds
from relprev.sources.database import connect
from relprev.sources.fingerprint import file_digest
from relprev.sources.formats import csv_relation
from relprev.sources.neds_store import KINDS, read_layout
from relprev.sources.source import code_list

CODES = 19_710
SIZES = (330_000, 3_300_000, 33_100_000)
USED = tuple(name for name in read_layout("Core", 2019) if name in KINDS or "I10_DX" in name)
T = TypeVar("T")


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per number of visits, smallest first."""
    rows = []
    for visits in SIZES[:1] if quick else SIZES[1:]:
        with tempfile.TemporaryDirectory(prefix="relprev-") as folder:
            rows.append(_measure(visits, Path(folder)))
        print(rows[-1], flush=True)
    return rows


def _measure(visits: int, folder: Path) -> dict[str, Any]:
    path = folder / "NEDS_2019_Core.csv"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # its memory is not ours
        pool.submit(_write, path, visits).result()
    scan, _ = _timed(lambda: _bare_scan(path))
    values, _ = _timed(lambda: _values(path))
    digest, _ = _timed(lambda: file_digest(path))
    read, source = _timed(lambda: read_neds(path, cache=folder / "cache"))
    stored, _ = _timed(lambda: _bare_scan_of_store(source))
    build, built = _timed(lambda: build_cohorts(cohort_spec("ipv-neds"), source))
    source.close()
    return {
        "visits": visits, "codes": CODES, "bytes": path.stat().st_size,
        "store_bytes": sum(file.stat().st_size for file in (folder / "cache").iterdir()),
        "women": max(item.cohort.n for item in built.values()),
        "ones": max(item.cohort.X.nnz for item in built.values()),
        **_columns("scan", scan), **_columns("read", read), **_columns("build", build),
        **_columns("values", values), **_columns("digest", digest),
        **_columns("store_scan", stored),
        "visits_per_second": visits / (read[0] + build[0]),
        "over_scan": (read[0] + build[0]) / scan[0],
        "cpu_over_scan": (read[1] + build[1]) / scan[1],
        "peak_gib": peak_gib(),
    }  # fmt: skip


def _write(path: Path, visits: int) -> None:
    write_neds(path, visits, n_codes=CODES, prevalence=0.02, seed=1)


def _bare_scan(path: Path) -> None:
    relation = csv_relation(path, read_layout("Core", 2019), header=False)
    counts = ", ".join(f"count({name})" for name in USED)
    with connect() as connection:
        connection.execute(f"SELECT {counts} FROM {relation}").fetchall()


def _values(path: Path) -> None:
    relation = csv_relation(path, read_layout("Core", 2019), header=False, kinds=KINDS)
    numbers = [name for name in USED if name in KINDS]
    codes = code_list([name for name in USED if name not in KINDS])
    with connect() as connection:
        query = connection.sql(f"SELECT {', '.join(numbers)}, {codes} AS codes FROM {relation}")
        for _ in query.to_arrow_reader(1_000_000):
            pass


def _bare_scan_of_store(source: Source) -> None:
    source.query("SELECT count(age), count(sex), count(weight), count(psu) FROM visits")
    source.query("SELECT count(visit), count(code) FROM codes")


def _timed(function: Callable[[], T]) -> tuple[tuple[float, float], T]:
    """Clock and processor seconds, and the result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = function()
    return (time.perf_counter() - clock, time.process_time() - processor), result


def _columns(name: str, times: tuple[float, float]) -> dict[str, float]:
    return {f"{name}_seconds": times[0], f"{name}_cpu_seconds": times[1]}
