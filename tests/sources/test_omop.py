from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable
from relprev.cohort.build import build_cohorts
from relprev.errors import InvalidInputError
from relprev.sources import read_omop
from relprev.sources.omop_tables import TABLES

QUERIES = ("SELECT * FROM visits ORDER BY visit", "SELECT * FROM codes ORDER BY ALL")


@pytest.fixture(scope="module")
def synthea(real_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("omop")
    with zipfile.ZipFile(real_data("omop-synthea27nj/Synthea27Nj_5.4.zip")) as archive:
        for table in TABLES:
            archive.extract(f"{table.upper()}.csv", folder)
    return folder


@pytest.fixture
def small(tmp_path):
    """Two persons, three visits, ICD source codes, one value without a concept."""
    tables = {
        "person": "person_id,gender_concept_id,year_of_birth,month_of_birth,day_of_birth,"
                  "race_concept_id,ethnicity_concept_id\n"
                  "1,8532,1980,6,15,8527,0\n2,8507,1990,,,0,0\n",
        "visit_occurrence": "visit_occurrence_id,person_id,visit_concept_id,visit_start_date\n"
                            "11,1,9203,2020-06-14\n12,1,9202,2020-06-16\n13,2,9203,2020-01-01\n",
        "condition_occurrence": "visit_occurrence_id,condition_concept_id,condition_source_value,"
                                "condition_source_concept_id\n"
                                "11,500,T74.11XA,600\n11,500,E967.3,601\n13,501,local 7,0\n"
                                ",501,T74.11XA,600\n",
        "concept": "concept_id,concept_name,vocabulary_id,concept_code\n"
                   "8527,White,Race,5\n500,Abuse,SNOMED,95922009\n501,Other,SNOMED,1\n"
                   "600,Adult physical abuse,ICD10CM,T74.11XA\n601,By partner,ICD9CM,E967.3\n",
    }  # fmt: skip
    for name, text in tables.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


def test_source_codes_keep_their_version(small):
    codes = read_omop(small, visit_concepts=()).query("SELECT visit, version, code FROM codes")
    assert sorted(codes) == [
        (0, "ICD10", "T7411XA"), (0, "ICD9", "E9673"), (2, "SOURCE", "LOCAL7"),
    ]  # fmt: skip


def test_standard_concepts(small):
    codes = read_omop(small, codes="standard").query("SELECT visit, version, code FROM codes")
    assert sorted(set(codes)) == [(0, "SNOMED", "95922009"), (1, "SNOMED", "1")]


def test_age_counts_full_years_and_emergency_visits_are_kept(small):
    source = read_omop(small)
    visits = source.query("SELECT visit_id, patient, age, sex, race FROM visits ORDER BY visit")
    assert visits == [(11, 1, 39, "F", "White"), (13, 2, 29, "M", None)]
    assert [(s.visits, s.patients) for s in source.attrition.steps] == [(3, 2), (2, 2)]


def test_synthea_counts(synthea):
    frames = {
        name: pd.read_csv(synthea / f"{name.upper()}.csv", low_memory=False) for name in TABLES
    }
    source = read_omop(synthea, visit_concepts=())
    assert source.n_visits == len(frames["visit_occurrence"]) == 1791
    conditions = frames["condition_occurrence"]
    linked = conditions["visit_occurrence_id"].isin(
        frames["visit_occurrence"]["visit_occurrence_id"]
    )
    assert source.query("SELECT count(*) FROM codes") == [(int(linked.sum()),)]
    assert read_omop(synthea).n_visits == 56
    assert read_omop(synthea, visit_concepts=[9201]).n_visits == 13


def test_codes_are_described_by_their_concepts(small, synthea):
    assert read_omop(small).descriptions == {
        "ICD10:T7411XA": "Adult physical abuse",
        "ICD9:E9673": "By partner",
    }
    assert read_omop(small, codes="standard").descriptions["SNOMED:95922009"] == "Abuse"
    assert (
        read_omop(synthea, visit_concepts=()).descriptions["SNOMED:444814009"].startswith("Viral")
    )


def test_tables_are_fingerprinted_without_the_address(small):
    details = read_omop(small).details
    assert [item["table"] for item in details["data"]] == list(TABLES)
    assert all(set(item) == {"table", "blake2b"} for item in details["data"])
    assert str(small) not in str(details)


def test_synthea_end_to_end(synthea):
    """Sinusitis by ethnicity: enough to build a cohort, far too little to estimate from."""
    sinusitis = CodeSet.of("sinusitis", ["SNOMED:444814009", "SNOMED:195662009"])
    source = read_omop(synthea, visit_concepts=())
    built = build_cohorts(CohortSpec(sinusitis, (GroupVariable("ethnicity"),)), source)["ethnicity"]
    assert set(built.cohort.group_names) == {"Hispanic or Latino", "Not Hispanic or Latino"}
    assert "SNOMED:444814009" not in built.cohort.feature_names
    expected = source.query(
        "SELECT count(DISTINCT visit) FROM codes WHERE code IN ('444814009', '195662009')"
    )
    assert [(int(built.cohort.diagnosed.sum()),)] == expected


def test_duckdb_parquet_and_csv_agree(small, tmp_path):
    database, parquet = tmp_path / "cdm.duckdb", tmp_path / "parquet"
    parquet.mkdir()
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE SCHEMA omop")
        for table in TABLES:
            connection.execute(
                f"CREATE TABLE omop.{table} AS FROM read_csv('{small / table}.csv', header=true)"
            )
            connection.execute(f"COPY omop.{table} TO '{parquet / table}.parquet'")
    sources = [read_omop(small), read_omop(parquet), read_omop(database, schema="omop")]
    for query in QUERIES:
        first, second, third = (source.query(query) for source in sources)
        assert first == second == third
        assert first


def test_missing_tables_and_columns_are_named(small, tmp_path):
    (small / "person.csv").write_text("person_id\n1\n")
    with pytest.raises(InvalidInputError, match=r"person\.csv lacks the columns gender_concept_id"):
        read_omop(small)
    (small / "concept.csv").unlink()
    with pytest.raises(InvalidInputError, match=r"lacks|has no concept\.parquet"):
        read_omop(small)
    with pytest.raises(InvalidInputError, match="no folder or DuckDB file"):
        read_omop(tmp_path / "nothing.duckdb")


def test_a_wrong_schema_is_named(small, tmp_path):
    database = tmp_path / "cdm.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE other (x INTEGER)")
    with pytest.raises(InvalidInputError, match="no table person in the schema 'main'"):
        read_omop(database)


def test_credentials_stay_out_of_errors():
    pytest.importorskip("psycopg")
    url = "postgresql://analyst:hunter2@127.0.0.1:1/cdm?connect_timeout=2"
    with pytest.raises(
        InvalidInputError, match=r"PostgreSQL database cannot be read \(the connection failed\)"
    ) as caught:
        read_omop(url)
    error = caught.value
    assert "hunter2" not in str(error)
    assert "analyst" not in str(error)
    assert error.__suppress_context__


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg2://analyst:hunter2@127.0.0.1:1/cdm?connect_timeout=2",
        "POSTGRES://analyst:hunter2@127.0.0.1:1/cdm?connect_timeout=2",
        "host=127.0.0.1 port=1 user=analyst password=hunter2 connect_timeout=2",
        "password = hunter2 host = 127.0.0.1 port = 1 connect_timeout=2",
        "postgresql://analyst:hunter2@[::1/cdm",
        "postgresql://analyst:hunter2@127.0.0.1:port/cdm",
        "postgresql://analyst:hunter2@127.0.0.1:1/cdm?nonsense=1",
        "postgresql//analyst:hunter2@127.0.0.1:1/cdm",
        "postgresql:/analyst:hunter2@127.0.0.1:1/cdm",
        "mysql://analyst:hunter2@127.0.0.1/cdm",
        "analyst:hunter2@127.0.0.1/cdm",
    ],
)
def test_addresses_of_all_spellings_stay_out_of_errors(address):
    """Only postgresql:// and postgres:// were known; the rest was shown as a missing file."""
    pytest.importorskip("psycopg")
    with pytest.raises(InvalidInputError, match=r"PostgreSQL") as caught:
        read_omop(address)
    assert "hunter2" not in str(caught.value)


def test_views_in_a_duckdb_file_are_refused(small, tmp_path):
    """A view over read_csv put the lines of any file into the report as names of races."""
    database, secret = tmp_path / "cdm.duckdb", tmp_path / "secret.csv"
    secret.write_text("concept_id,concept_name,vocabulary_id,concept_code\n8527,hunter2,Race,5\n")
    with duckdb.connect(str(database)) as connection:
        for table in TABLES:
            file = secret if table == "concept" else small / f"{table}.csv"
            kind = "VIEW" if table == "concept" else "TABLE"
            connection.execute(f"CREATE {kind} {table} AS FROM read_csv('{file}', header=true)")
    with pytest.raises(InvalidInputError, match=r"concept in cdm\.duckdb is a view.*as a table"):
        read_omop(database)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    file = tmp_path / "cdm.duckdb"
    file.write_text("person_id\n1\n")
    with pytest.raises(InvalidInputError, match="it is not a DuckDB database"):
        read_omop(file)


@pytest.fixture(scope="module")
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
    run(
        f"{binaries}/pg_ctl",
        "-D",
        f"{folder}/data",
        "-w",
        "-o",
        options,
        "-l",
        f"{folder}/log",
        "start",
    )
    try:
        yield f"postgresql://reader@/postgres?host={folder}"
    finally:
        run(f"{binaries}/pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def test_postgresql_agrees_with_csv(postgres, small):
    import psycopg

    with psycopg.connect(postgres) as server:
        server.execute("CREATE SCHEMA cdm")
        for table, columns in TABLES.items():
            frame = pd.read_csv(small / f"{table}.csv", dtype=str)
            kinds = {"vocabulary_id": "text", "visit_start_date": "date"}
            numbers = (c for c in columns if c.endswith("_id") and c not in kinds)
            kinds |= dict.fromkeys(numbers, "bigint")
            typed = ", ".join(f"{c} {kinds.get(c, 'text')}" for c in columns)
            server.execute(f"CREATE TABLE cdm.{table} ({typed})")
            marks = ", ".join(["%s"] * len(columns))
            with server.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO cdm.{table} VALUES ({marks})",
                    frame[list(columns)].astype(object).where(frame.notna(), None).values.tolist(),
                )
        server.commit()
    from_server, from_files = read_omop(postgres, schema="cdm"), read_omop(small)
    for query in QUERIES:
        assert from_server.query(query) == from_files.query(query)
    with pytest.raises(InvalidInputError, match="no table person in the schema 'public'"):
        read_omop(postgres)
