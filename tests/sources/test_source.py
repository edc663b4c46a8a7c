from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import READERS, Attrition, Source, Step
from relprev.sources.source import code_list, connect, identifier, labels, quoted, reading

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


def test_names_and_texts_are_quoted():
    assert quoted("O'Neill") == "'O''Neill'"
    assert identifier('a"b') == '"a""b"'


def test_database_errors_lose_the_values_they_quote():
    with (
        pytest.raises(InvalidInputError, match="the file cannot be read") as caught,
        reading("the file"),
    ):
        duckdb.execute("SELECT 'secret'::INTEGER")
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


CTRL_C = """
import os, signal, threading
from relprev.sources.source import connect, reading
connection = connect()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
query = "SELECT sum(a.range - b.range) FROM range(9999999) a, range(9999999) b"
with reading("the file"):
    connection.execute(query).fetchall()
"""


def test_ctrl_c_in_a_query_stays_a_keyboard_interrupt():
    done = subprocess.run(
        [sys.executable, "-c", CTRL_C], capture_output=True, text=True, timeout=60
    )
    assert done.stderr.splitlines()[-1].startswith("KeyboardInterrupt")


def test_every_reader_is_documented():
    for name, reader in READERS.items():
        assert "Returns" in reader.__doc__, name


def test_patients_are_not_counted_where_they_are_not_identified():
    source = Source("test", tables(COLUMNS.replace("1 AS patient", "NULL::BIGINT AS patient")))
    assert source.attrition.steps[0].patients is None
    assert "<NA>" in str(source.attrition)
