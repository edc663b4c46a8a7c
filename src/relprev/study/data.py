"""A study file against its data: do the columns and values it names exist?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relprev.settings import KeyPath, suggestion
from relprev.sources.database import identifier
from relprev.sources.source import Source
from relprev.study.study import Study

SMALLEST_NAMED = 11  # visits a value needs to be named in a message


def columns_named(study: Study) -> Iterator[tuple[KeyPath, str]]:
    """Every column the study names, with the key that names it."""
    cohort = study.cohort
    places: list[tuple[KeyPath, tuple[Any, ...]]] = [
        (("include",), cohort.include),
        (("features", "extra"), cohort.features.extra),
        (("groups",), cohort.groups),
    ]
    for path, items in places:
        for position, item in enumerate(items):
            yield (*path, position, "column"), item.column


def require_columns(study: Study, source: Source) -> None:
    """Fail at the first column that the source does not have."""
    present = source.columns("visits")
    for path, column in columns_named(study):
        if column not in present:
            why = f" ({source.absent[column]})" if column in source.absent else ""
            raise study.error(
                path,
                f"the {source.name} source has no column {column!r}{why}; "
                f"{suggestion(column, present)}",
            )


def unknown_values(study: Study, source: Source) -> Iterator[tuple[KeyPath, str]]:
    """Values in rules and recodes that no visit has, with the key and what to do about it."""
    cohort = study.cohort
    named: list[tuple[KeyPath, str, tuple[str, ...]]] = [
        (("include", k, "one_of"), rule.column, rule.one_of)
        for k, rule in enumerate(cohort.include)
    ]
    named += [
        (("groups", k, "recode", name), group.column, tuple(values))
        for k, group in enumerate(cohort.groups)
        for name, values in group.recode.items()
    ]
    for path, column, values in named:
        count = _values(source, column) if values else {}
        common = [value for value, visits in count.items() if visits >= SMALLEST_NAMED]
        for value in values:
            if value not in count:
                yield path, f"no visit has {value!r} in {column}; {suggestion(value, common)}"


def _values(source: Source, column: str) -> dict[str, int]:
    """Visits with every value of a column. Rare values could point to a person: never shown."""
    name = identifier(column)
    rows = source.query(
        f"SELECT {name}::VARCHAR AS value, count(*) FROM visits WHERE {name} IS NOT NULL "
        "GROUP BY value ORDER BY value"
    )
    return dict(rows)
