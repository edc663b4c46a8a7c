"""Raw files as DuckDB tables: CSV, Parquet, Stata, SAS, fixed width, packed or not."""

from __future__ import annotations

import bz2
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pandas as pd

from relprev.errors import InvalidInputError
from relprev.sources.source import column_names, identifier, quoted, reading

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")


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
    with tempfile.TemporaryDirectory(prefix="relprev-") as folder:
        try:
            yield _unpack_zip(path, Path(folder)) if ending == ".zip" else _unpack_bz2(path, folder)
        except (zipfile.BadZipFile, EOFError, OSError) as error:
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
        target = folder / Path(members[0].filename).name
        with archive.open(members[0]) as packed, target.open("wb") as file:
            shutil.copyfileobj(packed, file, 2**20)
    return target


def _unpack_bz2(path: Path, folder: str) -> Path:
    target = Path(folder) / path.stem
    with bz2.open(path) as packed, target.open("wb") as file:
        shutil.copyfileobj(packed, file, 2**20)
    return target


def load_table(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    columns: Sequence[str] | None = None,
    optional: Sequence[str] = (),
) -> None:
    """Read a file with named columns into the DuckDB table ``name``.

    Text columns stay text; columns of CSV files are all text. ``columns`` must be there
    (in any case), ``optional`` may be; only these are kept. Without ``columns``: all.
    """
    with unpacked(path) as file, reading(path.name):
        lower = file.name.lower()
        if lower.endswith(CSV_ENDINGS):
            relation = f"read_csv({quoted(str(file))}, header=true, all_varchar=true)"
        elif lower.endswith((".parquet", ".pq")):
            relation = f"read_parquet({quoted(str(file))})"
        elif lower.endswith((".dta", ".sas7bdat", ".xpt")):
            frame = _statistics_file(file, columns and [*columns, *optional])
            relation = "frame"
        else:
            raise InvalidInputError(
                f"{path.name}: expected .csv, .csv.gz, .tsv, .txt, .parquet, .dta, .sas7bdat or "
                ".xpt (or one of them in a .zip)"
            )
        if relation == "frame":
            connection.register("frame", frame)
        available = column_names(connection, relation)
        picked = ", ".join(_picked(available, columns, optional, path.name))
        connection.execute(f"CREATE TABLE {name} AS SELECT {picked} FROM {relation}")
        if relation == "frame":
            connection.unregister("frame")


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
        raise InvalidInputError(
            f"{file_name} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}; "
            f"it has {len(available)} columns. Is it the right file?"
        )
    names = [*wanted, *(name for name in optional if name.lower() in by_lower)]
    return [f"{identifier(by_lower[name.lower()])} AS {identifier(name)}" for name in names]


def _statistics_file(file: Path, columns: Sequence[str] | None) -> pd.DataFrame:
    """A Stata or SAS file; only the wanted columns where the format allows."""
    try:
        if file.suffix.lower() != ".dta":
            return pd.read_sas(file, encoding="latin-1")
        with pd.read_stata(file, convert_categoricals=False, iterator=True) as reader:
            by_lower = {name.lower(): name for name in reader.variable_labels()}
            wanted = None if columns is None else [
                by_lower[name.lower()] for name in columns if name.lower() in by_lower
            ]  # fmt: skip
            return reader.read(columns=wanted)  # type: ignore[attr-defined]
    except ValueError as error:
        raise InvalidInputError(
            f"{file.name} is not a readable Stata or SAS file: {type(error).__name__}"
        ) from None


def load_fixed_width(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    fields: Sequence[tuple[str, int, int]],
    width: int,
) -> None:
    """Read a fixed-width text file into the table ``name``; fields are (name, first, last), from 1.

    Every line must have ``width`` characters (a carriage return and blanks at its end aside).
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
        connection.execute(f"CREATE TABLE {name} AS SELECT {select} FROM {lines}")
