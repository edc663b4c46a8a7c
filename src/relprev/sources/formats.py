"""Load raw files into DuckDB tables: CSV, Parquet, Stata, SAS, spreadsheets or fixed width.

They may be compressed.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

from relprev.errors import InvalidInputError
from relprev.sources.addresses import SHOWN, is_address
from relprev.sources.database import (
    Connection,
    column_names,
    execute,
    file_literal,
    identifier,
    parquet_relation,
    quoted,
    reading,
)
from relprev.sources.encodings import as_utf8
from relprev.sources.fingerprint import Fingerprint, described_file
from relprev.sources.packed import unpacked
from relprev.sources.spreadsheets import SPREADSHEETS, load_spreadsheet
from relprev.sources.statistics_files import STATISTICS_FILES, load_statistics_file

DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t", ".txt": "\t"}
LONGEST_HEADER = 2**22  # characters


@dataclass(frozen=True)
class FileDetails:
    """What a file does not say about itself.

    Parameters
    ----------
    encoding : str, optional
        Of CSV and TSV files. Default: UTF-8, or what a byte order mark says.
    sheet : str, optional
        Of a spreadsheet. Default: the only one that is not empty.
    labelled : tuple of str
        Columns of Stata and SAS files whose values are replaced by their labels.
    formats : Path, optional
        The labels of a SAS file: a catalog, or a table of formats as CSV.
    """

    encoding: str | None = None
    sheet: str | None = None
    labelled: tuple[str, ...] = ()
    formats: Path | None = None


def require_file(path: str | Path, what: str) -> Path:
    """Return the path, or fail with an error that names the missing file."""
    if is_address(path):
        raise InvalidInputError(f"{what}: expected a file, got {SHOWN}")
    path = Path(path)
    if not path.is_file():
        found = "a folder" if path.is_dir() else "nothing"
        raise InvalidInputError(f"{what}: expected a file at {path}, found {found}")
    return path


def load_table(
    connection: Connection,
    path: Path,
    name: str,
    columns: Sequence[str] | None = None,
    optional: Sequence[str] = (),
    missing: Sequence[str] = (),
    details: FileDetails | None = None,
) -> Fingerprint:
    """Read a file with named columns into the DuckDB table ``name``; return its fingerprint.

    Text columns stay text; all columns of CSV files are text. Only ``columns``, which are
    required, and ``optional`` are kept, whatever the case of their names; by default all
    columns are. In CSV files and spreadsheets the texts in ``missing`` become NULL.
    """
    details = details or FileDetails()
    with ExitStack() as stack, reading(path.name):
        file = stack.enter_context(unpacked(path))
        lower = file.name.lower()
        delimiter = next((d for end, d in DELIMITERS.items() if lower.endswith(end)), None)
        if delimiter is not None:
            file = stack.enter_context(as_utf8(file, details.encoding))
            names = first_row(file, delimiter)
            require_distinct(names, path.name, columns)
            relation = csv_relation(file, names, header=True, delimiter=delimiter)
            if missing:
                texts = ", ".join(map(quoted, missing))
                relation = (
                    f"(SELECT CASE WHEN trim(COLUMNS(*)) NOT IN ({texts}) THEN COLUMNS(*) END "
                    f"FROM {relation})"
                )
        elif lower.endswith((".parquet", ".pq")):
            relation = parquet_relation(file)
            found = connection.execute(f"SELECT name FROM parquet_schema({file_literal(file)})")
            require_distinct([name for (name,) in found.fetchall()[1:]], path.name, columns)
        elif lower.endswith(STATISTICS_FILES):
            wanted = columns and [*columns, *optional]
            labels = (details.labelled, details.formats)
            load_statistics_file(connection, file, "staged", wanted, *labels)
            relation = "staged"
        elif lower.endswith(SPREADSHEETS):
            wanted = columns and [*columns, *optional]
            names = load_spreadsheet(connection, file, "staged", wanted, details.sheet, missing)
            require_distinct(names, path.name, columns)
            relation = "staged"
        else:
            raise InvalidInputError(
                f"{path.name}: expected .csv, .csv.gz, .tsv, .txt, .parquet, .dta, .sas7bdat, "
                ".xpt or .xlsx (or one of them in a .zip)"
            )
        available = column_names(connection, relation)
        picked = ", ".join(_picked(available, columns, optional, path.name))
        execute(connection, f"CREATE TABLE {name} AS SELECT {picked} FROM {relation}")
        connection.execute("DROP TABLE IF EXISTS staged")
    return described_file(path)


def first_row(file: Path, delimiter: str = ",") -> list[str]:
    """The fields in the first line of a text file, gzipped or not."""
    try:
        with _opened(file) as lines:
            limited = iter(lambda: lines.readline(LONGEST_HEADER), "")  # a file may be one line
            return next(csv.reader(limited, delimiter=delimiter), [])
    except (EOFError, OSError, zlib.error, csv.Error) as error:
        raise InvalidInputError(
            f"{file.name} cannot be read ({type(error).__name__}): it is damaged or truncated; "
            "download or copy it again"
        ) from None


def _opened(file: Path) -> IO[str]:
    if file.suffix.lower() == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", errors="replace")
    return file.open(encoding="utf-8-sig", errors="replace")


def csv_relation(
    file: Path,
    names: Sequence[str],
    *,
    header: bool,
    delimiter: str = ",",
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """SQL that reads a CSV file with the given columns, as text or as the given ``kinds``.

    DuckDB's detection is off: it may skip lines that it does not understand. With ``kinds``, a
    blank or a period is a missing value, as SAS writes it.
    """
    if not names:
        raise InvalidInputError(f"{file.name} is empty")
    names = _distinct(names)
    columns = ", ".join(f"{quoted(name)}: '{kinds.get(name, 'VARCHAR')}'" for name in names)
    missing = ", nullstr=['', ' ', '.']" if kinds else ""
    packing = "gzip" if file.suffix.lower() == ".gz" else "none"
    return (
        f"read_csv({file_literal(file)}, columns={{{columns}}}, header={str(header).lower()}, "
        f"hive_partitioning=false, auto_detect=false, delim='{delimiter}', quote='\"', "
        f"escape='\"', compression='{packing}'{missing})"
    )


def require_distinct(names: Sequence[str], where: str, wanted: Sequence[str] | None = None) -> None:
    """Fail if a wanted column occurs twice (DuckDB does not distinguish a from A)."""
    counts = Counter(name.lower() for name in names)
    used = names if wanted is None else wanted
    twice = [name for name in dict.fromkeys(used) if counts[name.lower()] > 1]
    if twice:
        raise InvalidInputError(
            f"{where} has more than one column named {', '.join(map(repr, twice[:5]))} (ignoring "
            "case); rename or remove the others"
        )


def _distinct(names: Sequence[str]) -> list[str]:
    """Names for DuckDB, where empty and repeated ones are replaced by placeholders."""
    seen: set[str] = set()
    found = []
    for k, name in enumerate(names, start=1):
        is_new = name != "" and name.lower() not in seen
        seen.add(name.lower())
        found.append(name if is_new else f"column {k} of {len(names)}")
    return found


def _picked(
    available: Sequence[str], wanted: Sequence[str] | None, optional: Sequence[str], file_name: str
) -> list[str]:
    """SQL for the wanted columns, matched regardless of case and named as wanted."""
    if wanted is None:
        return ["*"]
    by_lower = {name.lower(): name for name in available}
    missing = [name for name in wanted if name.lower() not in by_lower]
    if missing:
        separator = _other_separator(available)
        if separator:
            raise InvalidInputError(
                f"{file_name}: its first line is a single column that contains {separator}; "
                "columns must be separated by commas (.csv) or tabs (.tsv, .txt): convert or "
                "rename it"
            )
        if any("\0" in name for name in available):
            raise InvalidInputError(
                f"{file_name} seems to be UTF-16 text without a byte order mark; save it as UTF-8, "
                "or, in a tables source, give encoding = 'utf-16-le' (or 'utf-16-be')"
            )
        raise InvalidInputError(
            f"{file_name} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}; "
            "is it the right file, and its first line the names of the columns?"
        )
    names = [*wanted, *(name for name in optional if name.lower() in by_lower)]
    return [f"{identifier(by_lower[name.lower()])} AS {identifier(name)}" for name in names]


def _other_separator(columns: Sequence[str]) -> str:
    """Name of the likely separator in a file that was read as a single column."""
    if len(columns) != 1:
        return ""
    separators = {";": "semicolons", "\t": "tabs", ",": "commas", "|": "bars"}
    return next((words for sign, words in separators.items() if sign in columns[0]), "")


def load_fixed_width(
    connection: Connection,
    path: Path,
    name: str,
    fields: Sequence[tuple[str, int, int]],
    width: int,
) -> Fingerprint:
    """Read a fixed-width text file into the table ``name``; return its fingerprint.

    Fields are (name, first, last), with characters counted from 1. Every line must have
    ``width`` characters, apart from a carriage return and blanks at its end.
    """
    select = ", ".join(
        f"trim(substr(line, {first}, {last - first + 1})) AS {identifier(field)}"
        for field, first, last in fields
    )
    with unpacked(path) as file, reading(path.name):
        lines = (
            f"read_csv({file_literal(file)}, columns={{'line': 'VARCHAR'}}, header=false, "
            "hive_partitioning=false, auto_detect=false, delim='\x01', quote='', escape='', "
            "strict_mode=false)"
        )
        last = max(field[2] for field in fields)
        bad, lengthiest = connection.execute(
            f"SELECT count(*) FILTER (length(rtrim(line)) > {width} OR length(line) < {last}), "
            f"max(length(rtrim(line))) FROM {lines}"
        ).fetchall()[0]
        if bad:
            raise InvalidInputError(
                f"{path.name}: {bad:,} lines do not fit the layout, which has {width} characters "
                f"(the longest line has {lengthiest}); is it from another year, or truncated?"
            )
        execute(connection, f"CREATE TABLE {name} AS SELECT {select} FROM {lines}")
    return described_file(path)
