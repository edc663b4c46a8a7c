"""A small OMOP database, in the places where relprev finds one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from relprev.sources import read_omop
from relprev.sources.omop_tables import AMOUNTS

TEXTS = (
    "vocabulary_id", "condition_source_value", "concept_name", "concept_code", "value_as_string",
)  # fmt: skip
SMALL = {
    "person": """\
person_id,gender_concept_id,year_of_birth,month_of_birth,day_of_birth,race_concept_id,ethnicity_concept_id
1,8532,1980,6,15,8527,0
2,8507,1990,,,0,0
""",
    "observation_period": """\
person_id,observation_period_start_date,observation_period_end_date
1,2020-01-01,2020-12-31
2,2019-01-01,2019-12-31
2,2020-01-01,2020-06-30
""",
    "visit_occurrence": """\
visit_occurrence_id,person_id,visit_concept_id,visit_start_date,visit_end_date
11,1,9203,2020-06-14,2020-06-14
12,1,9202,2020-06-16,2020-06-20
13,2,9203,2020-01-01,
""",
    "condition_occurrence": """\
person_id,condition_start_date,visit_occurrence_id,condition_concept_id,condition_source_value,condition_source_concept_id
1,2020-06-14,11,500,T74.11XA,600
1,2020-06-14,11,500,E967.3,601
2,2020-01-01,13,501,local 7,0
""",
    "concept": """\
concept_id,concept_name,vocabulary_id,concept_code
8527,White,Race,5
500,Abuse,SNOMED,95922009
501,Other,SNOMED,1
502,Abuse by partner,SNOMED,2
600,Adult physical abuse,ICD10CM,T74.11XA
601,By partner,ICD9CM,E967.3
""",
    "concept_ancestor": """\
ancestor_concept_id,descendant_concept_id
500,500
500,502
502,502
501,501
""",
}
TABLES = ("person", "visit_occurrence", "condition_occurrence", "concept")  # of every study
PLACES = ("csv", "parquet", "duckdb", "postgresql")


@pytest.fixture
def small(tmp_path):
    """Folder with two persons, three visits, ICD source codes, one value without a concept."""
    folder = tmp_path / "omop"
    folder.mkdir()
    for name, text in SMALL.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


@pytest.fixture(params=PLACES)
def moved(request, tmp_path):
    """A function that puts a folder of CSV files in a place and reads it there."""
    return lambda folder, **options: _moved(request, folder, tmp_path, options)


def _moved(request, folder, tmp_path, options):
    if request.param == "csv":
        return read_omop(folder, **options)
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres")
        fill_postgres(url, "cdm", folder)
        return read_omop(url, schema="cdm", **options)
    database, parquet = tmp_path / "cdm.duckdb", tmp_path / "parquet"
    with duckdb.connect(str(database)) as connection:
        for file in folder.glob("*.csv"):
            kinds = ", ".join(f"'{text}': 'VARCHAR'" for text in header(file) if text in TEXTS)
            types = f", types={{{kinds}}}" if kinds else ""
            rows = f"read_csv('{file}', header=true{types})"
            connection.execute(f"CREATE TABLE {file.stem} AS FROM {rows}")
            part = parquet / file.stem / "part-000.snappy.parquet"  # as Spark writes them
            part.parent.mkdir(parents=True)
            (part.parent / "_SUCCESS").touch()
            connection.execute(f"COPY {file.stem} TO '{part}'")
    return read_omop(database if request.param == "duckdb" else parquet, **options)


def header(file):
    return file.read_text().splitlines()[0].split(",")


def fill_postgres(url, schema, folder):
    """Make the tables of a folder of CSV files, in a schema that is emptied first."""
    import psycopg

    with psycopg.connect(url) as server, server.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        cursor.execute(f"CREATE SCHEMA {schema}")
        for file in folder.glob("*.csv"):
            typed = ", ".join(f"{column} {_type(column)}" for column in header(file))
            cursor.execute(f"CREATE TABLE {schema}.{file.stem} ({typed})")
            with cursor.copy(f"COPY {schema}.{file.stem} FROM STDIN (FORMAT csv, HEADER)") as rows:
                rows.write(file.read_bytes())


def _type(column):
    if column.endswith("_date"):
        return "date"
    if column in AMOUNTS:
        return "numeric"
    return "text" if column in TEXTS else "integer"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """A PostgreSQL server of our own on a Unix socket; gives the URL."""
    pytest.importorskip("psycopg")
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    binaries = str(candidates[0]) if candidates else os.path.dirname(shutil.which("initdb") or "")
    if not binaries:
        pytest.skip("needs the PostgreSQL server (Debian package postgresql)")
    account = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        import pwd

        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("run as root without an account 'postgres' to start the server with")
        account = {"user": "postgres"}
    # A path outside pytest's private folder: the server's account must reach it.
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True, **account).strip())

    def run(*command):
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **account)

    run(f"{binaries}/initdb", "-D", f"{folder}/data", "-U", "reader", "-A", "trust")
    options = f"-k {folder} -c listen_addresses="
    server = (f"{binaries}/pg_ctl", "-D", f"{folder}/data")
    run(*server, "-w", "-o", options, "-l", f"{folder}/log", "start")
    try:
        yield f"postgresql://reader@/postgres?host={folder}"
    finally:
        run(*server, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
