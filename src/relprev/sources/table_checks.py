"""Arguments and values that `relprev.sources.read_tables` refuses because it would misread them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relprev.arrays import LARGEST
from relprev.errors import InvalidInputError
from relprev.sources.database import Connection, identifier
from relprev.sources.source import VISIT_COLUMNS


def column_list(names: Any, parameter: str) -> list[str]:
    """Distinct column names, from one name or a list."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise InvalidInputError(f"{parameter} must be a column name or a list of column names")
    return list(dict.fromkeys(listed))


def own_attributes(attributes: list[str], named: dict[str, str | None]) -> list[str]:
    """The attributes without those already included; none may take the name of another column."""
    kept = [column for column in attributes if named.get(column) != column]
    taken = [column for column in kept if column.lower() in VISIT_COLUMNS]
    if taken:
        keys = [column for column in taken if column in named]
        remedy = f"give {keys[0]} = {keys[0]!r}" if keys else "rename the column"
        raise InvalidInputError(
            f"attributes: the name {', '.join(map(repr, taken))} has a fixed meaning in every "
            f"source; {remedy}"
        )
    return kept


def refuse_decimals(connection: Connection, table: str, columns: Sequence[str]) -> None:
    """Refuse codes stored as numbers: 401.9 may have been 401.90."""
    kinds = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {table}").fetchall()}
    decimal = [c for c in columns if kinds[c].startswith(("DOUBLE", "FLOAT", "DECIMAL"))]
    if decimal:
        raise InvalidInputError(
            f"code: {', '.join(decimal)} holds decimal numbers, which lose the leading and "
            "trailing zeros of codes; store codes as text"
        )


def refuse_weights(connection: Connection, weight: str, words: str) -> None:
    """Refuse weights that are text, negative or absurdly large; missing and zero are allowed."""
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
            "visits are excluded and counted)"
        )


def refuse_strangers(connection: Connection, visit_id: str) -> None:
    """Refuse codes of unknown visits: the tables do not belong together."""
    strangers = connection.execute(
        f"SELECT count(*) FROM raw_codes ANTI JOIN raw_visits USING ({identifier(visit_id)})"
    ).fetchall()[0][0]
    if strangers:
        raise InvalidInputError(
            f"{strangers:,} rows of the codes table match no row of the visits table; check that "
            f"{visit_id} means the same in both"
        )
