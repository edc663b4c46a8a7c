"""DuckDB, which reads the raw files: connections, SQL quoting and readable errors."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb

from relprev.errors import InvalidInputError
from relprev.parallel.threads import thread_count
from relprev.store.files import TemporaryFolder

MEMORY_LIMIT = "4GB"
Connection = duckdb.DuckDBPyConnection
NOT_UTF8 = (
    "it is not UTF-8 text; save it as UTF-8, or, in a tables source, give its encoding, which is "
    "'cp1252' for most files saved on Windows"
)
_SIGNS = {  # phrases in DuckDB's messages, which themselves quote rows and paths
    "end of GZIP": "the gzip file is truncated; download or copy it again",
    "Expected Number of Columns": "a row does not have the expected number of columns",
    "unterminated quote": "a quotation mark is not closed",
    "invalid UTF-8": NOT_UTF8,
    "Invalid unicode": NOT_UTF8,
    "Could not convert": "a value is not a number where one was expected",
    "No magic bytes": "it is not a Parquet file",
    "not a parquet": "it is not a Parquet file",
    "not a valid DuckDB database": "it is not a DuckDB database",
    "Maximum line size": "a line is too long for a table; is it a complete text file?",
    "No space left": "the disk is full; free some space and try again",
}
_KINDS = {  # error types, the most specific first
    duckdb.OutOfMemoryException: "it needs more memory than is available; close other programs, or "
    "read fewer columns or years at a time",
    duckdb.PermissionException: "it refers to other files, which are not read",
    duckdb.ConversionException: "a value does not have the expected type (a number or date, say)",
    duckdb.OutOfRangeException: "a number is too large for its column",
    duckdb.BinderException: "a column is missing, duplicated or of the wrong type; compare its "
    "columns with those expected",
    duckdb.CatalogException: "an expected table or column is missing",
    duckdb.IOException: "it cannot be opened, or is damaged; check its permissions, and download "
    "or copy it again",
    duckdb.InvalidInputException: "it is damaged, or not in the format its name suggests; "
    "download or copy it again",
}
OTHER_KIND = "its content is not what was expected; download or copy it again"


def connect(memory_limit: str = MEMORY_LIMIT) -> Connection:
    """A private in-memory database that spills to a temporary folder above ``memory_limit``."""
    return duckdb.connect(config=_config(memory_limit))


def open_database(path: Path) -> Connection:
    """Open a DuckDB file read-only.

    Its views and macros could read any file on this machine, so external access is disabled.
    """
    with path.open("rb") as file:
        if file.read(12)[8:] != b"DUCK":
            raise InvalidInputError(f"{path.name} cannot be read: it is not a DuckDB database")
    database = duckdb.connect(str(path.absolute()), read_only=True, config=_config(MEMORY_LIMIT))
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def _config(memory_limit: str) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "memory_limit": memory_limit,
        "threads": thread_count(),
        "temp_directory": f"{_private_folder().name}/{uuid.uuid4().hex}",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }


@cache
def _private_folder() -> TemporaryFolder:
    """A folder only this user can read, removed when the process ends."""
    return TemporaryFolder()


def execute(connection: Connection, sql: str) -> Connection:
    """Run a long statement so that Ctrl-C stops it.

    DuckDB checks for signals only while its calling thread has work to do, which is not the
    case when a single worker does it all (a gzip file, say). So the caller waits in Python.
    """
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(connection.execute, sql)
        try:
            return running.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


def column_names(connection: Connection, table: str) -> tuple[str, ...]:
    """Column names of a table, view or table function."""
    return tuple(row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall())


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def file_literal(path: Path) -> str:
    """A path as an SQL literal that makes DuckDB's readers open exactly this file.

    DuckDB treats ``*``, ``?`` and ``[`` in a path as wildcards; brackets escape them.

    Examples
    --------
    >>> file_literal(Path("visits[1].csv"))
    "'visits[[]1].csv'"
    """
    escaped = re.sub(r"([*?\[])", r"[\1]", str(path))
    if escaped != str(path) and "\\" in escaped:
        raise InvalidInputError(
            f"{path.name}: a path with both a backslash and *, ? or [ cannot be read; rename the "
            "file or its folder"
        )
    return quoted(escaped)


def parquet_relation(path: Path, options: str = "") -> str:
    """SQL that reads one Parquet file; folder names (``year=2019``) add no columns."""
    return f"read_parquet({file_literal(path)}, hive_partitioning=false{options})"


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn DuckDB's errors into ours, without the rows that DuckDB quotes."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" in str(error):  # by Ctrl-C
            raise KeyboardInterrupt from None
        raise
    except duckdb.Error as error:
        line = re.search(r"CSV Error on Line: (\d+)", str(error))
        where = f" (line {line[1]})" if line else ""
        raise InvalidInputError(f"{what} cannot be read{where}: {_reason(error)}") from None


def _reason(error: duckdb.Error) -> str:
    text = str(error).lower()
    by_sign = (words for sign, words in _SIGNS.items() if sign.lower() in text)
    by_kind = (words for kind, words in _KINDS.items() if isinstance(error, kind))
    return next(by_sign, None) or next(by_kind, OTHER_KIND)


def require_unique(connection: Connection, table: str, column: str, words: str = "") -> None:
    """Fail if an identifier is repeated or missing; ``words`` names the table in messages."""
    words = words or table.removeprefix("raw_").removeprefix("all_")
    total, different, present = connection.execute(
        f"SELECT count(*), count(DISTINCT {column}), count({column}) FROM {table}"
    ).fetchall()[0]
    if total == 0:
        raise InvalidInputError(f"{words} has no rows")
    if present < total:
        raise InvalidInputError(f"{column} is missing in {total - present:,} rows of {words}")
    if different < total:
        raise InvalidInputError(
            f"{column} must identify a row of {words}, but {total - different:,} of {total:,} rows "
            "repeat an earlier one; remove the duplicates"
        )
