from __future__ import annotations

import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_omop
from tests.sources.conftest import fill_postgres


def test_an_empty_folder_of_a_table_is_named(small):
    (small / "person.csv").unlink()
    (small / "person").mkdir()
    with pytest.raises(InvalidInputError, match=r"folder person has no Parquet files"):
        read_omop(small)


def test_a_file_without_an_ending_is_no_table(small):
    (small / "person.csv").rename(small / "person")
    with pytest.raises(InvalidInputError, match=r"has no person\.parquet, .* nor a folder person"):
        read_omop(small)


def test_columns_are_found_whatever_their_case(small, tmp_path):
    """Snowflake writes names in capital letters."""
    import duckdb

    folder = tmp_path / "snowflake"
    for file in small.glob("*.csv"):
        (folder / file.stem.upper()).mkdir(parents=True)
        names = file.read_text().splitlines()[0]
        file.write_text(file.read_text().replace(names, names.upper(), 1))
        part = folder / file.stem.upper() / "data_0_0_0.snappy.parquet"
        duckdb.sql(f"COPY (FROM read_csv('{file}', all_varchar=true)) TO '{part}'")
    query = "SELECT visit_id, age, race, version, code FROM visits JOIN codes USING (visit)"
    assert sorted(read_omop(folder).query(query)) == sorted(read_omop(small).query(query))


def test_parts_of_a_table_are_read_together(small, tmp_path):
    import duckdb

    table = small / "condition_occurrence"
    table.mkdir()
    for k in range(3):
        duckdb.sql(
            f"COPY (FROM read_csv('{table}.csv') LIMIT 1 OFFSET {k}) TO '{table}/{k}.parquet'"
        )
    expected = read_omop(small).query("FROM codes ORDER BY ALL")
    (small / "condition_occurrence.csv").unlink()
    assert read_omop(small).query("FROM codes ORDER BY ALL") == expected


def test_a_wrong_schema_on_a_server_is_named(postgres, small):
    fill_postgres(postgres, "cdm", small)
    with pytest.raises(InvalidInputError, match="no table person in the schema 'public'"):
        read_omop(postgres)


def test_columns_of_other_types_on_a_server_are_refused(postgres, small):
    import psycopg

    fill_postgres(postgres, "cdm", small)
    with psycopg.connect(postgres) as server:
        server.execute("ALTER TABLE cdm.condition_occurrence ALTER visit_occurrence_id TYPE text")
    with pytest.raises(
        InvalidInputError, match=r"condition_occurrence\.visit_occurrence_id is of the type text"
    ):
        read_omop(postgres, schema="cdm")


def test_texts_that_are_no_dates_on_a_server_are_refused(postgres, small):
    import psycopg

    fill_postgres(postgres, "cdm", small)
    with psycopg.connect(postgres) as server:
        server.execute("ALTER TABLE cdm.visit_occurrence ALTER visit_start_date TYPE text")
        server.execute("UPDATE cdm.visit_occurrence SET visit_start_date = 'soon'")
    with pytest.raises(InvalidInputError, match="a column of dates holds something else"):
        read_omop(postgres, schema="cdm", start="2020-01-01")


def test_an_environment_variable_that_is_not_set_is_named(tmp_path):
    """It was looked for as a file of that name."""
    for given in ("$OMOP_OF_NOBODY", "${OMOP_OF_NOBODY}"):
        with pytest.raises(InvalidInputError, match="variable OMOP_OF_NOBODY is not set"):
            read_omop(tmp_path / given)


def test_missing_columns_on_a_server_are_named(postgres, small):
    import psycopg

    fill_postgres(postgres, "cdm", small)
    with psycopg.connect(postgres) as server:
        server.execute("ALTER TABLE cdm.person DROP race_concept_id")
    with pytest.raises(InvalidInputError, match="person lacks race_concept_id; is it OMOP"):
        read_omop(postgres, schema="cdm")


def test_whole_tables_are_not_kept(small, moved):
    kept = moved(small).query("SELECT table_name FROM information_schema.tables")
    assert not [name for (name,) in kept if name.startswith("file_")]
    assert ("raw_condition_occurrence",) not in kept
