"""Write tables as the sheets of an Excel file (.xlsx), as plain as the format allows."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pandas as pd

from relprev.store.files import written_whole

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def write_workbook(sheets: Mapping[str, pd.DataFrame], path: Path) -> None:
    """Write tables by the names of their sheets. Numbers are numbers, all else is text."""
    numbers = range(1, len(sheets) + 1)
    kinds = "".join(
        f'<Override PartName="/xl/worksheets/sheet{k}.xml" ContentType="{KIND}.worksheet+xml"/>'
        for k in numbers
    )
    names = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{k}" r:id="sheet{k}"/>'
        for k, name in zip(numbers, sheets, strict=True)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
        f"{kinds}</Types>",
        "_rels/.rels": _relations({"workbook": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{names}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            {f"sheet{k}": ("worksheet", f"worksheets/sheet{k}.xml") for k in numbers}
        ),
    }
    for k, table in zip(numbers, sheets.values(), strict=True):
        rows = "".join(_rows(table))
        parts[f"xl/worksheets/sheet{k}.xml"] = (
            f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        )
    with written_whole(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, text in parts.items():  # ZipInfo has no date of today: the same seed, same file
            archive.writestr(zipfile.ZipInfo(name), HEAD + text, zipfile.ZIP_DEFLATED)


def _relations(targets: Mapping[str, tuple[str, str]]) -> str:
    each = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{each}</Relationships>'


def _rows(table: pd.DataFrame) -> Iterator[str]:
    yield f"<row>{''.join(map(_cell, table.columns))}</row>"
    for row in table.itertuples(index=False):
        yield f"<row>{''.join(map(_cell, row))}</row>"


def _cell(value: Any) -> str:
    if pd.isna(value):
        return "<c/>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"
