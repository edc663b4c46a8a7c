from __future__ import annotations

import duckdb
import pytest

from relprev.sources import read_nhds
from relprev.sources.fingerprint import described_file, described_table, file_fingerprint


def digest(*people: str) -> int:
    """Digest of a table of people, as a number."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE person (sex VARCHAR, born VARCHAR)")
    connection.executemany("INSERT INTO person VALUES (?, ?)", [p.split() for p in people])
    return int(described_table(connection, "person", "person")["blake2b"], 16)


def test_two_records_a_person_apart_do_not_give_the_person_back():
    """The digest was a sum over rows: the difference of two was the digest of one person."""
    added = "F 1980-06-15"
    differences = {
        (digest(*others, added) - digest(*others)) % 2**96
        for others in (
            ["M 1950-01-01"],
            ["F 1961-02-03"],
            ["M 1950-01-01", "F 1961-02-03"],
            [added],
        )
    }
    assert len(differences) == 4


def test_the_order_of_rows_does_not_matter_and_repeated_rows_do():
    assert digest("F 1", "M 2") == digest("M 2", "F 1")
    assert digest("F 1", "F 1") != digest("F 1")


def test_what_is_published_of_a_file_has_no_size(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x\n1\n")
    assert set(described_file(file)) == {"file", "blake2b"}
    assert file_fingerprint(file)["bytes"] == 4


@pytest.mark.parametrize("discharges", [1, 3])
def test_the_number_of_discharges_does_not_follow_from_the_record(tmp_path, discharges):
    """Bytes divided by 150 were the number of rows of an NHDS file."""
    line = "10211921" + " " * 9 + "3" + "  " + "   87" + "  " + "64403" + "2809-"
    file = tmp_path / "NHDS10.PU.txt"
    file.write_text((line.ljust(149) + "\n") * discharges)
    (about,) = read_nhds(file).details["data"]
    assert set(about) == {"file", "blake2b"}


def test_all_columns_count_whatever_their_names():
    """A column called t was taken for the row."""
    connection = duckdb.connect()
    found = set()
    for k in (1, 2):
        connection.execute(f"CREATE TABLE one_{k} AS SELECT 1 AS t, {k} AS other")
        found.add(described_table(connection, f"one_{k}", "x")["blake2b"])
    assert len(found) == 2
