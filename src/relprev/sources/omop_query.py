"""The queries of an OMOP study, which run where the data are: only their results travel.

All of what a study needs of a database is asked here, in SQL that DuckDB and PostgreSQL share. A
unit is a visit of the kinds asked for, or a person observed in the window from ``start`` to
``end``. A record (of a condition, a drug, a measurement) belongs to

    unit = "visit", match = "visit"   the visit that it names
    unit = "visit", match = "date"    the visit that it names; if it names none that exists, the
                                      person's visit on its day: the one that began last, of these
                                      the one that ended first, then one of the kinds asked for
    unit = "person"                   the person, if observed on its day
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

PERSON = ("person_id", "gender_concept_id", "year_of_birth", "month_of_birth", "day_of_birth",
          "race_concept_id", "ethnicity_concept_id")  # fmt: skip
VISIT = ("visit_occurrence_id", "person_id", "visit_concept_id", "visit_start_date")
PERIOD = ("person_id", "observation_period_start_date", "observation_period_end_date")
RECORDS = {  # tables of records, and what they say
    "condition_occurrence": ("condition_concept_id", "condition_source_value",
                             "condition_source_concept_id"),
    "observation": ("observation_concept_id", "value_as_concept_id"),
    "measurement": ("measurement_concept_id", "value_as_concept_id", "value_as_number",
                    "range_low", "range_high"),
    "procedure_occurrence": ("procedure_concept_id",),
    "drug_exposure": ("drug_concept_id",),
}  # fmt: skip
CONCEPT = ("concept_id", "concept_name", "vocabulary_id", "concept_code")
ANCESTOR = ("ancestor_concept_id", "descendant_concept_id")
DAYS = {  # the column that says on which day
    "condition_occurrence": "condition_start_date", "observation": "observation_date",
    "measurement": "measurement_date", "procedure_occurrence": "procedure_date",
    "drug_exposure": "drug_exposure_start_date",
}  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """What differs between engines: names of tables, and conversions of columns."""

    table: Callable[[str], str]
    number: Callable[[str], str]
    amount: Callable[[str], str]
    day: Callable[[str], str]


@dataclass(frozen=True)
class Scope:
    """Units and window of a study, and how records are matched to units."""

    unit: str
    match: str
    visit_concepts: tuple[int, ...]
    start: date | None
    end: date | None

    @property
    def by_day(self) -> bool:
        """Whether the days of records matter."""
        return self.unit == "person" or self.match == "date" or bool(self.start or self.end)

    def columns(self, records: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Tables and columns to be read, with these tables of records."""
        tables = {"person": PERSON, "observation_period": PERIOD}
        keys: tuple[str, ...] = ()
        if self.unit == "visit":
            ends = ("visit_end_date",) if self.match == "date" else ()
            tables = {"person": PERSON, "visit_occurrence": (*VISIT, *ends)}
            keys = ("visit_occurrence_id",)
        if self.by_day:
            keys = ("person_id", *keys)
        for table in records:
            day = (DAYS[table],) if self.by_day else ()
            tables[table] = (*keys, *day, *RECORDS[table])
        return tables | {"concept": CONCEPT}


@dataclass(frozen=True)
class _Matching:
    """SQL that matches records ``o`` to units: ``any`` at all, ``kept`` if one of the study."""

    unit: str
    joined: str
    any: str
    kept: str


@dataclass(frozen=True)
class Queries:
    """The queries of a scope in a dialect."""

    scope: Scope
    sql: Dialect

    def everything(self) -> str:
        """Number of units of the whole database, and of their people."""
        table = "visit_occurrence" if self.scope.unit == "visit" else "person"
        return (
            "SELECT count(*) AS units, count(DISTINCT person_id) AS people "
            f"FROM {self.sql.table(table)}"
        )

    def units(self) -> str:
        """The units, with their first day."""
        if self.scope.unit == "person":
            return f"""
                SELECT person AS visit_occurrence_id, person AS person_id,
                       min(began) AS visit_start_date,
                       CAST(sum(ended - began + 1) AS BIGINT) AS observed_days
                FROM {self._periods()} AS q GROUP BY person"""
        columns = ", ".join(VISIT)
        return f"SELECT {columns} FROM {self.sql.table('visit_occurrence')} WHERE {self._kept()}"

    def people(self) -> str:
        """The people of the units."""
        who = f"SELECT person FROM {self._periods()} AS q"
        if self.scope.unit == "visit":
            who = f"SELECT person FROM {self._visits()} AS v WHERE kept"
        columns, person = ", ".join(PERSON), self.sql.number("person_id")
        return f"SELECT {columns} FROM {self.sql.table('person')} WHERE {person} IN ({who})"

    def records(self, table: str) -> str:
        """Records of the units; ``visit_occurrence_id`` is the unit of each.

        Measurements come without their numbers: ``outside`` is LOW or HIGH, and those within
        their range stay where they are, unless their result is a concept.
        """
        wanted, says = ", ".join(f"o.{column}" for column in RECORDS[table]), "true"
        if table == "measurement":
            concept = "o.value_as_concept_id"
            value, low, high = map(
                self.sql.amount, ("o.value_as_number", "o.range_low", "o.range_high")
            )
            outside = f"CASE WHEN {value} < {low} THEN 'LOW' WHEN {value} > {high} THEN 'HIGH' END"
            wanted = f"o.measurement_concept_id, {concept}, {outside} AS outside"
            says = f"({outside} IS NOT NULL OR {self.sql.number(concept)} <> 0)"
        found = self._matching(table)
        return (
            f"SELECT {found.unit} AS visit_occurrence_id, {wanted} FROM {found.joined} "
            f"WHERE {found.kept} AND {says}"
        )

    def matched(self, table: str) -> str:
        """Number of records in the window, and of those that match any visit or person."""
        found = self._matching(table)
        name, within = self.sql.table(table), self._within(self._day(table))
        return (
            f"SELECT (SELECT count(*) FROM {name} AS o WHERE {within}) AS records, "
            f"(SELECT count(*) FROM {found.joined} WHERE {found.any} AND {within}) AS matched"
        )

    def concepts(self, numbers: Iterable[int]) -> str:
        """Concepts of these numbers."""
        where = f"{self.sql.number('concept_id')} IN ({_listed(numbers)})"
        return f"SELECT {', '.join(CONCEPT)} FROM {self.sql.table('concept')} WHERE {where}"

    def ancestors(self, column: str, numbers: Iterable[int]) -> str:
        """Pairs of ancestor and descendant with these numbers in one of the two columns."""
        where = f"{self.sql.number(column)} IN ({_listed(numbers)})"
        table = self.sql.table("concept_ancestor")
        return f"SELECT {', '.join(ANCESTOR)} FROM {table} WHERE {where}"

    def _matching(self, table: str) -> _Matching:
        name, number = self.sql.table(table), self.sql.number
        if self.scope.unit == "person":
            person = number("o.person_id")
            observed = (
                f"EXISTS (SELECT 1 FROM {self._periods()} AS p WHERE p.person = {person} "
                f"AND {self._day(table)} BETWEEN p.began AND p.ended)"
            )
            return _Matching(person, f"{name} AS o", observed, observed)
        named = (
            f"{name} AS o LEFT JOIN {self._visits()} AS v "
            f"ON v.visit = {number('o.visit_occurrence_id')}"
        )
        if self.scope.match == "visit":
            return _Matching("v.visit", named, "v.visit IS NOT NULL", "v.kept")
        person, day = number("o.person_id"), self._day(table)
        dated = f"""{named} LEFT JOIN (
            SELECT DISTINCT ON (r.person, r.day) r.person, r.day, w.visit, w.kept
            FROM (SELECT DISTINCT {person} AS person, {day} AS day
                  FROM {named} WHERE v.visit IS NULL) AS r
            JOIN {self._visits()} AS w ON w.person = r.person AND r.day BETWEEN w.began AND w.ended
            ORDER BY r.person, r.day, w.began DESC, w.ended, w.kept DESC, w.visit
        ) AS d ON v.visit IS NULL AND d.person = {person} AND d.day = {day}"""
        either = "coalesce(v.visit, d.visit)"
        return _Matching(either, dated, f"{either} IS NOT NULL", "coalesce(v.kept, d.kept)")

    def _visits(self) -> str:
        """All visits, with ``kept`` for those of the study."""
        number, first = self.sql.number, self.sql.day("visit_start_date")
        final = ""
        if self.scope.match == "date":
            final = f", coalesce({self.sql.day('visit_end_date')}, {first}) AS ended"
        return (
            f"(SELECT {number('visit_occurrence_id')} AS visit, {number('person_id')} AS person, "
            f"{first} AS began{final}, {self._kept()} AS kept "
            f"FROM {self.sql.table('visit_occurrence')})"
        )

    def _kept(self) -> str:
        """Whether a visit is of the kinds and in the window asked for."""
        kinds = self.scope.visit_concepts
        kind = f"{self.sql.number('visit_concept_id')} IN ({_listed(kinds)})" if kinds else "true"
        return f"({kind} AND {self._within(self.sql.day('visit_start_date'))})"

    def _periods(self) -> str:
        """Periods of observation, cut to the window."""
        start, end = self.scope.start, self.scope.end
        first = self.sql.day("observation_period_start_date")
        final = self.sql.day("observation_period_end_date")
        later = f"greatest({first}, DATE '{start}')" if start else first
        sooner = f"least({final}, DATE '{end}')" if end else final
        return (
            f"(SELECT {self.sql.number('person_id')} AS person, {later} AS began, "
            f"{sooner} AS ended FROM {self.sql.table('observation_period')} "
            f"WHERE {later} <= {sooner})"
        )

    def _day(self, table: str) -> str:
        return self.sql.day(f"o.{DAYS[table]}")

    def _within(self, day: str) -> str:
        ends = ((">=", self.scope.start), ("<=", self.scope.end))
        return " AND ".join(f"{day} {sign} DATE '{end}'" for sign, end in ends if end) or "true"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(int(number)) for number in numbers) or "NULL"
