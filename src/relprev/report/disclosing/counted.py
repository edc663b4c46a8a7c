"""The published counts of a study as cells of one linear system.

Visits add up: groups to the variable's total, diagnosed and undiagnosed to all, fifths to their
group, bins and the rest to the total. Levels of the attrition differ by the people whom a step
leaves out. Two variables of a study share almost all visits, so their totals, and the counts of a
feature, may differ by a small count; a group of one variable may lie within a group of another.
Names of cells: `names`. Levels of Table 1: `levels`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from relprev.checks.check import CheckResult
from relprev.checks.registry import CHECKS
from relprev.cohort.grouped import FEW_DIAGNOSED
from relprev.disclosure import Cells, Column, Rule
from relprev.inference.estimable import MIN_PATIENTS
from relprev.messages import Cell
from relprev.report.analyses import Analysis
from relprev.report.disclosing.levels import add_characteristics, add_levels_and_strata
from relprev.report.disclosing.names import (
    COUNT,
    COUNTS,
    LEVEL,
    PEOPLE,
    SHARE,
    TOTAL,
    StrataCells,
    VariableCells,
    people_behind,
)
from relprev.report.findings import StudyFindings, VariableFindings

SYMPTOMS = {
    "feature": Column.NAME, "description": Column.NAME, "weight": Column.SHARE,
    "visits": Column.COUNT, "patients": Column.COUNT,
}  # fmt: skip
CHARACTERISTICS = {
    "characteristic": Column.NAME, "level": Column.NAME, "among": Column.NAME,
    "group": Column.NAME, "n": Column.COUNT, "weighted": Column.REVEALING,
    "relative_error": Column.REVEALING, "share": Column.SHARE,
}  # fmt: skip


def study_cells(findings: StudyFindings, rule: Rule) -> tuple[Cells, list[VariableCells]]:
    """All counts of a study, and their names in every variable."""
    cells = Cells()
    variables = [VariableCells(k, found) for k, found in enumerate(findings.variables)]
    for names in variables:
        _groups(cells, names)
        _features(cells, names, findings.exclusive)
        for check in names.found.checks:
            _check_table(cells, names, check)
        for analysis in names.found.analyses:
            _strata(cells, names, analysis)
    add_characteristics(cells, variables, rule)
    add_levels_and_strata(cells, variables, findings.levels)
    _levels(cells, variables, rule)
    _across(cells, variables, rule)
    if findings.inside is None:
        _recodes(cells, variables, rule)
    else:
        _nested(cells, variables, findings.inside, rule)
    return cells, variables


def _groups(cells: Cells, names: VariableCells) -> None:
    counts, rank = names.counts, (COUNT, -names.position)
    withheld = _withheld(names.found)
    inferred = any("withheld" in frame for frame in names.found.estimates.values())
    for column in COUNTS:
        total = int(counts[column].sum())
        cells.add(names.totals[column], total, rank=(TOTAL, -names.position))
        people = counts.get(PEOPLE[column], counts[column])
        secret = withheld if column == "n_diagnosed" else ()
        parts = [
            cells.add(
                names.group(column, group),
                n,
                few,
                rank=rank,
                secret=group in secret,
                least=MIN_PATIENTS if inferred and column == "n_diagnosed" else 1,
            )
            for group, n, few in zip(counts.index, counts[column], people, strict=True)
        ]
        cells.sums(names.totals[column], parts)
    _rest_undiagnosed(cells, names.totals)
    for row in counts.to_dict("records"):
        pair = {column: names.group(column, row["group"]) for column in COUNTS}
        _rest_undiagnosed(cells, pair, _undiagnosed(row))


def _rest_undiagnosed(cells: Cells, counts: Mapping[str, Cell], people: int | None = None) -> None:
    """The visits that are not diagnosed follow from all and the diagnosed."""
    diagnosed = counts["n_diagnosed"]
    cells.rest(counts["n"], [diagnosed], (*diagnosed, "un"), people)


def _undiagnosed(row: Mapping[Any, Any]) -> int | None:
    """Patients behind a group's undiagnosed visits; those never diagnosed if no more is known."""
    if "patients_undiagnosed" in row:
        return int(row["patients_undiagnosed"])
    never = int(row["patients"] - row["patients_diagnosed"]) if "patients" in row else 0
    return never or None


def _withheld(found: VariableFindings) -> set[str]:
    """Groups without an estimate because too few patients are diagnosed.

    Anyone who knows the estimator knows that they have none or one: if none were shown, one would
    be known. Before anything is fitted, they are the groups to be left out.
    """
    if not found.estimates:
        return set(map(str, found.left_out))
    texts = [text for frame in found.estimates.values() for text in frame.get("withheld", ())]
    reasons = [json.loads(text) for text in set(texts) if isinstance(text, str) and text]
    return {str(name) for reason in reasons for name in reason.get("few diagnosed", ())}


def _levels(cells: Cells, variables: Sequence[VariableCells], rule: Rule) -> None:
    """Levels of the attrition, each of which may be a part of any other."""
    levels: dict[tuple[int, int], None] = {}  # an ordered set
    for names in variables:
        last = len(names.found.attrition) - 1
        for k, level in enumerate(attrition_levels(names.found.attrition)):
            levels[level] = None
            rank = (TOTAL if k == last else LEVEL, -names.position)
            for kind, count in zip(("visits", "patients"), level, strict=True):
                if count >= 0:
                    few = level[1] if level[1] >= 0 else None
                    cells.add((kind, str(count)), count, few, rank=rank)
    for one, two in combinations(levels, 2):
        apart = one[1] - two[1] if min(one[1], two[1]) >= 0 else None
        cells.apart(("visits", str(one[0])), ("visits", str(two[0])), rule, apart)
        if apart is not None:
            cells.apart(("patients", str(one[1])), ("patients", str(two[1])), rule)


def attrition_levels(frame: pd.DataFrame) -> list[tuple[int, int]]:
    """Visits and patients at every level, -1 where they are not known."""
    counts = frame[["visits", "patients"]].astype("Int64").fillna(-1).astype(int)
    return list(zip(counts["visits"], counts["patients"], strict=True))


# -- features ------------------------------------------------------------------------------


def _features(cells: Cells, names: VariableCells, exclusive: Sequence[Sequence[str]]) -> None:
    """Visits with each feature, without it, and outside all bins of a measurement."""
    known: dict[str, dict[str, Cell]] = {}
    for kind, table, columns in _feature_tables(names.found):
        for row in table.to_dict("records"):
            found = names.row(kind, row, columns)
            for name, cell in found.items():
                few = people_behind(row, cell[1])
                cells.add(cell, row[name], few, rank=(COUNT, -names.position))
            known.setdefault(str(row["feature"]), {}).update(
                {cell[1]: cell for cell in found.values()}
            )
    totals: dict[str, Cell] = dict(names.totals)
    levels = attrition_levels(names.found.attrition)
    if levels and levels[-1][1] >= 0:
        totals["patients"] = ("patients", str(levels[-1][1]))
        cells.add(totals["patients"], levels[-1][1], rank=(TOTAL, -names.position))
    nobody = (*totals["n_diagnosed"], "un")
    for feature, found in known.items():
        for column, total in totals.items():
            if column in found:
                cells.rest(total, [found[column]], ("without", feature, *found[column], *total))
        never = _never(cells, found)
        if set(COUNTS) <= set(found):
            other = ("feature", "undiagnosed", *found["n"], *found["n_diagnosed"])
            rest = cells.rest(found["n"], [found["n_diagnosed"]], other, never)
            if rest and nobody in cells.known:
                cells.rest(nobody, [other], ("without", *other, *nobody))
    for together in exclusive:
        for column in totals:
            bins = [known[name][column] for name in together if column in known.get(name, ())]
            if len(bins) > 1 and column != "patients":
                cells.rest(totals[column], bins, ("other bins", str(names.position), *bins[0]))


def _never(cells: Cells, found: Mapping[str, Cell]) -> int | None:
    """Patients of a row who are diagnosed in none of its visits; None if not known, or nobody.

    They follow from the row's patients, so they are a cell. They are also the fewest people who can
    be behind the row's undiagnosed visits.
    """
    if not set(PEOPLE.values()) <= set(found):
        return None
    every, some = (found[name] for name in PEOPLE.values())
    rest = cells.rest(every, [some], (*every, *some, "never"))
    return None if rest is None else cells.known[rest].value


def _feature_tables(
    found: VariableFindings,
) -> list[tuple[str, pd.DataFrame, Mapping[str, Column]]]:
    tables: list[tuple[str, pd.DataFrame, Mapping[str, Column]]] = [
        ("symptoms", found.symptoms, SYMPTOMS)
    ]
    tables += [(check.kind, check.table, CHECKS[check.kind].table) for check in found.checks]
    return [one for one in tables if "feature" in one[1]]


# -- checks --------------------------------------------------------------------------------


def _check_table(cells: Cells, names: VariableCells, check: CheckResult) -> None:
    """Counts and shares in the table of a check that is not about features."""
    columns, rank = CHECKS[check.kind].table, (COUNT, -names.position)
    if "feature" in check.table:
        return
    parts: dict[tuple[str, str], list[Cell]] = {}
    for row in check.table.to_dict("records"):
        found = names.row(check.kind, row, columns)
        for name, cell in found.items():
            cells.add(cell, row[name], people_behind(row, name), rank=rank)
            if "group" in row and name in COUNTS and cell != names.group(name, row["group"]):
                parts.setdefault((name, str(row["group"])), []).append(cell)
        never = _never(cells, found)
        if set(COUNTS) <= set(found):
            _rest_undiagnosed(cells, found, never)
        if "group" in row and "n_diagnosed" in found:
            _shares(cells, names, row, columns, found["n_diagnosed"])
    for (name, group), own in parts.items():
        whole, sum_of_parts = names.group(name, group), sum(cells.known[one].value for one in own)
        if whole in cells.known and cells.known[whole].value == sum_of_parts:
            cells.sums(whole, own)
    sample = [cell for (name, _), own in parts.items() if name == "n" for cell in own]
    if sample:  # the effect says how many visits were drawn
        drawn = (str(names.position), check.kind, "sample")
        cells.add(drawn, sum(cells.known[one].value for one in sample), rank=(TOTAL,))
        cells.sums(drawn, sample)


def _shares(
    cells: Cells, names: VariableCells, row: Mapping[Any, Any], columns: Mapping[str, Column],
    whole: Cell,
) -> None:  # fmt: skip
    """The people in each share of a group's diagnosed, and those outside it."""
    if "fifth" in row:
        return
    for name, holds in columns.items():
        if holds is Column.SHARE and not pd.isna(row.get(name)):
            count = round(row[name] * cells.known[whole].value)
            part = cells.add(names.share(name, row["group"]), count, rank=(SHARE,))
            cells.rest(whole, [part], (*part, "others"))


# -- strata --------------------------------------------------------------------------------


def _strata(cells: Cells, names: VariableCells, analysis: Analysis) -> None:
    """Counts of groups within strata: with those outside all strata they add up to the group's."""
    parts: dict[tuple[str, str], list[Cell]] = {}
    rank = (COUNT, -names.position)
    for row in analysis.parts():
        found = {}
        for column in COUNTS:
            cell = names.part(column, analysis, row["stratum"], row["group"])
            found[column] = cells.add(cell, row[column], people_behind(row, column), rank=rank)
            parts.setdefault((column, str(row["group"])), []).append(cell)
        _rest_undiagnosed(cells, found, _undiagnosed(row))
    for (column, group), own in parts.items():
        outside = (str(names.position), column, analysis.kind, analysis.name, "outside", group)
        cells.rest(names.group(column, group), own, (*outside, "rest"))


# -- several variables ---------------------------------------------------------------------


def _across(cells: Cells, variables: Sequence[VariableCells], rule: Rule) -> None:
    """Totals of diagnosed, and counts of features, that differ by few between variables."""
    for one, two in combinations(variables, 2):
        both = [names.counts.get("patients_diagnosed") for names in (one, two)]
        apart = None if any(x is None for x in both) else int(both[0].sum() - both[1].sum())  # type: ignore[union-attr]
        cells.apart(one.totals["n_diagnosed"], two.totals["n_diagnosed"], rule, apart)
        if _has_few_diagnosed(one.found) or _has_few_diagnosed(two.found):
            _secret_gap(cells, one.totals["n_diagnosed"], two.totals["n_diagnosed"], rule)
    same: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells.known:
        if cell[0] == "feature" and len(cell) == 4:
            same.setdefault(cell[1:3], []).append(cell)
    for alike in same.values():
        for a, b in combinations(alike, 2):
            cells.apart(a, b, rule)


def _has_few_diagnosed(found: VariableFindings) -> bool:
    """Whether a group left the cohort for having too few diagnosed patients."""
    return any(why == FEW_DIAGNOSED for why in found.left_out.values())


def _secret_gap(cells: Cells, one: Cell, two: Cell, rule: Rule) -> None:
    """The difference of two counts as a secret, if it may be that of a group left out.

    Such a group has none or one: if none were told, one would be known.
    """
    smaller, larger = sorted((one, two), key=lambda cell: cells.known[cell].value)
    gap = cells.known[larger].value - cells.known[smaller].value
    if rule.hide and gap <= rule.threshold:
        secret = cells.add(("left out", *larger, "and", *smaller), gap, derived=True, secret=True)
        cells.sums(larger, [smaller, secret])


def _recodes(cells: Cells, variables: Sequence[VariableCells], rule: Rule) -> None:
    """Groups of a column that is recoded twice may be parts of one another."""
    for one, two in combinations(variables, 2):
        if not one.found.column or one.found.column != two.found.column:
            continue
        for column in COUNTS:
            for a in one.counts.index:
                for b in two.counts.index:
                    cells.apart(one.group(column, a), two.group(column, b), rule)


def _nested(
    cells: Cells, variables: Sequence[VariableCells], inside: Sequence[tuple[str, str, str, str]],
    rule: Rule,
) -> None:  # fmt: skip
    """A group that contains others is their sum and a rest."""
    by_name: dict[str, VariableCells | StrataCells] = {
        names.found.name: names for names in variables
    }
    by_name |= {
        one.name: one
        for names in variables
        for one in (StrataCells(names, analysis) for analysis in names.found.analyses)
        if any(one.analysis.parts())
    }
    parts: dict[tuple[str, str, str], list[str]] = {}
    for variable, group, other, whole in inside:
        if variable in by_name and other in by_name:
            parts.setdefault((variable, other, whole), []).append(group)
    for (variable, other, whole), groups in parts.items():
        inner, around = by_name[variable], by_name[other]
        for column in COUNTS:
            own = [inner.group(column, group) for group in groups]
            name = ("rest of", other, whole, variable, column)
            cells.rest(around.group(column, whole), own, name)
            if column == "n_diagnosed" and _has_few_diagnosed(inner.found):
                sum_of_parts = sum(cells.known[one].value for one in own)
                both = cells.add((*name, "parts"), sum_of_parts, derived=True)
                cells.sums(both, own)
                _secret_gap(cells, around.group(column, whole), both, rule)
