"""The tables of a report as one Word document, to be pasted into a manuscript.

It needs the package python-docx (``pip install relprev[docx]``). The same tables give the same
bytes: the document's dates are fixed.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from relprev.errors import InvalidInputError
from relprev.report.tables.table import NUMBER, ReportTable

if TYPE_CHECKING:
    from docx.document import Document

DATE = datetime(2020, 1, 1, tzinfo=UTC)  # any: a date would make the same tables differ
STYLE = "Light List"
FONT_SIZE = 9  # points


def require_docx() -> Any:
    """The package that writes Word documents, or an error that says how to install it."""
    try:
        import docx
    except ImportError:
        raise InvalidInputError(
            'formats has "docx", which needs the package python-docx: pip install relprev[docx]'
        ) from None
    return docx


def word_document(title: str, tables: Sequence[ReportTable]) -> bytes:
    """The tables, each under its caption, as a .docx file."""
    document: Document = require_docx().Document()
    properties = document.core_properties
    properties.title, properties.author, properties.comments = title, "", ""
    properties.created = properties.modified = DATE
    document.add_heading(title, level=1)
    for number, table in enumerate(tables, 1):
        document.add_heading(f"Table {number}. {table.caption}", level=3)
        _add(document, table)
    out = io.BytesIO()
    document.save(out)
    return _dated(out.getvalue())


def _add(document: Document, table: ReportTable) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt

    headings = table.headings
    rows = [[column.words for column in headings]]
    rows += [[cell.text for cell in row] for row in table.rows()]
    grid = document.add_table(len(rows), len(headings), style=STYLE)
    for cells, texts in zip(grid.rows, rows, strict=True):
        for cell, text, column in zip(cells.cells, texts, headings, strict=True):
            paragraph = cell.paragraphs[0]
            paragraph.add_run(text).font.size = Pt(FONT_SIZE)
            if column.kind == NUMBER:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT


def _dated(document: bytes) -> bytes:
    """The document with fixed dates of the files within, which are otherwise those of writing."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(document)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name, DATE.timetuple()[:6]), old.read(name))
    return out.getvalue()
