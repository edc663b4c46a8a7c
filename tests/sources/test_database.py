from __future__ import annotations

import re
import subprocess
import sys

import duckdb
import pytest

from relprev.errors import InvalidInputError
from relprev.sources.database import (
    connect,
    identifier,
    open_database,
    quoted,
    reading,
    require_unique,
)


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
from relprev.sources.database import connect, execute, reading
connection = connect()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
query = "SELECT sum(a.range - b.range) FROM range(9999999) a, range(9999999) b"
with reading("the file"):
    execute(connection, query).fetchall()
"""


def test_ctrl_c_in_a_query_stays_a_keyboard_interrupt():
    done = subprocess.run(
        [sys.executable, "-c", CTRL_C], capture_output=True, text=True, timeout=60
    )
    assert done.stderr.splitlines()[-1].startswith("KeyboardInterrupt")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT nothing FROM (SELECT 1 AS x)", "SELECT * FROM nothing", "SELECT 'x'::INTEGER",
        "SELECT 100::TINYINT * 100::TINYINT", "SELECT error('secret')", "SELECT 1 +",
        "SELECT * FROM read_csv('/nowhere/secret.csv')", "SELECT sum('a')",
        "SELECT CASE WHEN 1 THEN date '2020-01-01' ELSE 3 END", "SELECT strptime('secret', '%Y')",
    ],
)  # fmt: skip
def test_reasons_are_words_not_names_of_exceptions(sql):
    """BinderException said nothing to anybody."""
    with pytest.raises(InvalidInputError) as caught, reading("the file"):
        connect().execute(sql).fetchall()
    reason = str(caught.value).removeprefix("the file cannot be read: ")
    assert not re.search(r"Exception|Error|secret|SELECT", reason)
    assert len(reason.split()) > 3


def test_a_database_file_reaches_nothing_but_itself(tmp_path):
    path, secret = tmp_path / "cdm.duckdb", tmp_path / "secret.csv"
    secret.write_text("x\nhunter2\n")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        connection.execute(f"CREATE VIEW v AS FROM read_csv('{secret}')")
    with open_database(path) as database:
        assert database.execute("FROM t").fetchall() == [(1,)]
        for sql in ("FROM v", f"FROM read_text('{secret}')", "SET enable_external_access = true",
                    f"ATTACH '{secret}'", "INSERT INTO t VALUES (2)"):  # fmt: skip
            with pytest.raises(duckdb.Error):
                database.execute(sql).fetchall()


def test_a_table_without_rows_is_said_to_have_none():
    connection = connect()
    connection.execute("CREATE TABLE raw_visits (id INTEGER)")
    with pytest.raises(InvalidInputError, match="visits has no rows"):
        require_unique(connection, "raw_visits", "id")
