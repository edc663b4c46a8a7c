"""Where OMOP tables are: a folder of files, a DuckDB database or PostgreSQL.

Each place makes tables ready to be asked (`OmopTables.require`) and answers queries with its own
engine; `OmopTables.fetch` brings the rows of an answer into our database.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from relprev.errors import InvalidInputError
from relprev.sources.addresses import is_address, postgres_address
from relprev.sources.database import (
    Connection,
    column_names,
    execute,
    file_literal,
    identifier,
    open_database,
    parquet_relation,
    reading,
)
from relprev.sources.formats import csv_relation, load_table
from relprev.sources.omop_query import Dialect
from relprev.store.files import TemporaryFolder

BATCH_ROWS = 1_000_000
TEXTS = ("vocabulary_id",)  # identifiers that are not numbers
AMOUNTS = ("value_as_number", "range_low", "range_high")
NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")  # of PostgreSQL


class OmopTables(ABC):
    """Tables in one place, to be asked in SQL."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection  # our database, which receives what is fetched
        self.dialect = Dialect(
            self.relation, "try_cast({} AS BIGINT)".format,
            "nullif(try_cast({} AS DOUBLE), 'NaN')".format, "try_cast({} AS DATE)".format,
        )  # fmt: skip

    @abstractmethod
    def require(self, table: str, columns: Sequence[str]) -> bool:
        """Make sure that a table has these columns; False if there is no such table."""

    @abstractmethod
    def relation(self, table: str) -> str:
        """SQL name of a table."""

    @abstractmethod
    def fetch(self, query: str, into: str) -> None:
        """Store the rows of a query as a table of our database."""

    @abstractmethod
    def lacking(self, table: str) -> tuple[str, str]:
        """That a table is not there, and what to do about it if every study needs it."""

    def absent(self, table: str, needed_by: str = "") -> InvalidInputError:
        """What to say of a table that is not there; ``needed_by`` names what may be left out."""
        words, remedy = self.lacking(table)
        if needed_by:
            remedy = f"it is needed by {needed_by}: add it, or leave that out"
        return InvalidInputError(f"{words}; {remedy}")


class OmopFolder(OmopTables):
    """A folder with one file per table, or one folder of Parquet files per table."""

    def __init__(self, connection: Connection, folder: Path) -> None:
        super().__init__(connection)
        self.folder = folder
        self.ready: dict[str, str] = {}  # tables that can be asked, as views or tables
        self.found = {item.name.lower(): item for item in sorted(folder.iterdir())}

    def require(self, table: str, columns: Sequence[str]) -> bool:
        names = [table + end for end in (".parquet", "", ".csv", ".csv.gz")]
        paths = [self.found[name] for name in names if name in self.found]
        path = next((one for one in paths if one.is_dir() or one.name.lower() != table), None)
        if path is None:
            return False
        if table in self.ready:
            return True
        name = self.relation(table)
        is_parquet = path.is_dir() or path.suffix.lower() == ".parquet"
        self.ready[table] = "VIEW" if is_parquet else "TABLE"
        if is_parquet:
            with reading(path.name):
                source = _parquet(path)
                known = {one.lower(): one for one in column_names(self.connection, source)}
                _require_columns(table, columns, list(known))
                picked = ", ".join(f"{identifier(known[one])} AS {one}" for one in columns)
                self.connection.execute(f"CREATE VIEW {name} AS SELECT {picked} FROM {source}")
        else:
            load_table(self.connection, path, name, columns)
        return True

    def relation(self, table: str) -> str:
        return f"file_{table}"

    def fetch(self, query: str, into: str) -> None:
        execute(self.connection, f"CREATE TABLE {into} AS {query}")

    def release(self) -> None:
        """Drop what was read of files, and so give memory back."""
        for table, kind in self.ready.items():
            self.connection.execute(f"DROP {kind} {self.relation(table)}")

    def lacking(self, table: str) -> tuple[str, str]:
        words = f"{self.folder} has no {table}.parquet, .csv or .csv.gz, nor a folder {table} of "
        return f"{words}Parquet files", "is it a folder of OMOP tables?"


class OmopSchema(OmopTables):
    """Tables of a database's schema."""

    def __init__(self, connection: Connection, schema: str) -> None:
        super().__init__(connection)
        self.schema = schema

    @abstractmethod
    def columns(self, table: str) -> list[str]:
        """Names of a table's columns, none if there is no such table."""

    def require(self, table: str, columns: Sequence[str]) -> bool:
        found = self.columns(table)
        if found:
            _require_columns(table, columns, found)
        return bool(found)

    def relation(self, table: str) -> str:
        return f"{identifier(self.schema)}.{table}"

    def lacking(self, table: str) -> tuple[str, str]:
        return _no_table(table, self.schema)


class OmopDuckDB(OmopSchema):
    """A DuckDB file. Views are refused, because they can read any file."""

    def __init__(self, connection: Connection, database: Connection, schema: str, file: str):
        super().__init__(connection, schema)
        self.database, self.file = database, file

    def columns(self, table: str) -> list[str]:
        where = "lower(table_schema) = lower(?) AND lower(table_name) = ?"
        kinds = self.database.execute(
            f"SELECT table_type FROM information_schema.tables WHERE {where}", [self.schema, table]
        ).fetchall()
        if kinds and kinds != [("BASE TABLE",)]:
            raise InvalidInputError(
                f"{table} in {self.file} is a view, which can read other files; store it as a "
                f"table (CREATE TABLE ... AS FROM {table})"
            )
        found = self.database.execute(
            f"SELECT lower(column_name) FROM information_schema.columns WHERE {where}",
            [self.schema, table],
        ).fetchall()
        return [name for (name,) in found]

    def fetch(self, query: str, into: str) -> None:
        rows = self.database.sql(query).to_arrow_reader(BATCH_ROWS)
        self.connection.register("rows", rows)
        self.connection.execute(f"CREATE TABLE {into} AS FROM rows")
        self.connection.unregister("rows")


class OmopPostgres(OmopSchema):
    """A PostgreSQL server, whose answers come through a temporary CSV file, to save memory."""

    def __init__(self, connection: Connection, server: Any, schema: str, folder: Path) -> None:
        super().__init__(connection, schema)
        self.server, self.folder = server, folder
        # Columns keep their types, so that the server can use its indexes.
        self.dialect = Dialect(
            self.relation, "{}".format, "nullif(CAST({} AS DOUBLE PRECISION), 'NaN')".format,
            "CAST({} AS DATE)".format,
        )  # fmt: skip

    def columns(self, table: str) -> list[str]:
        return list(self._types(table))

    def require(self, table: str, columns: Sequence[str]) -> bool:
        present = super().require(table, columns)
        types = self._types(table) if present else {}
        for column in columns if present else ():
            if (_is_number(column) or column in AMOUNTS) and types[column] not in NUMBERS:
                raise InvalidInputError(
                    f"{table}.{column} is of the type {types[column]} on the server, where OMOP "
                    "has numbers; change its type there (ALTER TABLE)"
                )
        return present

    def _types(self, table: str) -> dict[str, str]:
        """Types of a table's columns by name."""
        found = self.server.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = %s AND table_name = %s",
            [self.schema, table],
        ).fetchall()
        return dict(found)

    def fetch(self, query: str, into: str) -> None:
        file = self.folder / f"{into}.csv"
        copied = f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)".encode()
        with self.server.cursor().copy(copied) as rows, file.open("wb") as target:
            for block in rows:
                target.write(block)
        with file.open(encoding="utf-8") as lines:
            names = lines.readline().strip().split(",")
        kinds = dict.fromkeys(filter(_is_number, names), "BIGINT")
        relation = csv_relation(file, names, header=True, kinds=kinds)
        execute(self.connection, f"CREATE TABLE {into} AS FROM {relation}")
        file.unlink()


@contextmanager
def open_tables(
    connection: Connection, database: str | Path, schema: str | None
) -> Iterator[OmopTables]:
    """The tables of a folder, a DuckDB file or the address of a PostgreSQL database."""
    if is_address(database):
        address = postgres_address(str(database))
        if address is None:
            raise InvalidInputError(
                "database: expected a PostgreSQL address (postgresql://...), got another kind; "
                "export other databases as CSV or Parquet files"
            )
        with _postgres(connection, address, schema or "public") as tables:
            yield tables
    elif Path(database).is_dir():
        folder = OmopFolder(connection, Path(database))
        yield folder
        folder.release()
    else:
        path = Path(database)
        if not path.is_file():
            raise _nothing_at(path)
        with reading(path.name), open_database(path) as opened:
            yield OmopDuckDB(connection, opened, schema or "main", path.name)


def _nothing_at(path: Path) -> InvalidInputError:
    if path.name.startswith("$"):  # it would have been replaced if it were set
        return InvalidInputError(
            f"database: the environment variable {path.name[1:].strip('{}')} is not set; set it to "
            "the folder, the DuckDB file or the address of the database"
        )
    return InvalidInputError(
        f"there is no folder or DuckDB file at {path}; for PostgreSQL give postgresql://..."
    )


@contextmanager
def _postgres(connection: Connection, address: str, schema: str) -> Iterator[OmopTables]:
    try:
        import psycopg
    except ImportError:
        raise InvalidInputError(
            "PostgreSQL needs the package psycopg: pip install relprev[postgres]"
        ) from None
    try:
        with TemporaryFolder() as folder, psycopg.connect(address) as server:
            server.read_only = True
            server.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # one state of the data
            yield OmopPostgres(connection, server, schema, Path(folder))
    except (psycopg.Error, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        # Neither the address nor the server's message is repeated: both may hold passwords.
        raise InvalidInputError(
            f"the PostgreSQL database cannot be read ({_problem(error)}); check the address, "
            f"the user's permissions and the schema {schema!r}"
        ) from None


def _problem(error: Exception) -> str:
    """What went wrong, in words that reveal nothing of the address."""
    kinds = {
        "OperationalError": "the connection failed",
        "ProgrammingError": "the address or a name is not understood",
        "InsufficientPrivilege": "the user may not read a table",
        "UndefinedFunction": "a column is not of the type that OMOP gives it",
        "DatatypeMismatch": "a column is not of the type that OMOP gives it",
        "InvalidDatetimeFormat": "a column of dates holds something else",
        "DiskFull": "the server's disk is full",
    }
    return kinds.get(type(error).__name__, "the server reports an error")


def _parquet(path: Path) -> str:
    """SQL that reads a Parquet file, or those of a folder as Spark and warehouses write them."""
    if not path.is_dir():
        return parquet_relation(path)
    parts = sorted(
        part for part in path.rglob("*")
        if part.is_file() and part.suffix.lower() in (".parquet", ".pq")
        and not part.name.startswith(("_", "."))
    )  # fmt: skip
    if not parts:
        raise InvalidInputError(f"the folder {path.name} has no Parquet files (*.parquet)")
    files = ", ".join(map(file_literal, parts))
    return f"read_parquet([{files}], hive_partitioning=false, union_by_name=true)"


def _is_number(column: str) -> bool:
    """Whether a column holds numbers that identify something."""
    return column.endswith("_id") and column not in TEXTS


def _no_table(table: str, schema: str) -> tuple[str, str]:
    return f"there is no table {table} in the schema {schema!r}", "give schema="


def _require_columns(table: str, columns: Sequence[str], present: Sequence[str]) -> None:
    missing = [name for name in columns if name not in present]
    if missing:
        raise InvalidInputError(f"{table} lacks {', '.join(missing)}; is it OMOP CDM 5.3 or 5.4?")
