"""Concepts of OMOP: their names, and sets of them with their descendants.

A set is a list of numbers, whose descendants (``concept_ancestor``) belong to it, or the JSON file
that ATLAS exports: items that are included or excluded, with or without their descendants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

from relprev.codes.spelling import normalize
from relprev.errors import InvalidInputError
from relprev.sources.database import column_names, quoted
from relprev.sources.omop_query import ANCESTOR, Queries
from relprev.sources.omop_tables import OmopTables

PREFIX = "SET"  # of the codes that stand for a set
LARGEST = 2**26  # bytes
NAMES = {  # of the standard vocabularies, which an extract may lack
    8507: "MALE", 8532: "FEMALE", 8515: "Asian", 8516: "Black or African American",
    8527: "White", 8557: "Native Hawaiian or Other Pacific Islander",
    8657: "American Indian or Alaska Native", 38003563: "Hispanic or Latino",
    38003564: "Not Hispanic or Latino",
}  # fmt: skip


@dataclass(frozen=True)
class ConceptSet:
    """A named set of concepts: four lists of numbers, as an ATLAS expression has them."""

    name: str
    included: frozenset[int] = frozenset()
    with_descendants: frozenset[int] = frozenset()
    excluded: frozenset[int] = frozenset()
    excluded_with_descendants: frozenset[int] = frozenset()

    @property
    def code(self) -> str:
        """Its name as a code."""
        return normalize(self.name)

    @property
    def ancestors(self) -> frozenset[int]:
        """Concepts whose descendants matter."""
        return self.with_descendants | self.excluded_with_descendants

    def members(self, descendants: Mapping[int, Sequence[int]]) -> set[int]:
        """Numbers of the concepts in the set."""
        return _closure(self.included, self.with_descendants, descendants) - _closure(
            self.excluded, self.excluded_with_descendants, descendants
        )


def _closure(
    plain: Iterable[int], above: Iterable[int], descendants: Mapping[int, Sequence[int]]
) -> set[int]:
    found = {*plain, *above}
    return found.union(*(descendants.get(number, ()) for number in above))


def concept_sets(
    files: str | Path | Sequence[str | Path] | None,
    concepts: Mapping[str, Sequence[int]] | None,
) -> list[ConceptSet]:
    """The sets of ATLAS files, named after these, and those given by their numbers."""
    paths = [files] if isinstance(files, str | Path) else list(files or ())
    sets = [read_concept_set(path) for path in paths]
    if concepts is not None and not isinstance(concepts, Mapping):
        raise InvalidInputError(
            "concepts must be sets by name, such as {'asthma': [317009]}, got something else"
        )
    for name, numbers in (concepts or {}).items():
        members = frozenset(concept_numbers(f"concepts.{name}", numbers))
        if not members:
            raise InvalidInputError(f"concepts.{name} must not be empty; give at least one concept")
        sets.append(ConceptSet(name, with_descendants=members))
    for one in sets:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._ -]*", one.name):
            raise InvalidInputError(
                f"concept set {one.name!r}: use letters, digits and dashes in its name"
            )
    codes = [one.code for one in sets]
    twice = [one.name for one in sets if codes.count(one.code) > 1]
    if twice:
        raise InvalidInputError(f"concept sets must differ in their names, got {', '.join(twice)}")
    return sets


def concept_numbers(name: str, given: Any) -> tuple[int, ...]:
    """Numbers of concepts; ``name`` is the parameter's, for the error."""
    found = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(one, Integral) and not isinstance(one, bool) for one in found):
        raise InvalidInputError(
            f"{name}: expected numbers of concepts, such as [9201, 9203], got another kind of value"
        )
    return tuple(map(int, found))


def read_concept_set(path: str | Path) -> ConceptSet:
    """The concept set in a JSON file, as ATLAS exports it: an expression, or a set with one."""
    path = Path(path)
    if not path.is_file():
        raise InvalidInputError(f"concept_sets: there is no file at {path}; export it from ATLAS")
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        raise InvalidInputError(
            f"{path.name} is not a JSON file; export the concept set from ATLAS (Export, JSON)"
        ) from None
    expression = content.get("expression", content) if isinstance(content, dict) else {}
    items = expression.get("items") if isinstance(expression, dict) else None
    if not isinstance(items, list) or not items:
        raise InvalidInputError(
            f'{path.name} is not a concept set of ATLAS: expected {{"items": [...]}} with one item '
            "per concept"
        )
    lists: dict[tuple[bool, bool], set[int]] = {}
    for position, item in enumerate(items, start=1):
        excluded, deep = (_flag(item, key) for key in ("isExcluded", "includeDescendants"))
        lists.setdefault((excluded, deep), set()).add(_number(item, position, path.name))
    kinds = ((False, False), (False, True), (True, False), (True, True))
    found = ConceptSet(path.stem, *(frozenset(lists.get(kind, ())) for kind in kinds))
    if not found.included and not found.with_descendants:
        raise InvalidInputError(f"{path.name} excludes all of its concepts")
    return found


def _flag(item: Any, key: str) -> bool:
    return isinstance(item, dict) and bool(item.get(key))


def _number(item: Any, position: int, file: str) -> int:
    concept = item.get("concept") if isinstance(item, dict) else None
    about = concept if isinstance(concept, dict) else {}
    number = about.get("CONCEPT_ID", about.get("conceptId"))
    if type(number) is not int:
        raise InvalidInputError(f"{file}: item {position} has no number (concept.CONCEPT_ID)")
    return number


def load_members(tables: OmopTables, queries: Queries, sets: Sequence[ConceptSet]) -> None:
    """Create the table ``members`` (set, concept) of the sets' concepts."""
    connection = tables.connection
    connection.execute("CREATE TABLE members (set VARCHAR, concept BIGINT)")
    wanted = sorted(frozenset().union(*(one.ancestors for one in sets)))
    descendants: dict[int, list[int]] = {}
    if wanted:
        if not tables.require("concept_ancestor", ANCESTOR):
            raise tables.absent("concept_ancestor", "sets with descendants")
        tables.fetch(queries.ancestors("ancestor_concept_id", wanted), "raw_descendants")
        for above, below in connection.execute(
            "SELECT ancestor_concept_id::BIGINT, descendant_concept_id::BIGINT FROM raw_descendants"
        ).fetchall():
            descendants.setdefault(above, []).append(below)
        connection.execute("DROP TABLE raw_descendants")
    for one in sets:
        if one.with_descendants and not any(number in descendants for number in one.ancestors):
            raise InvalidInputError(
                f"concept set {one.name!r}: concept_ancestor has none of its concepts, so their "
                "descendants are not known; give standard concepts, or load the vocabulary"
            )
        numbers = sorted(one.members(descendants))
        if not numbers:
            raise InvalidInputError(f"concept set {one.name!r} excludes all of its concepts")
        connection.execute(
            f"INSERT INTO members SELECT {quoted(one.code)}, unnest({numbers}::BIGINT[])"
        )


def load_ancestors(tables: OmopTables, queries: Queries, of: str) -> None:
    """Create ``raw_concept_ancestor`` for a table's concepts and their ancestors.

    Ancestors are asked for theirs too, to tell which of them have none of some kind. A database
    that has no such table gives an empty one.
    """
    if not tables.require("concept_ancestor", ANCESTOR):
        columns = ", ".join(f"{column} BIGINT" for column in ANCESTOR)
        tables.connection.execute(f"CREATE TABLE raw_concept_ancestor ({columns})")
        return
    numbers = _numbers(tables, of)
    tables.fetch(queries.ancestors("descendant_concept_id", sorted(numbers)), "raw_first")
    numbers |= _numbers(tables, "raw_first")
    tables.connection.execute("DROP TABLE raw_first")
    tables.fetch(
        queries.ancestors("descendant_concept_id", sorted(numbers)), "raw_concept_ancestor"
    )


def load_concepts(tables: OmopTables, queries: Queries, of: Sequence[str]) -> None:
    """Create ``raw_concept`` with the concepts that occur in these tables of our database."""
    numbers = set(NAMES).union(*(_numbers(tables, table) for table in of))
    tables.fetch(queries.concepts(sorted(numbers)), "raw_concept")


def _numbers(tables: OmopTables, table: str) -> set[int]:
    """The concepts that occur in any column of a table of our database."""
    columns = [
        column for column in column_names(tables.connection, table) if column.endswith("concept_id")
    ]
    listed = ", ".join(f"try_cast({column} AS BIGINT)" for column in columns)
    found = tables.connection.execute(f"SELECT DISTINCT unnest([{listed}]) FROM {table}").fetchall()
    return {number for (number,) in found if number}


def name_sql(column: str) -> str:
    """SQL for the name of a concept, or its number if no vocabulary has it; NULL for 0."""
    number = f"nullif(try_cast({column} AS BIGINT), 0)"
    known = " ".join(f"WHEN {key} THEN {quoted(words)}" for key, words in NAMES.items())
    return f"""coalesce(
        (SELECT any_value(concept_name) FROM raw_concept WHERE concept_id::BIGINT = {number}),
        CASE {number} {known} END, 'concept ' || {number})"""
