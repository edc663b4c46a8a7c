"""Load a sheet of a spreadsheet (.xlsx, .xlsm, .xlsb, .xls, .ods) into a DuckDB table.

The first row that is not empty holds the names of the columns. Cells keep their types: a column
of numbers becomes numbers, of dates ISO dates, and of numbers and text, text. In a cell that
looks like a number the spreadsheet has dropped the zeros of a code: `relprev.codes.zeros` deals
with that, and the table ``number_cells`` tells it where there were numbers among text.
"""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from relprev.errors import InvalidInputError
from relprev.settings import suggestion
from relprev.sources.packed import require_plausible

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def load_spreadsheet(
    connection: duckdb.DuckDBPyConnection,
    file: Path,
    name: str,
    columns: Sequence[str] | None,
    sheet: str | None,
    missing: Sequence[str] = (),
) -> list[str]:
    """Read a sheet into the table ``name``, with all columns or those of ``columns`` it has.

    Returns the names of all its columns. Texts in ``missing`` become NULL.
    """
    header, *rows = _cells(file, sheet) or [[]]
    names = [str(cell).strip() for cell in header]
    if not any(names):
        raise InvalidInputError(f"{file.name} is empty")
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if not rows:
        raise InvalidInputError(f"{file.name} has no rows")
    wanted = None if columns is None else {column.lower() for column in columns}
    table, mixed, seen = {}, [], set()
    for k, column in enumerate(names):
        if column == "" or column.lower() in seen or (wanted and column.lower() not in wanted):
            continue
        seen.add(column.lower())
        table[column], has_numbers = _column([row[k] for row in rows], missing)
        mixed += [column] if has_numbers else []
    connection.register("sheet", pa.table(table))
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM sheet")
    connection.unregister("sheet")
    connection.execute("CREATE TABLE IF NOT EXISTS number_cells (column_name VARCHAR)")
    for column in mixed:
        connection.execute("INSERT INTO number_cells VALUES (lower(?))", [column])
    return names


def has_number_cells(connection: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> bool:
    """Whether one of these columns came from a sheet, as text with numbers in some cells."""
    tables = {row[0] for row in connection.execute("SHOW TABLES").fetchall()}
    if "number_cells" not in tables:
        return False
    found = connection.execute("SELECT column_name FROM number_cells").fetchall()
    return bool({name for (name,) in found} & {column.lower() for column in columns})


def _cells(file: Path, sheet: str | None) -> list[list[Any]]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError
    except ImportError:
        raise InvalidInputError(
            f"{file.name}: spreadsheets need the package python-calamine: "
            "pip install relprev[excel]"
        ) from None
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            require_plausible(sum(item.file_size for item in archive.infolist()), file)
    try:
        book = CalamineWorkbook.from_path(str(file))
        return list(book.get_sheet_by_name(_sheet(book, file, sheet)).to_python())
    except PasswordError:
        raise InvalidInputError(
            f"{file.name} is protected by a password; save a copy without one"
        ) from None
    except InvalidInputError:
        raise
    except (CalamineError, ValueError, OverflowError):
        raise InvalidInputError(
            f"{file.name} is not a readable spreadsheet; save it again as .xlsx, or as CSV"
        ) from None


def _sheet(book: Any, file: Path, sheet: str | None) -> str:
    """The sheet asked for, or the only one that is not empty."""
    names: list[str] = book.sheet_names
    if sheet is not None:
        if sheet not in names:
            raise InvalidInputError(
                f"{file.name} has no sheet {sheet!r}; {suggestion(sheet, names)}"
            )
        return sheet
    filled = [name for name in names if book.get_sheet_by_name(name).height]
    if len(filled) > 1:
        raise InvalidInputError(
            f"{file.name} has the sheets {', '.join(filled)}; say which one (sheet, codes_sheet)"
        )
    return filled[0] if filled else names[0]


def _column(cells: list[Any], missing: Sequence[str]) -> tuple[pa.Array, bool]:
    """The cells as numbers or text, and whether text has numbers in between."""
    values = [_value(cell) for cell in cells]
    values = [None if isinstance(v, str) and v.strip() in ("", *missing) else v for v in values]
    known = [value for value in values if value is not None]
    numbers = [value for value in known if not isinstance(value, str)]
    if numbers and len(numbers) == len(known):
        return pa.array(values, pa.float64()), False
    texts = [value if isinstance(value, str) or value is None else _text(value) for value in values]
    return pa.array(texts, pa.string()), bool(numbers)


def _value(cell: Any) -> str | float | None:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, int | float):
        return float(cell)
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)


def _text(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)
