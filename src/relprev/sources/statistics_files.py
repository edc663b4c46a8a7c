"""Load Stata and SAS files into DuckDB tables, in chunks to use little memory.

SAS files need the package pyreadstat, because pandas silently drops the column names of some
of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from relprev.errors import InvalidInputError
from relprev.sources.database import identifier
from relprev.sources.value_labels import sas_dates, sas_labels, stata_labels, with_labels

STATISTICS_FILES = (".dta", ".sas7bdat", ".xpt")
ROWS = 200_000
Choose = Callable[[Sequence[str]], list[str]]


def load_statistics_file(
    connection: duckdb.DuckDBPyConnection,
    file: Path,
    name: str,
    columns: Sequence[str] | None,
    labelled: Sequence[str] = (),
    formats: Path | None = None,
) -> None:
    """Read a file into the table ``name``, with all columns or those of ``columns`` it has.

    Columns of whole numbers become BIGINT, since SAS has no integer type. The values of columns
    in ``labelled`` are replaced by their labels, where the file (Stata) or ``formats`` (SAS) has
    any; see `relprev.sources.value_labels`.
    """

    def choose(available: Sequence[str]) -> list[str]:
        wanted = None if columns is None else {column.lower() for column in columns}
        return [item for item in available if wanted is None or item.lower() in wanted]

    shown = {column.lower() for column in labelled}
    if file.suffix.lower() == ".dta":
        pieces = _stata(file, choose, shown)
    else:
        pieces = _sas(file, choose, shown, formats)
    first = True
    for piece in pieces:
        connection.register("piece", piece)
        if first:
            kinds = ", ".join(_kind(piece, column) for column in piece.columns)
            connection.execute(f"CREATE TABLE {name} ({kinds})")
        connection.execute(f"INSERT INTO {name} SELECT * FROM piece")
        connection.unregister("piece")
        first = False
    if first:
        raise InvalidInputError(f"{file.name} has no rows")
    make_whole(connection, name)


def _kind(piece: pd.DataFrame, column: str) -> str:
    number = pd.api.types.is_numeric_dtype(piece[column])
    return f"{identifier(column)} {'DOUBLE' if number else 'VARCHAR'}"


def make_whole(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Convert DOUBLE columns that hold only whole numbers to BIGINT."""
    described = connection.execute(f"DESCRIBE {name}").fetchall()
    numbers = [identifier(row[0]) for row in described if row[1] == "DOUBLE"]
    if not numbers:
        return
    tests = ", ".join(
        f"coalesce(bool_and({x} = trunc({x}) AND abs({x}) < {2**53}), true)" for x in numbers
    )
    whole = connection.execute(f"SELECT {tests} FROM {name}").fetchall()[0]
    for column, is_whole in zip(numbers, whole, strict=True):
        if is_whole:
            connection.execute(f"ALTER TABLE {name} ALTER {column} TYPE BIGINT")


def _stata(file: Path, choose: Choose, labelled: set[str]) -> Iterator[pd.DataFrame]:
    try:
        with pd.read_stata(file, convert_categoricals=False, iterator=True) as reader:
            columns = choose(list(reader.variable_labels()))
            labels = stata_labels(reader, _among(columns, labelled))
            while True:
                try:
                    piece = reader.read(nrows=ROWS, columns=columns)  # type: ignore[attr-defined]
                    yield with_labels(piece, labels)
                except StopIteration:
                    return
    except OSError:
        raise  # the disk, not the file
    except Exception:  # on a damaged file the reader may raise anything
        raise InvalidInputError(_unreadable(file, "Stata")) from None


def _among(columns: list[str], labelled: set[str]) -> list[str]:
    return [column for column in columns if column.lower() in labelled]


def _sas(
    file: Path, choose: Choose, labelled: set[str], formats: Path | None
) -> Iterator[pd.DataFrame]:
    try:
        import pyreadstat
    except ImportError:
        raise InvalidInputError(
            f"{file.name}: SAS files need the package pyreadstat: pip install relprev[sas]"
        ) from None
    read: Any = pyreadstat.read_sas7bdat
    options: dict[str, Any] = {"disable_datetime_conversion": True}
    catalog = {}
    is_catalog = formats is not None and formats.suffix.lower() == ".sas7bcat"
    if file.suffix.lower() == ".xpt":
        if is_catalog:
            raise InvalidInputError(
                f"formats: {file.name} is a transport file, to which no catalog belongs; give "
                "its formats as CSV, as PROC FORMAT CNTLOUT= and PROC EXPORT write them"
            )
        read = pyreadstat.read_xport
        options["encoding"] = "LATIN1"  # a transport file does not state its encoding
    elif is_catalog:
        catalog["catalog_file"] = str(formats)  # for metadata: in data it labels every column
    try:
        metadata = read(file, metadataonly=True, **options, **catalog)[1]
        columns = choose(metadata.column_names)
        labels = sas_labels(metadata, _among(columns, labelled), formats)
        for piece, _ in pyreadstat.read_file_in_chunks(
            read, file, chunksize=ROWS, usecols=columns, **options
        ):
            yield with_labels(sas_dates(piece[columns], metadata.original_variable_types), labels)
    except (OSError, InvalidInputError):
        raise
    except Exception:
        if is_catalog:
            raise InvalidInputError(
                f"{file.name} and its formats cannot be read as SAS files; is one of them damaged, "
                "or not from the same SAS?"
            ) from None
        raise InvalidInputError(_unreadable(file, "SAS")) from None


def _unreadable(file: Path, kind: str) -> str:
    return f"{file.name} is not a readable {kind} file, or is truncated; download or copy it again"
