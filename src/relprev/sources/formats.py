"""Raw files as DuckDB tables: CSV, Parquet, Stata, SAS, fixed width, packed or not."""

from __future__ import annotations

import bz2
import csv
import errno
import gzip
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import duckdb

from relprev.errors import InvalidInputError
from relprev.sources.fingerprint import Fingerprint, file_fingerprint
from relprev.sources.source import column_names, execute, identifier, quoted, reading
from relprev.sources.statistics_files import STATISTICS_FILES, load_statistics_file
from relprev.store.files import TemporaryFolder

ENCRYPTED = 0x1  # of a zip member's flags
DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}


def require_file(path: str | Path, what: str) -> Path:
    """The path, or an error that says which file is missing."""
    path = Path(path)
    if not path.is_file():
        found = "a folder" if path.is_dir() else "nothing"
        raise InvalidInputError(f"{what}: expected a file at {path}, found {found}")
    return path


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A path to the file's content without .zip or .bz2; temporary where it had to be unpacked."""
    ending = path.suffix.lower()
    if ending not in (".zip", ".bz2"):
        yield path
        return
    with TemporaryFolder() as folder:
        yield _unpack(path, Path(folder))


def _unpack(path: Path, folder: Path) -> Path:
    try:
        return (_unpack_zip if path.suffix.lower() == ".zip" else _unpack_bz2)(path, folder)
    except NotImplementedError:
        raise InvalidInputError(
            f"{path.name} is packed in a way not supported here; unpack it and give the path of "
            "the file to read"
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk, not the file
        raise InvalidInputError(
            f"{path.name} cannot be unpacked ({type(error).__name__}); it is damaged or cut "
            "short: download or copy it again"
        ) from None


def _unpack_zip(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = [
            item
            for item in archive.infolist()
            if not item.is_dir() and not item.filename.startswith("__MACOSX")
        ]
        if len(members) != 1:
            raise InvalidInputError(
                f"{path.name} holds {len(members)} files, expected one; unpack it and give the "
                "path of the file to read"
            )
        if members[0].flag_bits & ENCRYPTED:
            raise InvalidInputError(
                f"{path.name} is encrypted; unpack it with its password and give the path of the "
                "file to read"
            )
        target = folder / Path(members[0].filename).name
        with archive.open(members[0]) as packed, target.open("wb") as file:
            shutil.copyfileobj(packed, file, 2**20)
    return target


def _unpack_bz2(path: Path, folder: Path) -> Path:
    target = folder / path.stem
    with bz2.open(path) as packed, target.open("wb") as file:
        shutil.copyfileobj(packed, file, 2**20)
    return target


def load_table(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    columns: Sequence[str] | None = None,
    optional: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> Fingerprint:
    """Read a file with named columns into the DuckDB table ``name``; return its fingerprint.

    Text columns stay text; columns of CSV files are all text. ``columns`` must be there
    (in any case), ``optional`` may be; only these are kept. Without ``columns``: all. Of CSV
    files the texts ``missing`` become NULL.
    """
    with unpacked(path) as file, reading(path.name):
        lower = file.name.lower()
        delimiter = next((d for end, d in DELIMITERS.items() if lower.endswith(end)), None)
        if delimiter is not None:
            names = first_row(file, delimiter)
            relation = csv_relation(file, names, header=True, delimiter=delimiter)
            if missing:
                texts = ", ".join(map(quoted, missing))
                relation = (
                    f"(SELECT CASE WHEN trim(COLUMNS(*)) NOT IN ({texts}) THEN COLUMNS(*) END "
                    f"FROM {relation})"
                )
        elif lower.endswith((".parquet", ".pq")):
            relation = f"read_parquet({quoted(str(file))})"
        elif lower.endswith(STATISTICS_FILES):
            load_statistics_file(connection, file, "staged", columns and [*columns, *optional])
            relation = "staged"
        else:
            raise InvalidInputError(
                f"{path.name}: expected .csv, .csv.gz, .tsv, .parquet, .dta, .sas7bdat or "
                ".xpt (or one of them in a .zip)"
            )
        available = column_names(connection, relation)
        picked = ", ".join(_picked(available, columns, optional, path.name))
        execute(connection, f"CREATE TABLE {name} AS SELECT {picked} FROM {relation}")
        connection.execute("DROP TABLE IF EXISTS staged")
    return file_fingerprint(path)


def first_row(file: Path, delimiter: str = ",") -> list[str]:
    """The fields of the first line of a text file, packed by gzip or not."""
    try:
        if file.suffix == ".gz":
            with gzip.open(file, "rt", encoding="utf-8-sig", errors="replace") as packed:
                return next(csv.reader(packed, delimiter=delimiter), [])
        with file.open(encoding="utf-8-sig", errors="replace") as lines:
            return next(csv.reader(lines, delimiter=delimiter), [])
    except (EOFError, OSError, zlib.error, csv.Error) as error:
        raise InvalidInputError(
            f"{file.name} cannot be read ({type(error).__name__}): it is damaged or cut short; "
            "download or copy it again"
        ) from None


def csv_relation(
    file: Path,
    names: Sequence[str],
    *,
    header: bool,
    delimiter: str = ",",
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """SQL that reads a CSV file with the given columns: text, or of the given kinds.

    Nothing is left to be guessed: a guess may skip lines it does not understand. With kinds, a
    blank or a point stands for a missing value, as SAS writes it.
    """
    if not names:
        raise InvalidInputError(f"{file.name} is empty")
    columns = ", ".join(f"{quoted(name)}: '{kinds.get(name, 'VARCHAR')}'" for name in names)
    missing = ", nullstr=['', ' ', '.']" if kinds else ""
    return (
        f"read_csv({quoted(str(file))}, columns={{{columns}}}, header={str(header).lower()}, "
        f"auto_detect=false, delim='{delimiter}', quote='\"', escape='\"'{missing})"
    )


def _picked(
    available: Sequence[str],
    wanted: Sequence[str] | None,
    optional: Sequence[str],
    file_name: str,
) -> list[str]:
    """SQL for the wanted columns, found in any case and named as wanted."""
    if wanted is None:
        return ["*"]
    by_lower = {name.lower(): name for name in available}
    missing = [name for name in wanted if name.lower() not in by_lower]
    if missing:
        separator = _other_separator(available)
        if separator:
            raise InvalidInputError(
                f"{file_name}: its first line is one column that contains {separator}; columns "
                "must be separated by commas (.csv) or tabs (.tsv): write or name the file so"
            )
        raise InvalidInputError(
            f"{file_name} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}; "
            f"it has {len(available)} columns. Is it the right file?"
        )
    names = [*wanted, *(name for name in optional if name.lower() in by_lower)]
    return [f"{identifier(by_lower[name.lower()])} AS {identifier(name)}" for name in names]


def _other_separator(columns: Sequence[str]) -> str:
    """Words for what separates the columns of a file that was read as having one."""
    if len(columns) != 1:
        return ""
    separators = {";": "semicolons", "\t": "tabs", ",": "commas", "|": "bars"}
    return next((words for sign, words in separators.items() if sign in columns[0]), "")


def load_fixed_width(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    fields: Sequence[tuple[str, int, int]],
    width: int,
) -> Fingerprint:
    """Read a fixed-width text file into the table ``name``; return its fingerprint.

    Fields are (name, first, last), counted from 1. Every line must have ``width`` characters
    (a carriage return and blanks at its end aside).
    """
    select = ", ".join(
        f"trim(substr(line, {first}, {last - first + 1})) AS {identifier(field)}"
        for field, first, last in fields
    )
    with unpacked(path) as file, reading(path.name):
        lines = (
            f"read_csv({quoted(str(file))}, columns={{'line': 'VARCHAR'}}, header=false, "
            "auto_detect=false, delim='\x01', quote='', escape='', strict_mode=false)"
        )
        last = max(field[2] for field in fields)
        bad, lengthiest = connection.execute(
            f"SELECT count(*) FILTER (length(rtrim(line)) > {width} OR length(line) < {last}), "
            f"max(length(rtrim(line))) FROM {lines}"
        ).fetchall()[0]
        if bad:
            raise InvalidInputError(
                f"{path.name}: {bad:,} lines do not fit the layout, which has {width} characters "
                f"(the longest line has {lengthiest}); is it another year's file, or cut short?"
            )
        execute(connection, f"CREATE TABLE {name} AS SELECT {select} FROM {lines}")
    return file_fingerprint(path)
