"""Load OMOP tables as ``raw_<table>``, from files, a DuckDB database or PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from relprev.errors import InvalidInputError
from relprev.sources.database import Connection, identifier, open_database, reading
from relprev.sources.formats import load_table
from relprev.store.files import TemporaryFolder

BATCH_ROWS = 1_000_000
TABLES = {
    "person": ("person_id", "gender_concept_id", "year_of_birth", "month_of_birth",
               "day_of_birth", "race_concept_id", "ethnicity_concept_id"),
    "visit_occurrence": ("visit_occurrence_id", "person_id", "visit_concept_id",
                         "visit_start_date"),
    "condition_occurrence": ("visit_occurrence_id", "condition_concept_id",
                             "condition_source_value", "condition_source_concept_id"),
    "concept": ("concept_id", "concept_name", "vocabulary_id", "concept_code"),
}  # fmt: skip
Tables = Mapping[str, Sequence[str]]


def load_folder(
    connection: Connection, folder: Path, tables: Tables = TABLES, optional: Sequence[str] = ()
) -> None:
    """Read the tables from the files named after them; ``optional`` ones may lack."""
    files = {file.name.lower(): file for file in sorted(folder.iterdir()) if file.is_file()}
    for table, columns in tables.items():
        endings = (".parquet", ".csv", ".csv.gz")
        found = next((files[table + end] for end in endings if table + end in files), None)
        if found is None and table in optional:
            continue
        if found is None:
            raise InvalidInputError(
                f"{folder} has no {table}.parquet, .csv or .csv.gz; is it a folder of OMOP tables?"
            )
        load_table(connection, found, f"raw_{table}", columns)


def load_duckdb(
    connection: Connection, path: Path, schema: str, tables: Tables = TABLES,
    optional: Sequence[str] = (),
) -> None:  # fmt: skip
    """Copy the tables; views are refused, because they can read any file."""
    if not path.is_file():
        raise InvalidInputError(
            f"there is no folder or DuckDB file at {path}; for PostgreSQL give postgresql://..."
        )
    with reading(path.name), open_database(path) as database:
        for table, columns in tables.items():
            where = "lower(table_schema) = lower(?) AND lower(table_name) = ?"
            kinds = database.execute(
                f"SELECT table_type FROM information_schema.tables WHERE {where}", [schema, table]
            ).fetchall()
            if kinds and kinds != [("BASE TABLE",)]:
                raise InvalidInputError(
                    f"{table} in {path.name} is a view, which can read other files; store it as a "
                    f"table (CREATE TABLE ... AS FROM {table})"
                )
            present = database.execute(
                f"SELECT lower(column_name) FROM information_schema.columns WHERE {where}",
                [schema, table],
            ).fetchall()
            if not present and table in optional:
                continue
            _require_columns(table, columns, [name for (name,) in present], schema)
            rows = database.sql(
                f"SELECT {', '.join(columns)} FROM {identifier(schema)}.{table}"
            ).to_arrow_reader(BATCH_ROWS)
            connection.register("rows", rows)
            connection.execute(f"CREATE TABLE raw_{table} AS FROM rows")
            connection.unregister("rows")


def load_postgres(
    connection: Connection, address: str, schema: str, tables: Tables = TABLES,
    optional: Sequence[str] = (),
) -> None:  # fmt: skip
    """Stream each table through a temporary CSV file, to use little memory."""
    try:
        import psycopg
        from psycopg import sql
    except ImportError:
        raise InvalidInputError(
            "PostgreSQL needs the package psycopg: pip install relprev[postgres]"
        ) from None
    with TemporaryFolder() as folder:
        try:
            with psycopg.connect(address) as server:
                for table, columns in tables.items():
                    found = server.execute(
                        "SELECT column_name FROM information_schema.columns "
                        "WHERE table_schema = %s AND table_name = %s",
                        [schema, table],
                    ).fetchall()
                    if not found and table in optional:
                        continue
                    _require_columns(table, columns, [name for (name,) in found], schema)
                    copied = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv, HEADER)")
                    query = copied.format(
                        sql.SQL(", ").join(map(sql.Identifier, columns)),
                        sql.Identifier(schema, table),
                    )
                    file = Path(folder, f"{table}.csv")
                    with server.cursor().copy(query) as rows, file.open("wb") as target:
                        for block in rows:
                            target.write(block)
        except (psycopg.Error, ValueError) as error:
            if isinstance(error, InvalidInputError):
                raise
            # Neither the address nor the server's message is repeated: both may hold passwords.
            raise InvalidInputError(
                f"the PostgreSQL database cannot be read ({_problem(error)}); check the address, "
                f"the user's permissions and the schema {schema!r}"
            ) from None
        for table, columns in tables.items():
            file = Path(folder, f"{table}.csv")
            if file.exists():
                load_table(connection, file, f"raw_{table}", columns)


def _problem(error: Exception) -> str:
    """What went wrong, in words that reveal nothing of the address."""
    kinds = {
        "OperationalError": "the connection failed",
        "ProgrammingError": "the address or a name is not understood",
        "InsufficientPrivilege": "the user may not read a table",
    }
    return kinds.get(type(error).__name__, "the server reports an error")


def _require_columns(
    table: str, columns: Sequence[str], present: Sequence[str], schema: str
) -> None:
    if not present:
        raise InvalidInputError(f"there is no table {table} in the schema {schema!r}; give schema=")
    missing = [column for column in columns if column not in present]
    if missing:
        raise InvalidInputError(f"{table} lacks {', '.join(missing)}; is it OMOP CDM 5.3 or 5.4?")
