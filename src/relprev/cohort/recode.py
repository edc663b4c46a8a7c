"""Names of the groups of a group variable, and SQL for the group of a visit."""

from __future__ import annotations

import pyarrow as pa

from relprev.cohort.cohort import MAX_GROUPS
from relprev.cohort.group_variable import GroupVariable
from relprev.errors import InvalidInputError
from relprev.sources.database import identifier, quoted
from relprev.sources.source import Source

MISSING, OTHER = -1, -2  # positions of visits without a value, and with a value in no group
MOST_CASES = 100  # values recoded by a CASE expression; more are looked up in a table


def group_names(group: GroupVariable, source: Source, where: str) -> tuple[str, ...]:
    """Names of the groups: those of the recode, or all values in the visits that meet ``where``."""
    if group.recode:
        names = tuple(group.recode)
    else:
        column = identifier(group.column)
        values = source.query(
            f"SELECT DISTINCT {column}::VARCHAR AS value FROM visits "
            f"WHERE {where} AND {column} IS NOT NULL ORDER BY value LIMIT {MAX_GROUPS + 1}"
        )
        if len(values) > MAX_GROUPS:
            raise InvalidInputError(
                f"groups: {group.column} has more than {MAX_GROUPS} values; give a recode"
            )
        names = tuple(value for (value,) in values)
    if group.missing in names:
        raise InvalidInputError(f"groups: {group.column} already has a group {group.missing!r}")
    return (*names, group.missing) if group.missing else names


def position_sql(
    group: GroupVariable, names: tuple[str, ...], source: Source, number: int
) -> tuple[str, str]:
    """SQL for the position of a visit's group, and for the join it needs, if any."""
    column = f"{identifier(group.column)}::VARCHAR"
    recode = group.recode or {name: (name,) for name in names if name != group.missing}
    missing = len(names) - 1 if group.missing else MISSING
    if sum(map(len, recode.values())) <= MOST_CASES:
        cases = " ".join(
            f"WHEN {column} IN ({', '.join(map(quoted, values))}) THEN {k}"
            for k, values in enumerate(recode.values())
            if values
        )
        return f"(CASE WHEN {column} IS NULL THEN {missing} {cases} ELSE {OTHER} END)::SMALLINT", ""
    table = f"relprev_recode_{number}"
    pairs = [(value, k) for k, values in enumerate(recode.values()) for value in values]
    raw, position = zip(*pairs, strict=True)
    source.connection.register("pairs", pa.table({"raw": raw, "position": position}))
    source.connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS FROM pairs")
    source.connection.unregister("pairs")
    otherwise = f"CASE WHEN {column} IS NULL THEN {missing} ELSE {OTHER} END"
    return (
        f"coalesce({table}.position, {otherwise})::SMALLINT",
        f" LEFT JOIN {table} ON {table}.raw = {column}",
    )
