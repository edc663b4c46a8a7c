"""From OMOP tables on PostgreSQL to a cohort: time, and memory of our process.

A PostgreSQL server is started in a temporary folder and filled with simulated tables in SQL: one
visit in five is an emergency visit, every visit has two condition records, and one record in fifty
names no visit. Three studies are timed, each in a process of its own: emergency visits, all visits,
and people observed over two years. 50 million records need 20 GB of disk and the Debian package
postgresql, or another with initdb and pg_ctl on the path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.measure import peak_gib, seconds
from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable, build_cohorts
from relprev.sources import read_omop

SIZES = (500_000, 5_000_000, 50_000_000)  # condition records
STUDIES: dict[str, dict[str, Any]] = {
    "emergency visits": {},
    "all visits": {"visit_concepts": ()},
    "people": {"unit": "person", "start": "2018-01-01", "end": "2019-12-31"},
}
TABLES = """
CREATE TABLE concept AS
    SELECT n::int AS concept_id, 'Condition ' || n AS concept_name, 'ICD10CM' AS vocabulary_id,
           chr(65 + n % 26) || lpad((n / 26)::text, 4, '0') AS concept_code
    FROM generate_series(10001, 20000) n;
CREATE TABLE person AS
    SELECT n AS person_id, CASE WHEN n % 2 = 0 THEN 8532 ELSE 8507 END AS gender_concept_id,
           1930 + n % 90 AS year_of_birth, 1 + n % 12 AS month_of_birth,
           1 + n % 28 AS day_of_birth,
           (ARRAY[8527, 8516, 8515])[1 + (n / 2) % 3] AS race_concept_id,
           CASE WHEN n % 5 = 0 THEN 38003563 ELSE 38003564 END AS ethnicity_concept_id
    FROM generate_series(1, {people}) n;
CREATE TABLE observation_period AS
    SELECT person_id, DATE '2015-01-01' AS observation_period_start_date,
           DATE '2020-12-31' AS observation_period_end_date FROM person;
CREATE TABLE visit_occurrence AS
    SELECT n AS visit_occurrence_id, 1 + (n * 7919::bigint % {people})::int AS person_id,
           CASE WHEN n % 5 = 0 THEN 9203 ELSE 9202 END AS visit_concept_id,
           DATE '2015-01-01' + n % 2190 AS visit_start_date,
           DATE '2015-01-01' + n % 2190 AS visit_end_date
    FROM generate_series(1, {visits}) n;
CREATE TABLE condition_occurrence AS
    SELECT k::bigint AS condition_occurrence_id, v.person_id,
           v.visit_start_date AS condition_start_date,
           CASE WHEN (v.visit_occurrence_id * 2 + k) % 50 > 0 THEN v.visit_occurrence_id END
               AS visit_occurrence_id,
           c AS condition_concept_id, 'code ' || c AS condition_source_value,
           c AS condition_source_concept_id
    FROM visit_occurrence v, generate_series(1, 2) k,
         LATERAL (SELECT 10001 + (9999 * power(
             (v.visit_occurrence_id * 2 + k) * 48271::bigint % 2147483647 / 2147483647.0, 3
         ))::int AS c) AS drawn;
"""


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per size and study."""
    rows = []
    with postgres() as url:
        for records in SIZES[:1] if quick else SIZES[1:]:
            _fill(url, records)
            for study in STUDIES:
                with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # memory of its own
                    rows.append(pool.submit(measure, url, study, records).result())
                print(rows[-1], flush=True)
    return rows


def measure(url: str, study: str, records: int) -> dict[str, Any]:
    """Read a study's source and build its cohort."""
    read, source = seconds(lambda: read_omop(url, **STUDIES[study]))
    codes = source.query("SELECT count(*) FROM codes")[0][0]
    spec = CohortSpec(CodeSet.of("any", ["ICD10:A*"]), (GroupVariable("race"),))
    build, built = seconds(lambda: build_cohorts(spec, source)["race"])
    return {
        "records": records, "study": study, "units": len(built.cohort.diagnosed), "codes": codes,
        "read_seconds": round(read, 1), "build_seconds": round(build, 1),
        "peak_gib": round(peak_gib(), 2),
    }  # fmt: skip


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a server of our own, on a Unix socket in a temporary folder."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    binaries = versions[0] if versions else Path(shutil.which("initdb") or "").parent
    account: dict[str, Any] = {"user": "postgres"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="relprev-", ignore_cleanup_errors=True) as folder:
        if account:
            shutil.chown(folder, "postgres")

        def call(*command: str) -> None:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **account)

        server = (f"{binaries}/pg_ctl", "-D", f"{folder}/data")
        call(f"{binaries}/initdb", "-D", f"{folder}/data", "-U", "reader", "-A", "trust")
        options = f"-k {folder} -c listen_addresses= -c fsync=off -c max_wal_size=4GB"
        call(*server, "-w", "-o", options, "-l", f"{folder}/log", "start")
        try:
            yield f"postgresql://reader@/postgres?host={folder}"
        finally:
            call(*server, "-m", "immediate", "stop")


def _fill(url: str, records: int) -> None:
    """Make the tables of this many condition records, two for every visit."""
    import psycopg

    visits = records // 2
    script = TABLES.format(people=max(visits // 5, 1), visits=visits)
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("DROP SCHEMA public CASCADE")
        server.execute("CREATE SCHEMA public")
        for statement in filter(str.strip, script.split(";")):
            server.execute(statement.encode())
        server.execute("ANALYZE")
