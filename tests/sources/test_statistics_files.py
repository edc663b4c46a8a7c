from __future__ import annotations

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import statistics_files
from relprev.sources.database import connect
from relprev.sources.statistics_files import load_statistics_file

FRAME = pd.DataFrame({"Id": [1.0, 2.0, 3.0], "Score": [1.5, 2.0, None], "Ward": ["a", "", "c"]})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "visits.dta"
    FRAME.to_stata(path, write_index=False)
    return path


def load(file, columns=None):
    with connect() as connection:
        load_statistics_file(connection, file, "raw", columns)
        kinds = {row[0]: row[1] for row in connection.execute("DESCRIBE raw").fetchall()}
        return kinds, connection.execute("SELECT * FROM raw").fetchall()


@pytest.mark.parametrize("rows", [2, 100])
def test_whole_numbers_become_whole_and_chunks_make_no_difference(file, monkeypatch, rows):
    monkeypatch.setattr(statistics_files, "ROWS", rows)
    kinds, found = load(file)
    assert kinds == {"Id": "BIGINT", "Score": "DOUBLE", "Ward": "VARCHAR"}
    assert found == [(1, 1.5, "a"), (2, 2.0, ""), (3, None, "c")]


def test_only_the_columns_asked_for_are_read_in_any_case(file):
    assert list(load(file, ["WARD", "id", "nothing"])[0]) == ["Id", "Ward"]


def test_a_file_cut_short_is_refused_without_its_content(file):
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(InvalidInputError, match=r"visits\.dta is not a readable Stata file"):
        load(file)


def test_a_file_without_rows_is_refused(tmp_path):
    FRAME.head(0).to_stata(tmp_path / "none.dta", write_index=False)
    with pytest.raises(InvalidInputError, match=r"none\.dta has no rows"):
        load(tmp_path / "none.dta")
