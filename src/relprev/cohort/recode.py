"""Names of the groups of a group variable, and SQL for the group of a visit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import pyarrow as pa

from relprev.cohort.cohort import MAX_GROUPS
from relprev.cohort.group_variable import Division
from relprev.errors import InvalidInputError
from relprev.sources.database import identifier, quoted
from relprev.sources.source import Source

MISSING, OTHER = -1, -2  # positions of visits without a value, and with a value in no group
BETWEEN = " / "  # the values that make up a combination; lists of groups have commas
MOST_CASES = 100  # values recoded by a CASE expression; more are looked up in a table


@dataclass(frozen=True)
class Grouping:
    """Names of the groups, SQL for the position of a visit's group, and the join it needs."""

    names: tuple[str, ...]
    position: str
    join: str = ""


def grouping(
    group: Division, parts: Sequence[Division], source: Source, where: str, key: str
) -> Grouping:
    """The groups of a variable among the visits that meet ``where``.

    ``parts`` are the variables that a variable of several columns combines, and ``key`` is a word
    that no other variable has.
    """
    if parts:
        found = [grouping(part, (), source, where, f"{key}_{k}") for k, part in enumerate(parts)]
        made = _crossed(group, found)
    elif group.edges:
        made = _banded(group)
    else:
        names = tuple(group.recode) or _values(group, source, where)
        made = _recoded(group, names, source, key)
    if not group.missing:
        return made
    if group.missing in made.names:
        raise InvalidInputError(f"{group.key}: {group.name} already has a group {group.missing!r}")
    own = f"CASE {made.position} WHEN {MISSING} THEN {len(made.names)} ELSE {made.position} END"
    return Grouping((*made.names, group.missing), f"({own})::SMALLINT", made.join)


def _values(group: Division, source: Source, where: str) -> tuple[str, ...]:
    """All values in the visits."""
    column = identifier(group.columns[0])
    values = source.query(
        f"SELECT DISTINCT {column}::VARCHAR AS value FROM visits "
        f"WHERE {where} AND {column} IS NOT NULL ORDER BY value LIMIT {MAX_GROUPS + 1}"
    )
    if len(values) > MAX_GROUPS:
        raise InvalidInputError(
            f"{group.key}: {group.column} has more than {MAX_GROUPS} values; give a recode, or "
            "edges"
        )
    return tuple(value for (value,) in values)


def _recoded(
    group: Division, names: tuple[str, ...], source: Source, key: str
) -> Grouping:  # fmt: skip
    column = f"{identifier(group.columns[0])}::VARCHAR"
    recode = group.recode or {name: (name,) for name in names}
    if sum(map(len, recode.values())) <= MOST_CASES:
        cases = " ".join(
            f"WHEN {column} IN ({', '.join(map(quoted, values))}) THEN {k}"
            for k, values in enumerate(recode.values())
            if values
        )
        sql = f"CASE WHEN {column} IS NULL THEN {MISSING} {cases} ELSE {OTHER} END"
        return Grouping(names, f"({sql})::SMALLINT")
    table = f"relprev_recode_{key}"
    pairs = [(value, k) for k, values in enumerate(recode.values()) for value in values]
    raw, position = zip(*pairs, strict=True)
    source.connection.register("pairs", pa.table({"raw": raw, "position": position}))
    source.connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS FROM pairs")
    source.connection.unregister("pairs")
    otherwise = f"CASE WHEN {column} IS NULL THEN {MISSING} ELSE {OTHER} END"
    return Grouping(
        names,
        f"coalesce({table}.position, {otherwise})::SMALLINT",
        f" LEFT JOIN {table} ON {table}.raw = {column}",
    )


def _banded(group: Division) -> Grouping:
    """Bands of a number; what is not a number is missing."""
    value = f"try_cast({identifier(group.columns[0])} AS DOUBLE)"
    cases = " ".join(f"WHEN {value} < {edge!r} THEN {k}" for k, edge in enumerate(group.edges))
    unknown = f"{value} IS NULL OR isnan({value})"
    sql = f"CASE WHEN {unknown} THEN {MISSING} {cases} ELSE {len(group.edges)} END"
    return Grouping(group.bands, f"({sql})::SMALLINT")


def _crossed(group: Division, parts: Sequence[Grouping]) -> Grouping:
    """One group for each combination; a visit that one part leaves out is left out."""
    sizes = [len(part.names) for part in parts]
    if prod(sizes) > MAX_GROUPS:
        raise InvalidInputError(
            f"{group.key}: {group.name} has {prod(sizes):,} combinations, but at most "
            f"{MAX_GROUPS:,} groups can be compared; merge values (recode) in a group variable of "
            "their own"
        )
    names = tuple(BETWEEN.join(combination) for combination in product(*(p.names for p in parts)))
    if len(set(names)) < len(names):
        raise InvalidInputError(
            f"{group.key}: two combinations of {group.name} have the same name, because values "
            f"contain {BETWEEN!r}; name the values (recode) in a group variable of their own"
        )
    place = " + ".join(
        f"{part.position}::INTEGER * {prod(sizes[k + 1 :])}" for k, part in enumerate(parts)
    )
    outside = f"least({', '.join(part.position for part in parts)})"
    missing = " OR ".join(f"{part.position} = {MISSING}" for part in parts)
    sql = f"CASE WHEN {missing} THEN {MISSING} WHEN {outside} < 0 THEN {OTHER} ELSE {place} END"
    return Grouping(names, f"({sql})::SMALLINT", "".join(part.join for part in parts))
