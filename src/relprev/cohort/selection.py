"""The visits of a study: inclusion rules as SQL, counted step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from relprev.cohort.spec import CohortSpec, GroupVariable, Include
from relprev.errors import InvalidInputError
from relprev.sources.attrition import Attrition, Step
from relprev.sources.source import Source, identifier, quoted

MISSING, OTHER = -1, -2  # positions of visits without a value, and with one that is in no group
MAX_GROUPS = 1000


@dataclass(frozen=True, eq=False)
class Selected:
    """The included visits.

    Parameters
    ----------
    table : Arrow table with n rows, in the order of their visits
        visit, patient, weight, stratum, psu, visit_id, the extra features' columns and, for every
        group variable, ``group:<name>``: position of the group, or MISSING or OTHER.
    group_names : dict of group variable to names of its groups
    attrition : Attrition
    row_of_visit : int32 array of shape (visits in the source,)
        Row of a visit in ``table``, -1 where it is not included.
    """

    table: pa.Table
    group_names: dict[str, tuple[str, ...]]
    attrition: Attrition
    row_of_visit: NDArray[np.int32]

    @property
    def n(self) -> int:
        return int(self.table.num_rows)


def select_visits(spec: CohortSpec, source: Source, groups: tuple[GroupVariable, ...]) -> Selected:
    """Apply the study's inclusion rules, in order, and count after each."""
    missing = sorted(spec.columns() - set(source.columns("visits")))
    if missing:
        why = "".join(f" ({source.absent[name]})" for name in missing if name in source.absent)
        raise InvalidInputError(
            f"the {source.name} source has no {', '.join(missing)}{why}; it has "
            f"{', '.join(source.columns('visits'))}"
        )
    rules = [(str(rule), _condition(rule)) for rule in spec.include] + _design_rules(source)
    attrition = source.attrition.then(*_counts(source, rules))
    where = " AND ".join(f"({sql})" for _, sql in rules) or "true"
    names = {group.name: _group_names(group, source, where) for group in groups}
    columns = ["visit", "visit_id", "patient", "weight", "stratum", "psu"]
    columns += [
        f"{identifier(extra.column)} AS {identifier('extra:' + extra.column)}"
        for extra in spec.features.extra
    ]
    columns += [
        f"{_position(group, names[group.name])} AS {identifier('group:' + group.name)}"
        for group in groups
    ]
    table = source.connection.sql(
        f"SELECT {', '.join(columns)} FROM visits WHERE {where}"
    ).to_arrow_table()
    visit = table.column("visit").to_numpy()
    if (np.diff(visit) < 0).any():  # a join in the source may have changed the order
        order = np.argsort(visit)
        table, visit = table.take(pa.array(order)), visit[order]
    rows = np.full(source.n_visits, -1, dtype=np.int32)
    rows[visit] = np.arange(table.num_rows, dtype=np.int32)
    return Selected(table, names, attrition, rows)


def _condition(rule: Include) -> str:
    column = identifier(rule.column)
    if rule.one_of:
        return f"{column}::VARCHAR IN ({', '.join(quoted(value) for value in rule.one_of)})"
    value = f"try_cast({column} AS DOUBLE)"
    ends = [(">=", rule.minimum), ("<=", rule.maximum)]
    return " AND ".join(f"{value} {sign} {end!r}" for sign, end in ends if end is not None)


def _design_rules(source: Source) -> list[tuple[str, str]]:
    """A visit of a survey needs its weight and its place in the design."""
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
    steps = [
        Step(words, counts[2 * k], counts[2 * k + 1] or None) for k, (words, _) in enumerate(rules)
    ]
    for step in steps:
        if step.visits == 0:
            raise InvalidInputError(
                f"no visit is left after the step {step.step!r}; check the study's include rules "
                "against the values in the source"
            )
    return steps


def _group_names(group: GroupVariable, source: Source, where: str) -> tuple[str, ...]:
    if group.recode:
        names = tuple(group.recode)
    else:
        column = identifier(group.column)
        values = source.query(
            f"SELECT DISTINCT {column}::VARCHAR AS value FROM visits "
            f"WHERE {where} AND {column} IS NOT NULL ORDER BY value LIMIT {MAX_GROUPS + 1}"
        )
        if len(values) > MAX_GROUPS:
            raise InvalidInputError(
                f"groups: {group.column} has more than {MAX_GROUPS} values; give a recode"
            )
        names = tuple(value for (value,) in values)
    if group.missing in names:
        raise InvalidInputError(f"groups: {group.column} already has a group {group.missing!r}")
    return (*names, group.missing) if group.missing else names


def _position(group: GroupVariable, names: tuple[str, ...]) -> str:
    """SQL for the number of a visit's group."""
    column = f"{identifier(group.column)}::VARCHAR"
    recode = group.recode or {name: (name,) for name in names if name != group.missing}
    cases = " ".join(
        f"WHEN {column} IN ({', '.join(quoted(value) for value in values)}) THEN {k}"
        for k, values in enumerate(recode.values())
    )
    missing = len(names) - 1 if group.missing else MISSING
    return f"(CASE WHEN {column} IS NULL THEN {missing} {cases} ELSE {OTHER} END)::SMALLINT"
