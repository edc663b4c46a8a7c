from __future__ import annotations

import zipfile

import duckdb
import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable
from relprev.cohort.build import build_cohorts
from relprev.errors import InvalidInputError
from relprev.sources import read_omop
from relprev.sources.omop_query import Scope
from tests.sources.conftest import TABLES, fill_postgres

WANTED = Scope("person", "visit", (), None, None).columns(["condition_occurrence"])
WANTED |= Scope("visit", "date", (), None, None).columns(["condition_occurrence"])
QUERIES = ("SELECT * FROM visits ORDER BY visit", "SELECT * FROM codes ORDER BY ALL")


@pytest.fixture(scope="module")
def synthea(real_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("omop")
    with zipfile.ZipFile(real_data("omop-synthea27nj/Synthea27Nj_5.4.zip")) as archive:
        for table in (*TABLES, "observation_period", "concept_ancestor"):
            archive.extract(f"{table.upper()}.csv", folder)
    return folder


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


def test_visits_have_the_day_on_which_they_began(synthea):
    """No window between visits worked in OMOP."""
    with read_omop(synthea, visit_concepts=[]) as source:
        assert "visit_date" not in source.attributes
        found = dict(source.query("SELECT visit_id, visit_date FROM visits"))
    raw = pd.read_csv(synthea / "VISIT_OCCURRENCE.csv")
    began = pd.to_datetime(raw["visit_start_date"]).dt.date
    assert found == dict(zip(raw["visit_occurrence_id"], began, strict=True))
    with read_omop(synthea, unit="person") as people:
        assert "visit_date" not in people.columns("visits")


def test_synthea_by_date_and_by_person(synthea):
    """Every record names its visit, so dates add none; people have all theirs while observed."""
    frames = {
        name: pd.read_csv(synthea / f"{name.upper()}.csv", low_memory=False)
        for name in ("condition_occurrence", "observation_period")
    }
    count = "SELECT count(*) FROM codes"
    visits = read_omop(synthea, visit_concepts=(), codes="standard")
    dated = read_omop(synthea, visit_concepts=(), codes="standard", match="date")
    assert dated.query(count) == visits.query(count)
    source = read_omop(synthea, codes="standard", unit="person")
    both = frames["condition_occurrence"].merge(frames["observation_period"], on="person_id")
    day = both["condition_start_date"]
    observed = (day >= both["observation_period_start_date"]) & (
        day <= both["observation_period_end_date"]
    )
    assert source.query(count) == [(int(observed.sum()),)]
    assert source.n_visits == 28
    assert {race for (race,) in source.query("SELECT DISTINCT race FROM visits")} <= {
        "White", "Black or African American", "Asian", None,
    }  # fmt: skip


@pytest.mark.parametrize("unit", ["visit", "person"])
def test_synthea_on_a_server_agrees_with_its_files(synthea, postgres, tmp_path, unit):
    for table, columns in WANTED.items():
        frame = pd.read_csv(synthea / f"{table.upper()}.csv", dtype=str, usecols=list(columns))
        frame.to_csv(tmp_path / f"{table}.csv", index=False)
    fill_postgres(postgres, "synthea", tmp_path)
    options = {"unit": unit} | ({"visit_concepts": (), "match": "date"} if unit == "visit" else {})
    server = read_omop(postgres, schema="synthea", codes="standard", **options)
    files = read_omop(synthea, codes="standard", **options)
    for query in QUERIES:
        assert server.query(query) == files.query(query)
    assert server.attrition == files.attrition


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
    tables = [item["table"] for item in details["data"]]
    assert tables == ["person", "units", "condition_occurrence", "concept"]
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
