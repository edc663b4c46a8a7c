from __future__ import annotations

import gzip

import pytest

from relprev.errors import InvalidInputError
from relprev.sources.database import connect
from relprev.sources.formats import first_row, load_table


def test_columns_are_found_in_any_case_and_named_as_asked(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text('\ufeffAge,"Home, city",other\n30,"Paris, France",x\n', encoding="utf-8")
    assert first_row(file) == ["Age", "Home, city", "other"]
    connection = connect()
    load_table(connection, file, "t", ["age", "home, city"], optional=["OTHER", "nothing"])
    found = connection.execute("DESCRIBE t").fetchall()
    assert [name for name, *_ in found] == ["age", "home, city", "OTHER"]
    assert connection.execute("FROM t").fetchall() == [("30", "Paris, France", "x")]


def test_an_empty_file_is_refused(tmp_path):
    file = tmp_path / "a.csv"
    file.touch()
    with pytest.raises(InvalidInputError, match=r"a\.csv is empty"):
        load_table(connect(), file, "t")


def test_a_packed_file_damaged_inside_is_refused(tmp_path):
    """Bytes changed in the middle of the packed data: zlib's own error came through."""
    file = tmp_path / "visits.csv.gz"
    file.write_bytes(gzip.compress(b"visit,age\n" + b"1,30\n" * 500))
    content = bytearray(file.read_bytes())
    content[12:20] = b"\xff" * 8
    file.write_bytes(bytes(content))
    with pytest.raises(InvalidInputError, match=r"visits.csv.gz cannot be read .*damaged"):
        first_row(file)
