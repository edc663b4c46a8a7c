"""Select the visits of a study: inclusion rules as SQL, with counts after each step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from relprev.cohort.code_rules import has_code_sql
from relprev.cohort.feature_rules import Extra
from relprev.cohort.group_variable import GroupVariable
from relprev.cohort.recode import grouping
from relprev.cohort.spec import CohortSpec
from relprev.cohort.unmatched import nameable, values_of
from relprev.cohort.visit_rules import Exclude, Include, Screening
from relprev.errors import InvalidInputError
from relprev.matrix.coerce import listed
from relprev.sources.attrition import Attrition, Step
from relprev.sources.database import execute, identifier, quoted
from relprev.sources.source import Source
from relprev.units import PERSON

MAX_VISITS = 2**31 - 1  # row numbers have four bytes
TABLE = "relprev_selected"
BATCH_ROWS = 1_000_000


@dataclass(frozen=True, eq=False)
class Selected:
    """The included visits, ordered by visit number and read one part at a time.

    They stay in a table of the source's database, which spills to disk.

    Parameters
    ----------
    source : Source
    group_names : dict of group variable to names of its groups
    attrition : Attrition
    row_of_visit : int32 array of shape (visits in the source,)
        Row of each visit, or -1 if it is not included. Where a row is a person, all included
        visits of the person have the same.
    patients : int32 array of shape (n,), or None
        Patients, numbered by first appearance; None if the source does not identify them.
    design : tuple of str
        Those of weight, stratum and psu that the source has.
    edges : tuple of int
        First visit of every part, then the number of visits in the source.
    n, rows_per_part : int
        Total number of rows, and rows of every part but the last.
    strata_names : dict of strata to their names
    sampled_psus : dict of stratum to int
        Primary sampling units of every stratum of the survey in the source, included or not;
        empty without a survey.
    """

    source: Source
    group_names: dict[str, tuple[str, ...]]
    attrition: Attrition
    row_of_visit: NDArray[np.int32]
    patients: NDArray[np.int32] | None
    design: tuple[str, ...]
    edges: tuple[int, ...]
    n: int
    rows_per_part: int
    strata_names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sampled_psus: dict[Any, int] = field(default_factory=dict)

    @property
    def n_parts(self) -> int:
        return len(self.edges) - 1

    def rows(self, part: int) -> slice:
        """Row numbers of a part."""
        start = part * self.rows_per_part
        return slice(start, min(start + self.rows_per_part, self.n))

    def size(self, part: int) -> int:
        """Rows of a part."""
        return self.rows(part).stop - self.rows(part).start

    def read(self, part: int, *columns: str) -> pa.Table:
        """Columns of a part: visit, visit_id, weight, stratum, psu, ``extra:<number>``, tested
        (1, 0 or -1 for not known), ``group:<name>`` or ``strata:<name>`` (position of the group or
        stratum, MISSING or OTHER)."""
        low, high = self.edges[part : part + 2]
        return self.source.connection.sql(
            f"SELECT {', '.join(map(identifier, columns))} FROM {TABLE} "
            f"WHERE visit >= {low} AND visit < {high}"
        ).to_arrow_table()

    def close(self) -> None:
        """Drop the table."""
        self.source.connection.execute(f"DROP TABLE IF EXISTS {TABLE}")


def select_visits(
    spec: CohortSpec,
    source: Source,
    groups: tuple[GroupVariable, ...],
    rows_per_part: int | None = None,
    keep_ids: bool = False,
) -> Selected:
    """Apply the inclusion rules in order, counting after each; by default there is one part."""
    missing = sorted(spec.columns() - set(source.columns("visits")))
    if missing:
        why = "".join(f" ({source.absent[name]})" for name in missing if name in source.absent)
        raise InvalidInputError(
            f"the {source.name} source has no {', '.join(missing)}{why}; it has "
            f"{', '.join(source.columns('visits'))}"
        )
    if source.n_visits > MAX_VISITS:
        raise InvalidInputError(
            f"the {source.name} source has {source.n_visits:,} visits, but at most {MAX_VISITS:,} "
            "can be read; read fewer years at a time"
        )
    _require_numbers(spec, source)
    rules = [
        (str(rule), _condition(rule, source, f"rule_{k}"))
        for k, rule in enumerate((*spec.include, *spec.exclude))
    ]
    if spec.tested is not None and spec.tested.not_tested == "drop":
        rules.append((str(spec.tested), f"{_tested(spec.tested)} = 1"))
    rules += _design_rules(source)
    steps = _counts(source, rules)
    _require_visits(spec, source, steps, rules)
    attrition = source.attrition.then(*steps)
    where = " AND ".join(f"({sql})" for _, sql in rules) or "true"
    found = {
        group.name: grouping(group, spec.parts_of(group), source, where, str(k))
        for k, group in enumerate(groups)
    }
    columns = ["visit", "patient", "weight", "stratum", "psu", *(["visit_id"] if keep_ids else [])]
    columns += [
        f"{_value(extra)} AS {identifier(f'extra:{k}')}"
        for k, extra in enumerate(spec.features.extra)
    ]
    columns += [f"{_tested(spec.tested)} AS tested"] if spec.tested is not None else []
    of_strata = {
        one.name: grouping(one, spec.parts_of(one), source, where, f"strata_{k}")
        for k, one in enumerate(spec.strata)
    }
    for kind, made in (("group", found), ("strata", of_strata)):
        columns += [
            f"{one.position} AS {identifier(f'{kind}:{name}')}" for name, one in made.items()
        ]
    joins = "".join(one.join for one in (*found.values(), *of_strata.values()))
    included = f"SELECT * FROM visits WHERE {where}"
    by_person = spec.unit == PERSON.noun
    if by_person:
        attrition = _of_people(attrition, source)
        included += " QUALIFY row_number() OVER (PARTITION BY patient ORDER BY visit) = 1"
    visit = _keep(source, f"SELECT {', '.join(columns)} FROM ({included}) {joins}")
    n, n_source = len(visit), source.n_visits
    rows = np.full(n_source, -1, dtype=np.int32)
    rows[visit] = np.arange(n, dtype=np.int32)
    if by_person:
        _add_other_visits(source, where, rows)
    size = rows_per_part or n
    names = {name: one.names for name, one in found.items()}
    return Selected(
        source, names, attrition, rows, _patients(source, rows, n), _design(source),
        (*visit[::size].tolist(), n_source), n, size,
        {name: one.names for name, one in of_strata.items()}, _sampled_psus(source),
    )  # fmt: skip


def _of_people(attrition: Attrition, source: Source) -> Attrition:
    """The steps with people in place of visits."""
    if any(step.patients is None for step in attrition.steps):
        raise InvalidInputError(
            f"unit is 'person', but the {source.name} source does not say whose the visits are; "
            "name the column of patients, or use unit = 'visit'"
        )
    people = [replace(one, visits=int(one.patients or 0)) for one in attrition.steps]
    words = people[0].step.replace(source.unit.plural, PERSON.plural)
    return Attrition((replace(people[0], step=words), *people[1:]))


def _add_other_visits(source: Source, where: str, rows: NDArray[np.int32]) -> None:
    """Give all included visits of a person the row of the first."""
    found = source.connection.sql(
        "SELECT visit, min(visit) OVER (PARTITION BY patient) AS first "
        f"FROM (SELECT visit, patient FROM visits WHERE {where})"
    ).to_arrow_reader(BATCH_ROWS)
    for batch in found:
        rows[batch.column(0).to_numpy()] = rows[batch.column(1).to_numpy()]


def _keep(source: Source, query: str) -> NDArray[np.int32]:
    """Store the visits of a query in the table, ordered by visit number; return the numbers."""
    execute(source.connection, f"CREATE OR REPLACE TEMP TABLE {TABLE} AS {query}")
    visit = _column(source, f"SELECT visit::INTEGER FROM {TABLE}")
    if (visit[1:] < visit[:-1]).any():  # a join in the source may have changed the order
        execute(
            source.connection,
            f"CREATE OR REPLACE TEMP TABLE {TABLE} AS SELECT * FROM {TABLE} ORDER BY visit",
        )
        visit.sort()
    return visit


def _column(source: Source, query: str) -> NDArray[np.int32]:
    (values,) = source.connection.sql(query).fetchnumpy().values()
    return np.asarray(values)


def _require_visits(
    spec: CohortSpec, source: Source, steps: list[Step], rules: list[tuple[str, str]]
) -> None:
    """Fail at the first step that leaves no visits, with the values that there are."""
    for k, step in enumerate(steps):
        if step.visits:
            continue
        hint = "check the study's include rules against the values in the source"
        rule = spec.include[k] if k < len(spec.include) else None
        if rule is not None and rule.one_of:
            before = " AND ".join(f"({sql})" for _, sql in rules[:k]) or "true"
            known = listed(nameable(values_of(source, rule.column, before)))
            hint = f"check the rule: {rule.column} is {known or 'empty'}"
        raise InvalidInputError(f"no visits remain after the step {step.step!r}; {hint}")


def _design(source: Source) -> tuple[str, ...]:
    names = ("weight", "stratum", "psu")
    counts = source.query(f"SELECT {', '.join(f'count({name})' for name in names)} FROM {TABLE}")
    return tuple(name for name, count in zip(names, counts[0], strict=True) if count)


def _sampled_psus(source: Source) -> dict[Any, int]:
    """All PSUs of the survey, as for a domain: they were sampled whatever visits are left out."""
    return dict(source.query(
        "SELECT stratum, count(DISTINCT psu) FROM visits "
        "WHERE stratum IS NOT NULL AND psu IS NOT NULL GROUP BY stratum ORDER BY stratum"
    ))  # fmt: skip


def _patients(source: Source, row: NDArray[np.int32], n: int) -> NDArray[np.int32] | None:
    if not source.query(f"SELECT count(patient) FROM {TABLE}")[0][0]:
        return None
    found = source.connection.sql(f"""
        WITH numbered AS (
            SELECT patient, (row_number() OVER (ORDER BY min(visit)) - 1)::INTEGER AS number
            FROM {TABLE} GROUP BY patient
        )
        SELECT visit, number FROM {TABLE} JOIN numbered USING (patient)
    """).to_arrow_reader(BATCH_ROWS)
    numbers = np.empty(n, dtype=np.int32)
    for batch in found:
        numbers[row[batch.column(0).to_numpy()]] = batch.column(1).to_numpy()
    return numbers


def _condition(rule: Include, source: Source, key: str) -> str:
    met = has_code_sql(rule, source, key) if rule.codes else _in_column(rule)
    return f"NOT coalesce({met}, false)" if isinstance(rule, Exclude) else met


def _in_column(rule: Include) -> str:
    column = identifier(rule.column)
    if rule.one_of:
        return f"{column}::VARCHAR IN ({', '.join(quoted(value) for value in rule.one_of)})"
    value = f"try_cast({column} AS DOUBLE)"
    ends = [(">=", rule.minimum), ("<=", rule.maximum)]
    return " AND ".join(f"{value} {sign} {end!r}" for sign, end in ends if end is not None)


def _tested(tested: Screening) -> str:
    """SQL: 1 for a visit that was looked at, 0 for one that was not, -1 if it is not known."""
    column = identifier(tested.column)
    values = ", ".join(quoted(value.lower()) for value in tested.one_of)
    return (
        f"CASE WHEN {column} IS NULL OR trim({column}::VARCHAR) = '' THEN -1 "
        f"WHEN lower(trim({column}::VARCHAR)) IN ({values}) THEN 1 ELSE 0 END"
    )


def _value(extra: Extra) -> str:
    """SQL for the values of a feature that is not a code; a number or NULL where it must be one."""
    column = identifier(extra.column)
    return f"try_cast({column} AS DOUBLE)" if extra.edges or extra.is_number else column


def _require_numbers(spec: CohortSpec, source: Source) -> None:
    """Fail if a range is applied to a column without any number."""
    kinds = {row[0]: row[1] for row in source.query("DESCRIBE visits")}
    ranges = [
        (
            f"{rule.key}: {rule.column}",
            rule.column,
            f"{str(rule)!r} cannot be applied; use one_of, or",
        )
        for rule in (*spec.include, *spec.exclude)
        if rule.column and not rule.one_of
    ]
    ranges += [
        (
            f"features.extra: {extra.column}",
            extra.column,
            "its edges cannot be used; leave them out, or"
            if extra.edges
            else f"form = {extra.form!r} cannot be used; leave it out, or",
        )
        for extra in spec.features.extra
        if extra.edges or extra.is_number
    ]
    ranges += [
        (
            f"{group.key}: {group.column}",
            group.columns[0],
            "its edges cannot be used; use recode, or",
        )
        for group in (*spec.groups, *spec.strata)
        if group.edges
    ]
    for where, name, remedy in ranges:
        kind, column = kinds[name], identifier(name)
        if any(number in kind for number in ("INT", "DOUBLE", "FLOAT", "DECIMAL")):
            continue
        known, numbers = source.query(
            f"SELECT count({column}), count(try_cast({column} AS DOUBLE)) FROM visits"
        )[0]
        if known and not numbers:
            words = "text" if kind == "VARCHAR" else f"values of type {kind}"
            raise InvalidInputError(
                f"{where} holds {words}, not numbers, so {remedy} add a numeric column (such as "
                "the year of a date)"
            )


def _design_rules(source: Source) -> list[tuple[str, str]]:
    """Rules that visits have a weight, stratum, sampling unit and patient if the source has any."""
    rules = {
        "weight": ("weight known and positive", "weight > 0 AND isfinite(weight)"),
        "stratum": ("stratum known", "stratum IS NOT NULL"),
        "psu": ("primary sampling unit known", "psu IS NOT NULL"),
        "patient": ("patient known", "patient IS NOT NULL"),
    }
    counts = source.query(f"SELECT {', '.join(f'count({name})' for name in rules)} FROM visits")[0]
    return [rule for rule, count in zip(rules.values(), counts, strict=True) if count]


def _counts(source: Source, rules: list[tuple[str, str]]) -> list[Step]:
    if not rules:
        return []
    identified = source.attrition.steps[-1].patients is not None
    selects = []
    for k in range(len(rules)):
        met = " AND ".join(f"({sql})" for _, sql in rules[: k + 1])
        patients = f"count(DISTINCT patient) FILTER ({met})" if identified else "0"
        selects += [f"count(*) FILTER ({met})", patients]
    counts = source.query(f"SELECT {', '.join(selects)} FROM visits")[0]
    return [
        Step(words, counts[2 * k], counts[2 * k + 1] or None) for k, (words, _) in enumerate(rules)
    ]
