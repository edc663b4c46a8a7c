from __future__ import annotations

import io
import sys

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.report.tables.table import ReportTable
from relprev.report.tables.word import word_document

docx = pytest.importorskip("docx")
TABLE = ReportTable(
    "estimates",
    "Ratios & <b>more</b>",
    pd.DataFrame({"group": ["a", "b"], "estimate": [1.5, None], "ci_low": [1.0, None],
                  "ci_high": [2.0, None]}),
    intervals={"estimate": ("ci_low", "ci_high")},
)  # fmt: skip


def test_a_document_holds_every_table_as_the_page_shows_it():
    document = docx.Document(io.BytesIO(word_document("A study", [TABLE, TABLE])))
    assert [table.cell(1, 1).text for table in document.tables] == ["1.50 (1.00 to 2.00)"] * 2
    assert document.tables[0].cell(0, 0).text == "Group"
    words = [paragraph.text for paragraph in document.paragraphs]
    assert words == ["A study", f"Table 1. {TABLE.caption}", f"Table 2. {TABLE.caption}"]


def test_the_same_tables_give_the_same_bytes():
    assert word_document("A study", [TABLE]) == word_document("A study", [TABLE])


def test_without_the_package_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(InvalidInputError, match=r"python-docx: pip install relprev\[docx\]"):
        word_document("A study", [TABLE])
