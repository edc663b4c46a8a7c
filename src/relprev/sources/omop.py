"""OMOP common data model 5.3 and 5.4.

Uses the tables person, visit_occurrence, condition_occurrence and concept, from a folder of
CSV or Parquet files, a DuckDB database, or PostgreSQL. Only the columns needed are read.

Codes are the source codes (ICD as recorded; the default) or the standard concepts (SNOMED).
The version of a code is its vocabulary, where ICD9CM and ICD10CM become ICD9 and ICD10. A
source value without a concept keeps its text, with the version SOURCE. What other tables say of
a visit is in :mod:`relprev.sources.omop_features`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from relprev.codes.spelling import normalize_sql, version_name
from relprev.errors import InvalidInputError
from relprev.sources import omop_features as features
from relprev.sources.addresses import is_address, postgres_address
from relprev.sources.attrition import Attrition, Step
from relprev.sources.database import Connection, connect, reading, require_unique
from relprev.sources.declared import InputPath, SourceTable
from relprev.sources.fingerprint import described_table
from relprev.sources.kinds import read_kinds
from relprev.sources.omop_tables import TABLES, load_duckdb, load_folder, load_postgres
from relprev.sources.source import Source

EMERGENCY = (9203, 262)  # emergency room visit; emergency room and inpatient visit
FEMALE, MALE = 8532, 8507


@reading("the OMOP database")
def read_omop(
    database: str | Path,
    *,
    schema: str | None = None,
    codes: str = "source",
    visit_concepts: Sequence[int] = EMERGENCY,
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
    visit_concepts : sequence of int
        Concepts of the visits to keep; all if empty. Default: emergency room visits.
    kinds : sequence of str
        Kinds of features to read besides conditions: ``"observations"``, ``"measurements"``,
        ``"procedures"``, ``"medications"``.

    Returns
    -------
    Source
        Attributes race, ethnicity and visit_concept_id.

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
    wanted = read_kinds(kinds, features.KINDS)
    needed = TABLES | features.tables_needed(wanted)
    connection = connect()
    if is_address(database):
        address = postgres_address(str(database))
        if address is None:
            raise InvalidInputError(
                "database: expected a PostgreSQL address (postgresql://...), got another kind; "
                "export other databases as CSV or Parquet files"
            )
        load_postgres(connection, address, schema or "public", needed, features.MAY_LACK)
    elif Path(database).is_dir():
        load_folder(connection, Path(database), needed, features.MAY_LACK)
    else:
        load_duckdb(connection, Path(database), schema or "main", needed, features.MAY_LACK)
    tables = [described_table(connection, f"raw_{table}", table)
              for table in needed if table not in features.MAY_LACK]  # fmt: skip
    require_unique(connection, "raw_visit_occurrence", "visit_occurrence_id")
    require_unique(connection, "raw_person", "person_id")
    attrition = _make_visits(connection, visit_concepts)
    _make_codes(connection, codes)
    words = features.add_codes(connection, wanted)
    return Source(
        "omop",
        connection,
        attrition=attrition,
        details={"codes": codes, "data": tables},
        descriptions=_descriptions(connection) | words,
        kinds=wanted,
    )


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
    visit_concepts: Annotated[
        tuple[int, ...] | None,
        Field(description="Concepts of the visits to keep; all if empty."),
    ] = None


def _make_visits(connection: Connection, visit_concepts: Sequence[int]) -> Attrition:
    kinds = ", ".join(str(int(concept)) for concept in visit_concepts)
    kind = f"visit_concept_id::BIGINT IN ({kinds})" if kinds else "true"
    connection.execute(f"""
        CREATE TABLE visits AS
        WITH seen AS (
            SELECT *, visit_start_date::DATE AS day,
                   make_date(year_of_birth::INTEGER,
                             coalesce(try_cast(month_of_birth AS INTEGER), 7),
                             coalesce(try_cast(day_of_birth AS INTEGER), 1)) AS birth
            FROM raw_visit_occurrence LEFT JOIN raw_person USING (person_id) WHERE {kind}
        )
        SELECT row_number() OVER (ORDER BY visit_occurrence_id::BIGINT) - 1 AS visit,
               visit_occurrence_id::BIGINT AS visit_id, person_id::BIGINT AS patient,
               datesub('year', birth, day)::INTEGER AS age,
               CASE gender_concept_id::BIGINT
                    WHEN {FEMALE} THEN 'F' WHEN {MALE} THEN 'M' END AS sex,
               NULL::DOUBLE AS weight, NULL::BIGINT AS stratum, NULL::BIGINT AS psu,
               year(day)::INTEGER AS year, {_concept_name("race")}, {_concept_name("ethnicity")},
               visit_concept_id::BIGINT AS visit_concept_id
        FROM seen
    """)
    rules = [("visits in the database", "true"), ("visit of the kinds asked for", kind)]
    steps = []
    for words, where in rules if kinds else rules[:1]:
        visits, patients = connection.execute(
            f"SELECT count(*), count(DISTINCT person_id) FROM raw_visit_occurrence WHERE {where}"
        ).fetchall()[0]
        steps.append(Step(words, visits, patients))
    return Attrition(tuple(steps))


def _concept_name(attribute: str) -> str:
    """SQL for the name of a concept, or its number if the vocabulary lacks it; 0 is missing."""
    number = f"nullif({attribute}_concept_id::BIGINT, 0)"
    return f"""coalesce(
        (SELECT any_value(concept_name) FROM raw_concept WHERE concept_id::BIGINT = {number}),
        'concept ' || {number}) AS {attribute}"""


def _make_codes(connection: Connection, codes: str) -> None:
    source = codes == "source"
    concept = "condition_source_concept_id" if source else "condition_concept_id"
    fallback = "condition_source_value" if source else "NULL"
    connection.execute(f"""
        CREATE TABLE recorded AS
        SELECT v.visit, coalesce(c.vocabulary_id, 'SOURCE') AS vocabulary, c.concept_name,
               {normalize_sql(f"coalesce(c.concept_code::VARCHAR, {fallback}::VARCHAR)")} AS code
        FROM raw_condition_occurrence o
        JOIN visits v ON v.visit_id = try_cast(o.visit_occurrence_id AS BIGINT)
        LEFT JOIN raw_concept c
            ON c.concept_id::BIGINT = try_cast(o.{concept} AS BIGINT) AND c.concept_id::BIGINT <> 0
    """)
    connection.execute("CREATE TABLE versions (vocabulary VARCHAR, version VARCHAR)")
    for (vocabulary,) in connection.execute("SELECT DISTINCT vocabulary FROM recorded").fetchall():
        connection.execute(
            "INSERT INTO versions VALUES (?, ?)", [vocabulary, version_name(vocabulary)]
        )
    connection.execute("""
        CREATE TABLE codes AS SELECT visit, version, code, 'diagnosis' AS role
        FROM recorded JOIN versions USING (vocabulary) WHERE code <> ''
    """)


def _descriptions(connection: Connection) -> dict[str, str]:
    """Names of the recorded concepts, by version and code."""
    found = connection.execute("""
        SELECT version || ':' || code AS name, min(concept_name) FROM recorded
        JOIN versions USING (vocabulary) WHERE concept_name <> '' GROUP BY name ORDER BY name
    """).fetchall()
    return dict(found)
