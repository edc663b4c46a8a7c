"""The canonical form of data: every source becomes two DuckDB tables.

``visits``, one row per visit:

    visit     BIGINT    0, 1, ..., n - 1
    visit_id  any       the identifier in the raw files
    patient   any       all NULL if patients are not identified
    age       INTEGER   years
    sex       VARCHAR   'F' or 'M'
    weight    DOUBLE    sampling weight; all NULL without a survey
    stratum   any       survey design, or NULL
    psu       any       survey design, or NULL; distinct across strata and years
    year      INTEGER
    visit_date DATE     only where known: for rules about days between visits of a patient
    ...                 any further columns: attributes for groups and features

``codes``, one row per recorded code (a code may be recorded more than once):

    visit     BIGINT
    version   VARCHAR   'ICD9', 'ICD10' or another vocabulary
    code      VARCHAR   in the spelling of `relprev.codes.normalize`
    role      VARCHAR   'diagnosis', 'cause', 'ed', 'hospital', ...; says what kind of feature
                        a code is (`relprev.sources.kinds`)

The tables may be views of files: they are scanned, and never loaded whole into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import duckdb

from relprev.codes.spelling import normalize_sql
from relprev.errors import InvalidInputError
from relprev.sources.attrition import Attrition, Step
from relprev.sources.database import column_names, quoted
from relprev.sources.kinds import DIAGNOSES, Kind
from relprev.units import VISIT, Unit

VISIT_COLUMNS = ("visit", "visit_id", "patient", "age", "sex", "weight", "stratum", "psu", "year")
DATE = "visit_date"  # not in every source
CODE_COLUMNS = ("visit", "version", "code", "role")


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """Visits and codes, ready for a study.

    Parameters
    ----------
    name : str
        Kind of source, such as ``"neds"``.
    connection : DuckDB connection
        Holds the tables (or views) ``visits`` and ``codes``.
    attrition : Attrition, optional
        Exclusions made while reading. Default: a single step with all visits.
    code_lengths : mapping of version to int
        Versions whose codes this source truncates to that many characters.
    absent : mapping of column to text
        Why a column that a study may want is missing.
    details : mapping
        What it takes to identify the same data again: options and, under ``"data"``, the name
        and digest of everything read. No paths, credentials or numbers of rows or bytes, from
        which hidden counts of the attrition table would follow.
    descriptions : mapping
        Descriptions of codes, such as ``{"SNOMED:65363002": "Otitis media"}``, if the data
        contain them. `relprev.codes.describe` knows those of ICD codes.
    kinds : tuple of Kind
        Kinds of features that were read, see :mod:`relprev.sources.kinds`.
    exclusive : tuple of tuple of str
        Names of features of which a visit has at most one, such as the bins of a vital sign.
    unit : Unit
        What a row of ``visits`` is, see :mod:`relprev.units`.
    roles : tuple of pairs of str, optional
        All pairs of version and role that its codes may have. Default: those that they have,
        which takes a pass over the codes.

    Examples
    --------
    >>> import pandas as pd
    >>> from relprev.sources import read_tables
    >>> visits = pd.DataFrame({"id": [7, 8], "dx": ["T74.11XA", "R51"], "ward": ["a", "b"]})
    >>> source = read_tables(
    ...     visits, visit_id="id", code=["dx"], version="ICD10", attributes=["ward"])
    >>> source.n_visits, source.attributes, source.columns("codes")
    (2, ('ward',), ('visit', 'version', 'code', 'role'))
    >>> source.query("SELECT ward, code FROM visits JOIN codes USING (visit) ORDER BY ward")
    [('a', 'T7411XA'), ('b', 'R51')]
    >>> source.code_roles()
    [('ICD10', 'diagnosis')]
    >>> source.close()
    """

    name: str
    connection: duckdb.DuckDBPyConnection
    attrition: Attrition = field(default_factory=lambda: Attrition(()))
    code_lengths: Mapping[str, int] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[Kind, ...] = (DIAGNOSES,)
    exclusive: tuple[tuple[str, ...], ...] = ()
    unit: Unit = VISIT
    roles: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for table, expected in (("visits", VISIT_COLUMNS), ("codes", CODE_COLUMNS)):
            missing = [name for name in expected if name not in self.columns(table)]
            if missing:
                raise InvalidInputError(f"the {table} table lacks {', '.join(missing)}")
        count, first, last = self.query("SELECT count(*), min(visit), max(visit) FROM visits")[0]
        if count == 0:
            raise InvalidInputError(f"the {self.name} source has no visits")
        if (first, last) != (0, count - 1):
            raise InvalidInputError("visits must be numbered 0, 1, ..., n - 1")
        if not self.attrition.steps:
            patients = self.query("SELECT count(DISTINCT patient) FROM visits")[0][0]
            all_visits = Step(f"{self.unit.plural} in the source", count, patients or None)
            object.__setattr__(self, "attrition", Attrition((all_visits,)))

    def query(self, sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of a DuckDB query; ``parameters`` are the values of its question marks."""
        return self.connection.execute(sql, parameters).fetchall()

    def columns(self, table: str) -> tuple[str, ...]:
        """Column names of the table ``"visits"`` or ``"codes"``."""
        return column_names(self.connection, table)

    def code_roles(self) -> Sequence[tuple[Any, ...]]:
        """Pairs of version and role that codes may have."""
        return self.roles or self.query("SELECT DISTINCT version, role FROM codes ORDER BY ALL")

    @property
    def n_visits(self) -> int:
        """Number of visits."""
        return int(self.query("SELECT count(*) FROM visits")[0][0])

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns of ``visits`` other than those that every source has."""
        own = (*VISIT_COLUMNS, DATE)
        return tuple(name for name in self.columns("visits") if name not in own)

    def close(self) -> None:
        """Release the tables and their temporary files."""
        self.connection.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        attributes = ", ".join(self.attributes)
        return (
            f"<Source {self.name}: {self.n_visits:,} {self.unit.plural}, attributes {attributes}>"
        )


@contextmanager
def memory_limited(source: Source, limit: str) -> Iterator[None]:
    """Within the context, the source's database spills to disk above ``limit`` if it can."""
    before = source.query("SELECT current_setting('memory_limit')")[0][0]
    with suppress(duckdb.Error):  # it may already hold more
        source.connection.execute(f"SET memory_limit = {quoted(limit)}")
    try:
        yield
    finally:
        source.connection.execute(f"SET memory_limit = {quoted(before)}")


def labels(column: str, words: Mapping[str, str]) -> str:
    """SQL that replaces a column's codes by labels; a code without a label becomes NULL."""
    pairs = " ".join(f"WHEN {quoted(code)} THEN {quoted(word)}" for code, word in words.items())
    return f"CASE {column}::VARCHAR {pairs} END"


def expose_wide(
    connection: duckdb.DuckDBPyConnection,
    wide: str,
    roles: Mapping[str, str],
    version: str,
    *,
    single: Mapping[str, str] = MappingProxyType({}),
    prefixes: Mapping[str, str] = MappingProxyType({}),
    more: Sequence[str] = (),
) -> None:
    """Create the views ``visits`` and ``codes`` from a table with codes in list columns.

    ``roles`` maps the list columns of ``wide`` to roles, ``single`` those with one code or NULL.
    The version of their codes is that in ``prefixes``, otherwise ``version``, another column of
    ``wide`` or an SQL literal. ``more`` are queries of further codes.
    """
    own = set(roles) | set(single) | {version}
    of_codes = ", ".join(own & set(column_names(connection, wide)))
    connection.execute(f"CREATE VIEW visits AS SELECT * EXCLUDE ({of_codes}) FROM {wide}")
    versions = {column: quoted(prefix) for column, prefix in prefixes.items()}
    parts = [
        f"SELECT visit, {versions.get(column, version)} AS version, unnest({column}) AS code, "
        f"{quoted(role)} AS role FROM {wide}"
        for column, role in roles.items()
    ]
    parts += [
        f"SELECT visit, {version} AS version, {column} AS code, {quoted(role)} AS role "
        f"FROM {wide} WHERE {column} IS NOT NULL"
        for column, role in single.items()
    ]
    parts += more
    connection.execute(f"CREATE VIEW codes AS {' UNION ALL '.join(parts)}")


def without_codes(connection: duckdb.DuckDBPyConnection) -> None:
    """Create a table ``codes`` that is empty, for data without codes."""
    connection.execute(
        "CREATE TABLE codes (visit BIGINT, version VARCHAR, code VARCHAR, role VARCHAR)"
    )


def code_list(columns: Sequence[str]) -> str:
    """SQL list of the normalised codes in the given columns, without blanks."""
    if not columns:
        return "[]::VARCHAR[]"
    together = normalize_sql(f"concat_ws(',', {', '.join(columns)})")  # faster than one by one
    return f"[code for code in string_split({together}, ',') if code <> '']"
