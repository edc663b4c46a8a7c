"""The canonical form: every source becomes two tables in DuckDB.

``visits``, one row per visit:

    visit     BIGINT    0, 1, ..., n - 1
    visit_id  any       the identifier in the raw files
    patient   any       NULL throughout where patients are not identified
    age       INTEGER   years
    sex       VARCHAR   'F' or 'M'
    weight    DOUBLE    sampling weight; NULL throughout without a survey
    stratum   any       survey design, or NULL
    psu       any       survey design, or NULL; numbered across strata and years
    year      INTEGER
    ...                 any further columns: attributes for groups and features

``codes``, one row per recorded code (a code may be recorded twice):

    visit     BIGINT
    version   VARCHAR   'ICD9', 'ICD10' or another vocabulary
    code      VARCHAR   in the spelling of `relprev.codes.normalize`
    role      VARCHAR   'diagnosis', 'cause', 'ed', 'hospital', ...

The tables may be views over files: they are scanned, never held whole in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import duckdb

from relprev.codes.spelling import normalize_sql
from relprev.errors import InvalidInputError
from relprev.sources.attrition import Attrition, Step
from relprev.sources.database import column_names, quoted

VISIT_COLUMNS = ("visit", "visit_id", "patient", "age", "sex", "weight", "stratum", "psu", "year")
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
        Steps taken while reading. Default: one step, all visits.
    code_lengths : mapping of version to int
        Versions whose codes are cut to that many characters in this source.
    absent : mapping of column to text
        Why a column that a study may want is not there.
    details : mapping
        What a reader needs to know to find the same data again: options, and under ``"data"``
        name and digest of all that was read. No paths, no credentials, and no numbers of rows
        or bytes: from them hidden levels of the attrition table would follow.
    descriptions : mapping
        Words for codes, such as ``{"SNOMED:65363002": "Otitis media"}``, where the data hold
        them. `relprev.codes.describe` has those of ICD codes.

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
    >>> source.close()
    """

    name: str
    connection: duckdb.DuckDBPyConnection
    attrition: Attrition = field(default_factory=lambda: Attrition(()))
    code_lengths: Mapping[str, int] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)

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
            all_visits = Step("visits in the source", count, patients or None)
            object.__setattr__(self, "attrition", Attrition((all_visits,)))

    def query(self, sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of a query on the tables ``visits`` and ``codes``.

        Parameters
        ----------
        sql : str
            In DuckDB's dialect.
        parameters : list, optional
            Values for the question marks in ``sql``.

        Returns
        -------
        list of tuple
            The rows.
        """
        return self.connection.execute(sql, parameters).fetchall()

    def columns(self, table: str) -> tuple[str, ...]:
        """Names of the columns of ``visits`` or ``codes``.

        Parameters
        ----------
        table : str
            ``"visits"`` or ``"codes"``.

        Returns
        -------
        tuple of str
            The names.
        """
        return column_names(self.connection, table)

    @property
    def n_visits(self) -> int:
        """Number of visits."""
        return int(self.query("SELECT count(*) FROM visits")[0][0])

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns of ``visits`` beyond those every source has."""
        return tuple(name for name in self.columns("visits") if name not in VISIT_COLUMNS)

    def close(self) -> None:
        """Release the tables and their temporary files."""
        self.connection.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        attributes = ", ".join(self.attributes)
        return f"<Source {self.name}: {self.n_visits:,} visits, attributes {attributes}>"


@contextmanager
def memory_limited(source: Source, limit: str) -> Iterator[None]:
    """Inside, the source's database spills to disk above ``limit``, if it can."""
    before = source.query("SELECT current_setting('memory_limit')")[0][0]
    with suppress(duckdb.Error):  # what it holds now may be more
        source.connection.execute(f"SET memory_limit = {quoted(limit)}")
    try:
        yield
    finally:
        source.connection.execute(f"SET memory_limit = {quoted(before)}")


def labels(column: str, words: Mapping[str, str]) -> str:
    """SQL that puts words for a column's numbers; a number without a word becomes NULL."""
    pairs = " ".join(f"WHEN {quoted(code)} THEN {quoted(word)}" for code, word in words.items())
    return f"CASE {column}::VARCHAR {pairs} END"


def expose_wide(
    connection: duckdb.DuckDBPyConnection, wide: str, roles: Mapping[str, str], version: str
) -> None:
    """Make the views ``visits`` and ``codes`` of a table that has codes in list columns.

    Parameters
    ----------
    wide : str
        Table (or table function) with the columns of ``visits`` and the lists.
    roles : mapping of list column to role
    version : str
        Column of ``wide`` with the version, or an SQL literal.
    """
    of_codes = ", ".join(set(roles) | {version} & set(column_names(connection, wide)))
    connection.execute(f"CREATE VIEW visits AS SELECT * EXCLUDE ({of_codes}) FROM {wide}")
    parts = [
        f"SELECT visit, {version} AS version, unnest({column}) AS code, {quoted(role)} AS role "
        f"FROM {wide}"
        for column, role in roles.items()
    ]
    connection.execute(f"CREATE VIEW codes AS {' UNION ALL '.join(parts)}")


def code_list(columns: Sequence[str]) -> str:
    """SQL list of the normalised codes in the given columns, blanks left out."""
    together = normalize_sql(f"concat_ws(',', {', '.join(columns)})")  # faster than one by one
    return f"[code for code in string_split({together}, ',') if code <> '']"
