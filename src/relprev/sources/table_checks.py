"""What `relprev.sources.read_tables` refuses: arguments and values that would be misread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relprev.arrays import LARGEST
from relprev.errors import InvalidInputError
from relprev.sources.database import Connection, identifier
from relprev.sources.source import VISIT_COLUMNS


def column_list(names: Any, parameter: str) -> list[str]:
    """Names of columns, each once."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise InvalidInputError(f"{parameter} must be a column's name or a list of names")
    return list(dict.fromkeys(listed))


def own_attributes(attributes: list[str], named: dict[str, str | None]) -> list[str]:
    """The attributes that do not come under their own name anyhow; none may stand for another."""
    kept = [column for column in attributes if named.get(column) != column]
    taken = [column for column in kept if column.lower() in VISIT_COLUMNS]
    if taken:
        keys = [column for column in taken if column in named]
        remedy = f"give {keys[0]} = {keys[0]!r}" if keys else "rename the column"
        raise InvalidInputError(
            f"attributes: {', '.join(map(repr, taken))} is a name with a meaning of its own in "
            f"every source; {remedy}"
        )
    return kept


def refuse_decimals(connection: Connection, table: str, columns: Sequence[str]) -> None:
    """A code stored as 401.9 may have been 401.90."""
    kinds = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {table}").fetchall()}
    decimal = [c for c in columns if kinds[c].startswith(("DOUBLE", "FLOAT", "DECIMAL"))]
    if decimal:
        raise InvalidInputError(
            f"code: {', '.join(decimal)} holds decimal numbers, which lose zeros at both ends of "
            "a code; store codes as text"
        )


def refuse_weights(connection: Connection, weight: str, words: str) -> None:
    """A weight may be missing or zero, but not text, negative or beyond reason."""
    text = f"trim({identifier(weight)}::VARCHAR)"
    number = f"try_cast({text} AS DOUBLE)"
    rows, first = connection.execute(
        f"SELECT count(*), min(rowid) FROM raw_visits WHERE {text} <> '' "
        f"AND ({number} IS NULL OR {number} < 0 OR NOT {number} <= {LARGEST!r})"
    ).fetchall()[0]
    if rows:
        raise InvalidInputError(
            f"{words}: column {weight!r} (weight) must hold numbers from 0 to {LARGEST:g}, "
            f"but {rows:,} row{'s' if rows > 1 else ''} hold{'' if rows > 1 else 's'} something "
            f"else, first data row {first + 1}; correct them, or leave the cells empty (such "
            "visits are left out, and counted)"
        )


def refuse_strangers(connection: Connection, visit_id: str) -> None:
    """Codes of a visit that is not there mean that the tables do not belong together."""
    strangers = connection.execute(
        f"SELECT count(*) FROM raw_codes ANTI JOIN raw_visits USING ({identifier(visit_id)})"
    ).fetchall()[0][0]
    if strangers:
        raise InvalidInputError(
            f"{strangers:,} rows of the codes table belong to no row of the visits table; check "
            f"that {visit_id} means the same in both"
        )
