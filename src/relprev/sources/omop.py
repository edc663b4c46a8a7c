"""OMOP common data model 5.3 and 5.4.

Uses the tables person, visit_occurrence (or observation_period), condition_occurrence and concept,
from a folder of CSV or Parquet files, a DuckDB database, or PostgreSQL. The queries of
:mod:`relprev.sources.omop_query` run there; only the rows and columns of the study are read.

Codes are the source codes (ICD as recorded; the default) or the standard concepts (SNOMED).
The version of a code is its vocabulary, where ICD9CM and ICD10CM become ICD9 and ICD10. A
source value without a concept keeps its text, with the version SOURCE. Codes recorded for a concept
set (:mod:`relprev.sources.omop_concepts`) become one code, ``SET:<name>``. What other tables say of
a unit is in :mod:`relprev.sources.omop_features`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from relprev.errors import InvalidInputError
from relprev.sources import omop_features as features
from relprev.sources.database import Connection, connect, reading, require_unique
from relprev.sources.declared import InputPath, InputPaths, SourceTable
from relprev.sources.fingerprint import described_file, described_table
from relprev.sources.kinds import Kind, read_kinds
from relprev.sources.omop_concepts import (
    PREFIX,
    concept_numbers,
    load_ancestors,
    load_concepts,
    load_members,
)
from relprev.sources.omop_concepts import concept_sets as read_sets
from relprev.sources.omop_query import Queries, Scope
from relprev.sources.omop_tables import OmopTables, open_tables
from relprev.sources.omop_visits import (
    Loaded,
    Match,
    attrition,
    make_codes,
    make_visits,
    warn_unmatched,
)
from relprev.sources.source import Source
from relprev.units import UNITS

EMERGENCY = (9203, 262)  # emergency room visit; emergency room and inpatient visit
MEMORY = "2GB"  # of our database, which spills to disk above


@reading("the OMOP database")
def read_omop(
    database: str | Path,
    *,
    schema: str | None = None,
    codes: str = "source",
    unit: str = "visit",
    visit_concepts: Sequence[int] | None = None,
    match: str | None = None,
    start: str | date | None = None,
    end: str | date | None = None,
    concept_sets: str | Path | Sequence[str | Path] | None = None,
    concepts: Mapping[str, Sequence[int]] | None = None,
    kinds: Sequence[str] = (),
) -> Source:
    r"""Read an OMOP database.

    Parameters
    ----------
    database : str or Path
        Folder of CSV or Parquet files, DuckDB file (tables, not views), or address of a
        PostgreSQL database, as ``postgresql://...`` or ``host=... dbname=...`` (requires the
        package psycopg). The address is used to connect, and is never shown or stored.
    schema : str, optional
        Database schema of the tables. Default: ``main`` (DuckDB), ``public`` (PostgreSQL).
    codes : "source" or "standard"
        Use source codes or standard concepts.
    unit : "visit" or "person"
        What is counted: visits, or people observed (``observation_period``) between ``start`` and
        ``end`` with all their records of that time.
    visit_concepts : sequence of int, optional
        Concepts of the visits to keep; all if empty. Default: emergency room visits.
    match : "visit" or "date", optional
        How records find their visit: by its number (the default), or, if they name no visit that
        exists, by their date.
    start, end : str or date, optional
        First and last day, such as ``"2019-01-01"``, of visits or of the time of observation.
    concept_sets : path or sequence of paths, optional
        Concept sets, as ATLAS exports them in JSON. Conditions in ``asthma.json`` get the code
        ``SET:ASTHMA``.
    concepts : mapping of str to sequence of int, optional
        Further sets, by name: numbers of concepts, which stand for all their descendants.
    kinds : sequence of str
        Kinds of features to read besides conditions: ``"observations"``, ``"measurements"``,
        ``"procedures"``, ``"medications"``.

    Returns
    -------
    Source
        Attributes race, ethnicity, gender, and visit_concept_id or, for people, observed_days.

    Warns
    -----
    DataWarning
        If more than 5% of the condition records match no visit or no time of observation.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> tables = {
    ...     "person": "person_id,gender_concept_id,year_of_birth,month_of_birth,day_of_birth,"
    ...               "race_concept_id,ethnicity_concept_id\n1,8532,1980,6,15,8527,0\n",
    ...     "visit_occurrence": "visit_occurrence_id,person_id,visit_concept_id,visit_start_date\n"
    ...                         "11,1,9203,2020-06-14\n",
    ...     "condition_occurrence": "visit_occurrence_id,condition_concept_id,"
    ...         "condition_source_value,condition_source_concept_id\n11,500,T74.11XA,600\n",
    ...     "concept": "concept_id,concept_name,vocabulary_id,concept_code\n8527,White,Race,5\n"
    ...                "500,Abuse,SNOMED,95922009\n600,Adult physical abuse,ICD10CM,T74.11XA\n"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in tables.items():
    ...         _ = (Path(folder) / f"{name}.csv").write_text(text)
    ...     source = read_omop(folder)
    >>> source.query("SELECT age, sex, race, version, code FROM visits JOIN codes USING (visit)")
    [(39, 'F', 'White', 'ICD10', 'T7411XA')]
    """
    if codes not in ("source", "standard"):
        raise InvalidInputError(f"codes must be 'source' or 'standard', got {codes!r}")
    scope = _scope(unit, visit_concepts, match, start, end)
    sets = read_sets(concept_sets, concepts)
    wanted = read_kinds(kinds, features.KINDS)
    records = ["condition_occurrence", *features.tables_needed(wanted)]
    connection = connect(MEMORY)
    with open_tables(connection, database, schema) as tables:
        queries = Queries(scope, tables.dialect)
        for table, columns in scope.columns(records).items():
            if not tables.require(table, columns):
                raise tables.absent(table, _needed_by(table, wanted))
        load_members(tables, queries, sets)
        loaded = _load(tables, queries, records)
    _require_some(connection, scope)
    require_unique(connection, "raw_units", "visit_occurrence_id", "visit_occurrence")
    require_unique(connection, "raw_person", "person_id")
    data = [described_table(connection, f"raw_{name}", name)
            for name in ("person", "units", *records, "concept")]  # fmt: skip
    data += [described_table(connection, "members", "concept sets")] if sets else []
    make_visits(connection, scope)
    descriptions = make_codes(connection, codes)
    descriptions |= features.add_codes(connection, wanted)
    descriptions |= {f"{PREFIX}:{one.code}": f"Concept set {one.name}" for one in sets}
    warn_unmatched(scope, loaded)
    files = [concept_sets] if isinstance(concept_sets, str | Path) else concept_sets or ()
    return Source(
        "omop",
        connection,
        attrition=attrition(connection, scope, loaded),
        details={"codes": codes, "unit": unit,
                 "data": data + [described_file(Path(file)) for file in files]},
        descriptions=descriptions,
        kinds=wanted,
        unit=UNITS[unit],
    )  # fmt: skip


def _needed_by(table: str, kinds: Sequence[Kind]) -> str:
    """What a study may leave out if a table is not there; nothing if every study needs it."""
    if table == "observation_period":
        return "unit = 'person'"
    named = [kind.name for kind in kinds if features.tables_needed([kind]) == [table]]
    return f"the kind {named[0]!r} of features" if named else ""


@dataclass(frozen=True, kw_only=True)
class OmopTable(SourceTable):
    """Arguments of an omop source."""

    words = "OMOP database"
    read = staticmethod(read_omop)
    example = ("ethnicity", "Not Hispanic or Latino")
    kinds = features.KINDS

    kind: Literal["omop"]
    database: Annotated[
        InputPath,
        Field(
            description="Folder of CSV or Parquet files, DuckDB file, or postgresql://... "
            "address (requires the package psycopg)."
        ),
    ]
    schema: Annotated[str | None, Field(description="Schema of the tables.")] = None
    codes: Annotated[
        str | None, Field(description="'source' for source codes, 'standard' for concepts.")
    ] = None
    unit: Annotated[
        Literal["visit", "person"] | None,
        Field(description="Visits, or people with all their records from start to end."),
    ] = None
    visit_concepts: Annotated[
        tuple[int, ...] | None,
        Field(description="Concepts of the visits to keep; all if empty."),
    ] = None
    match: Annotated[
        Literal["visit", "date"] | None,
        Field(description="Records find their visit by its number, or else by their date."),
    ] = None
    start: Annotated[str | None, Field(description="First day, such as 2019-01-01.")] = None
    end: Annotated[str | None, Field(description="Last day, such as 2019-12-31.")] = None
    concept_sets: Annotated[
        InputPaths | None,
        Field(description="Concept sets exported by ATLAS; a.json becomes the code SET:A."),
    ] = None
    concepts: Annotated[
        dict[str, tuple[int, ...]] | None,
        Field(description="Further sets by name: concepts, with all their descendants."),
    ] = None


def _scope(
    unit: str,
    visit_concepts: Sequence[int] | None,
    match: str | None,
    start: str | date | None,
    end: str | date | None,
) -> Scope:
    if unit not in ("visit", "person"):
        raise InvalidInputError(f"unit must be 'visit' or 'person', got {unit!r}")
    if match not in (None, "visit", "date"):
        raise InvalidInputError(f"match must be 'visit' or 'date', got {match!r}")
    for name, given in (("visit_concepts", visit_concepts), ("match", match)):
        if unit == "person" and given is not None:
            raise InvalidInputError(
                f"{name} is for unit='visit': people are taken with all their records; leave it out"
            )
    first, last = _day("start", start), _day("end", end)
    if first and last and first > last:
        raise InvalidInputError(f"start must not be after end, got {first} and {last}")
    kinds = EMERGENCY if visit_concepts is None else visit_concepts
    visits = concept_numbers("visit_concepts", kinds)
    return Scope(unit, match or "visit", visits, first, last)


def _day(name: str, given: str | date | None) -> date | None:
    if isinstance(given, datetime):
        return given.date()
    if given is None or isinstance(given, date):
        return given
    try:
        return date.fromisoformat(given)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{name} must be a date such as '2019-01-31', got something else"
        ) from None


def _load(tables: OmopTables, queries: Queries, records: Sequence[str]) -> Loaded:
    """Fetch the study's rows as ``raw_`` tables, and the counts of the whole database."""
    everything = _counts(tables, queries.everything())
    matches = [Match(table, *_counts(tables, queries.matched(table))) for table in records]
    tables.fetch(queries.units(), "raw_units")
    tables.fetch(queries.people(), "raw_person")
    for table in records:
        tables.fetch(queries.records(table), f"raw_{table}")
    named = ["raw_person", *(f"raw_{table}" for table in records)]
    if "drug_exposure" in records:
        load_ancestors(tables, queries, "raw_drug_exposure")
        named.append("raw_concept_ancestor")
    load_concepts(tables, queries, named)
    return Loaded(*everything, tuple(matches))


def _counts(tables: OmopTables, query: str) -> tuple[int, int]:
    """The two numbers that a query answers with."""
    tables.fetch(query, "counts")
    first, second = tables.connection.execute("FROM counts").fetchall()[0]
    tables.connection.execute("DROP TABLE counts")
    return int(first), int(second)


def _require_some(connection: Connection, scope: Scope) -> None:
    """Fail if the database has no unit of the study."""
    if connection.execute("SELECT count(*) FROM raw_units").fetchall()[0][0]:
        return
    if scope.unit == "person":
        raise InvalidInputError("nobody is observed (observation_period) between start and end")
    kinds = ", ".join(map(str, scope.visit_concepts)) or "any"
    raise InvalidInputError(
        f"no visit is of the kinds and days asked for: visit_concepts {kinds}, start and end; "
        "visit_concepts=[] takes visits of every kind"
    )
