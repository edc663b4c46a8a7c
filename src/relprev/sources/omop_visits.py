"""The tables ``visits`` and ``codes`` of an OMOP study, from the rows that were fetched.

``raw_units`` are visits, or people as if each were one visit; tables of records have the unit of
every record in ``visit_occurrence_id``. The codes of a record are worked out once for each
combination of its concepts and source value, of which there are far fewer than records.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from relprev.codes.spelling import normalize_sql, version_name
from relprev.errors import DataWarning
from relprev.messages import Message, Number
from relprev.sources.attrition import Attrition, Step
from relprev.sources.database import Connection, execute, quoted
from relprev.sources.omop_concepts import PREFIX, name_sql
from relprev.sources.omop_query import Scope
from relprev.sources.source import DATE

MANY = 0.05  # share of records that match nothing from which on there is a warning
FEW = 10  # records, too few for a share to be published


@dataclass(frozen=True)
class Match:
    """How many records of a table are in the window, and how many of these match a unit."""

    table: str
    records: int
    matched: int

    @property
    def words(self) -> str:
        """What the records are called."""
        return f"{self.table.split('_')[0]} records"

    @property
    def says(self) -> str:
        """What is missing without them."""
        return "diagnoses and features" if self.table == "condition_occurrence" else "features"

    @property
    def unmatched(self) -> float:
        """Share of the records that match no visit, or no time of observation."""
        return 1 - self.matched / self.records if self.records else 0.0

    @property
    def told(self) -> Number | str:
        """The share; a share of few records, which may be one person's, has no number."""
        lost = self.records - self.matched
        if 0 < lost <= FEW or 0 < self.matched <= FEW:
            return "some"
        if not self.matched:
            return "all"
        ends = {"0%": "less than 1%", "100%": "more than 99%"}
        return ends.get(format(self.unmatched, ".0%"), Number(self.unmatched, ".0%"))


@dataclass(frozen=True)
class Loaded:
    """Counts of the whole database: units, people, and the records of every table read."""

    units: int
    people: int
    matches: tuple[Match, ...]


def make_visits(connection: Connection, scope: Scope) -> None:
    """Create ``visits`` from ``raw_units``, ``raw_person`` and ``raw_concept``."""
    more = "observed_days::BIGINT AS observed_days"
    if scope.unit == "visit":
        more = f"visit_concept_id::BIGINT AS visit_concept_id, day AS {DATE}"
    connection.execute(f"""
        CREATE TABLE visits AS
        WITH seen AS (
            SELECT *, visit_start_date::DATE AS day,
                   make_date(year_of_birth::INTEGER,
                             coalesce(try_cast(month_of_birth AS INTEGER), 7),
                             coalesce(try_cast(day_of_birth AS INTEGER), 1)) AS birth,
                   {name_sql("gender_concept_id")} AS gender
            FROM raw_units LEFT JOIN raw_person USING (person_id)
        )
        SELECT row_number() OVER (ORDER BY visit_occurrence_id::BIGINT) - 1 AS visit,
               visit_occurrence_id::BIGINT AS visit_id, person_id::BIGINT AS patient,
               datesub('year', birth, day)::INTEGER AS age,
               CASE upper(gender) WHEN 'FEMALE' THEN 'F' WHEN 'MALE' THEN 'M' END AS sex,
               NULL::DOUBLE AS weight, NULL::BIGINT AS stratum, NULL::BIGINT AS psu,
               year(day)::INTEGER AS year, {name_sql("race_concept_id")} AS race,
               {name_sql("ethnicity_concept_id")} AS ethnicity, gender, {more}
        FROM seen
    """)


def make_codes(connection: Connection, codes: str) -> dict[str, str]:
    """Create ``codes`` from the condition records; return what the codes mean.

    Codes recorded for a concept of ``members`` are replaced by the sets' own. All records of
    such a code are replaced, also those with further concepts that the code maps to.
    """
    source = codes == "source"
    concept = "condition_source_concept_id" if source else "condition_concept_id"
    value = "condition_source_value" if source else "NULL"
    connection.execute(f"""
        CREATE TABLE kinds AS
        SELECT k.*, coalesce(c.vocabulary_id, 'SOURCE') AS vocabulary, c.concept_name,
               coalesce({normalize_sql(f"coalesce(c.concept_code::VARCHAR, {value}::VARCHAR)")}, '')
                   AS code
        FROM (SELECT DISTINCT condition_concept_id, condition_source_concept_id,
                              condition_source_value FROM raw_condition_occurrence) k
        LEFT JOIN raw_concept c
            ON c.concept_id::BIGINT = try_cast(k.{concept} AS BIGINT) AND c.concept_id::BIGINT <> 0
    """)
    connection.execute("CREATE TABLE versions (vocabulary VARCHAR, version VARCHAR)")
    for (vocabulary,) in connection.execute("SELECT DISTINCT vocabulary FROM kinds").fetchall():
        connection.execute(
            "INSERT INTO versions VALUES (?, ?)", [vocabulary, version_name(vocabulary)]
        )
    connection.execute(f"""
        CREATE TABLE named AS
        WITH direct AS (
            SELECT DISTINCT k.*, m.set FROM kinds k JOIN members m ON m.concept IN (
                try_cast(condition_concept_id AS BIGINT),
                try_cast(condition_source_concept_id AS BIGINT))
        ),
        alike AS (SELECT DISTINCT vocabulary, code, set FROM direct WHERE code <> ''),
        through AS (
            SELECT * FROM direct WHERE code = ''
            UNION ALL SELECT k.*, a.set FROM kinds k JOIN alike a USING (vocabulary, code)
        )
        SELECT condition_concept_id AS c, condition_source_concept_id AS s,
               condition_source_value AS v, {quoted(PREFIX)} AS version, set AS code,
               NULL AS words FROM through
        UNION ALL
        SELECT condition_concept_id, condition_source_concept_id, condition_source_value, version,
               code, concept_name
        FROM kinds ANTI JOIN alike USING (vocabulary, code) JOIN versions USING (vocabulary)
        WHERE code <> ''
    """)
    execute(connection, """
        CREATE TABLE codes AS SELECT v.visit, n.version, n.code, 'diagnosis' AS role
        FROM raw_condition_occurrence o
        JOIN visits v ON v.visit_id = o.visit_occurrence_id::BIGINT
        JOIN named n ON n.c IS NOT DISTINCT FROM o.condition_concept_id
            AND n.s IS NOT DISTINCT FROM o.condition_source_concept_id
            AND n.v IS NOT DISTINCT FROM o.condition_source_value
    """)  # fmt: skip
    found = connection.execute("""
        SELECT version || ':' || code AS name, min(words) FROM named
        WHERE words <> '' GROUP BY name ORDER BY name
    """).fetchall()
    for table in ("kinds", "versions", "named", "raw_condition_occurrence"):
        connection.execute(f"DROP TABLE {table}")
    return dict(found)


def attrition(connection: Connection, scope: Scope, loaded: Loaded) -> Attrition:
    """Steps from the database to the units, and the records that match none."""
    units, people = connection.execute(
        "SELECT count(*), count(DISTINCT patient) FROM visits"
    ).fetchall()[0]
    window = _window(scope)
    if scope.unit == "person":
        steps = [Step("people in the database", loaded.units, loaded.people),
                 Step(f"observed{window}", units, people)]  # fmt: skip
    else:
        steps = [Step("visits in the database", loaded.units, loaded.people)]
        if scope.visit_concepts or window:
            kind = "visit of the kinds asked for" if scope.visit_concepts else "visit"
            steps.append(Step(f"{kind}{window}", units, people))
    for match in loaded.matches:
        if match.matched < match.records:
            words = f"{match.words} not used, as they match {_nothing(scope)}: {match.told}"
            steps.append(Step(words, units, people))
    return Attrition(tuple(steps))


def warn_unmatched(scope: Scope, loaded: Loaded) -> None:
    """Warn if many records of a table match nothing."""
    remedy = 'use match = "date", or unit = "person"'
    if scope.unit == "person":
        remedy = "look at observation_period and at the dates of the records"
    elif scope.match == "date":
        remedy = 'use unit = "person"'
    for match in loaded.matches:
        if match.unmatched <= MANY:
            continue
        warnings.warn(
            DataWarning(
                Message(
                    "{share} of the {records} (more than {many}) match {nothing} and are not used, "
                    "so {lost} are missing; {remedy}",
                    share=match.told, records=match.words, many=Number(MANY, ".0%"),
                    nothing=_nothing(scope), lost=match.says, remedy=remedy,
                )
            ),
            stacklevel=4,
        )  # fmt: skip


def _window(scope: Scope) -> str:
    start = f" from {scope.start}" if scope.start else ""
    return start + (f" until {scope.end}" if scope.end else "")


def _nothing(scope: Scope) -> str:
    return "no visit" if scope.unit == "visit" else "no time of observation"
