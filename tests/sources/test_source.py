from __future__ import annotations

import hashlib
import json

import duckdb
import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.simulate.mimic import write_mimic
from relprev.simulate.neds import write_neds
from relprev.sources import SOURCES, Attrition, Source, Step, read_mimic, read_neds, read_tables
from relprev.sources.database import connect
from relprev.sources.source import code_list, labels

COLUMNS = (
    "0 AS visit, 'a' AS visit_id, 1 AS patient, 30 AS age, 'F' AS sex, 1.0 AS weight, "
    "NULL AS stratum, NULL AS psu, 2019 AS year"
)


def tables(visits=COLUMNS, codes="0 AS visit, 'ICD10' AS version, 'R51' AS code, '' AS role"):
    connection = connect()
    connection.execute(f"CREATE TABLE visits AS SELECT {visits}")
    connection.execute(f"CREATE TABLE codes AS SELECT {codes}")
    return connection


def test_a_source_counts_its_visits_and_lists_its_attributes():
    with Source("test", tables(COLUMNS + ", 'x' AS ward")) as source:
        assert source.attrition == Attrition((Step("visits in the source", 1, 1),))
        assert source.attributes == ("ward",)
        assert repr(source) == "<Source test: 1 visits, attributes ward>"


def test_tables_out_of_form_are_refused():
    with pytest.raises(InvalidInputError, match="visits table lacks visit_id, patient"):
        Source("test", tables(visits="0 AS visit"))
    with pytest.raises(InvalidInputError, match="codes table lacks role"):
        Source("test", tables(codes="0 AS visit, 'ICD10' AS version, 'R51' AS code"))
    with pytest.raises(InvalidInputError, match="numbered 0, 1"):
        Source("test", tables(COLUMNS.replace("0 AS visit", "5 AS visit")))
    with pytest.raises(InvalidInputError, match="has no visits"):
        Source("test", tables(COLUMNS + " WHERE false"))


def test_lists_of_codes_leave_blanks_out():
    columns = ["'t74.11'", "NULL", "''", "' '", "'780--'", "'R51'"]
    (found,) = duckdb.execute(f"SELECT {code_list(columns)}").fetchall()[0]
    assert found == ["T7411", "780", "R51"]
    assert duckdb.execute(f"SELECT {code_list(['NULL'])}").fetchall() == [([],)]


def test_labels_put_words_for_numbers():
    words = labels("x", {"1": "Workers' compensation", "2": "b"})
    found = duckdb.execute(f"SELECT {words} FROM (VALUES (1), (2), (3), (NULL)) t(x)").fetchall()
    assert found == [("Workers' compensation",), ("b",), (None,), (None,)]


def test_every_reader_is_documented():
    for name, declared in SOURCES.items():
        assert "Returns" in declared.read.__doc__, name


def test_patients_are_not_counted_where_they_are_not_identified():
    source = Source("test", tables(COLUMNS.replace("1 AS patient", "NULL::BIGINT AS patient")))
    assert source.attrition.steps[0].patients is None
    assert "<NA>" in str(source.attrition)


def test_sources_carry_fingerprints_of_their_content_without_paths(tmp_path):
    raw = write_neds(tmp_path / "NEDS_2019_Core.csv", 1000, n_codes=50).path
    (found,) = read_neds(raw, cache=tmp_path / "cache").details["data"]
    assert found == {
        "file": raw.name,
        "blake2b": hashlib.blake2b(raw.read_bytes(), digest_size=12).hexdigest(),
    }
    written = write_mimic(tmp_path, 400, n_codes=50)
    details = read_mimic(written.hosp, written.ed).details
    assert {item["file"] for item in details["data"]} == {
        f"{table}.csv.gz"
        for table in ("patients", "admissions", "diagnoses_icd", "edstays", "diagnosis")
    }
    assert str(tmp_path) not in json.dumps(details)


def test_frames_have_fingerprints_that_change_with_a_value_and_not_with_the_order():
    frame = pd.DataFrame({"id": [1, 2, 3], "dx": ["R51", "R11", "I10"]})

    def fingerprint(table):
        return read_tables(table, visit_id="id", code=["dx"], version="ICD10").details["data"]

    assert fingerprint(frame) == fingerprint(frame.iloc[::-1])
    assert fingerprint(frame) != fingerprint(frame.replace("R11", "R12"))
