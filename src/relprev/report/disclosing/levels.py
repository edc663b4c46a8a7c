"""The counts of Table 1 as cells: levels of characteristics, in all, in groups, among diagnosed.

Levels add up to everybody, the diagnosed and every group. A level may be a group of another
variable, or a stratum of an analysis, whose counts are published there too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from relprev.cohort.characteristics import ALL, DIAGNOSED, GROUP
from relprev.disclosure import Cells, Rule
from relprev.messages import Cell
from relprev.report.analyses import Analysis
from relprev.report.disclosing.names import COUNT, VariableCells, people_behind

STRATA = "strata"  # the kind of analysis


def add_characteristics(cells: Cells, variables: Sequence[VariableCells], rule: Rule) -> None:
    """Levels of characteristics, which add up to everybody, the diagnosed and every group."""
    by_name = {names.found.name: names for names in variables}
    alike: dict[tuple[str, ...], dict[Cell, None]] = {}
    for names in variables:
        table = names.found.characteristics
        if table is None:
            continue
        for characteristic, part in table.groupby("characteristic", sort=False):
            rows = part.to_dict("records")
            found = [names.level(row, by_name) for row in rows]
            for cell, row in zip(found, rows, strict=True):
                few = people_behind(row, "n")
                cells.add(cell, row["n"], few, rank=(COUNT, -names.position))
                if row["among"] != GROUP:
                    alike.setdefault(cell[1:4], {})[cell] = None
            _level_sums(cells, names, list(zip(found, rows, strict=True)))
            _levels_of_groups(cells, by_name.get(str(characteristic)), found, rows)
        for analysis in names.found.analyses:
            _levels_as_strata(cells, names, analysis, table, by_name, rule)
    for same in alike.values():
        for one, two in combinations(same, 2):
            cells.apart(one, two, rule)


def _levels_as_strata(
    cells: Cells, names: VariableCells, analysis: Analysis, table: pd.DataFrame,
    others: Collection[str], rule: Rule,
) -> None:  # fmt: skip
    """Levels that are, or may be a part of, strata of an analysis: visits are counted twice.

    Whether one holds the other is judged by their counts: none of those of the one is then larger.
    Levels that only look like that cost at most counts that could be shown.
    """
    strata: dict[str, list[Mapping[Any, Any]]] = {}
    for part in analysis.parts():
        strata.setdefault(str(part["stratum"]), []).append(part)
    for _, rows in table.groupby(["characteristic", "level"], sort=False):
        for stratum, parts in strata.items():
            pairs = []
            for row in rows.to_dict("records"):
                column = "n_diagnosed" if row["among"] == DIAGNOSED else "n"
                own = [
                    names.part(column, analysis, stratum, part["group"]) for part in parts
                    if row["among"] != GROUP or str(part["group"]) == str(row["group"])
                ]  # fmt: skip
                pairs += [(names.level(row, others), own)] if own else []
            gaps = [
                cells.known[level].value - sum(cells.known[cell].value for cell in own)
                for level, own in pairs
            ]
            if min(gaps, default=-1) < 0 < max(gaps, default=1):
                continue
            for (level, own), gap in zip(pairs, gaps, strict=True):
                if gap == 0 or (gap > 0 and rule.is_small(gap)):
                    cells.rest(level, own, ("beyond", *level, analysis.name, stratum))
                elif gap < 0 and len(own) == 1 and rule.is_small(-gap):
                    cells.rest(own[0], [level], ("beyond", *own[0], *level))


def _level_sums(
    cells: Cells, names: VariableCells, levels: Sequence[tuple[Cell, Mapping[Any, Any]]]
) -> None:
    """The levels of one characteristic: over all levels, and over the groups of each."""
    totals = {(ALL, ""): names.totals["n"], (DIAGNOSED, ""): names.totals["n_diagnosed"]}
    totals |= {(GROUP, str(group)): names.group("n", group) for group in names.counts.index}
    for place, total in totals.items():
        own = [cell for cell, row in levels if place == (row["among"], row["group"])]
        if own and total in cells.known:
            cells.rest(total, own, ("other levels", *total, *own[0]))
    for whole, row in levels:
        same = [(cell, one) for cell, one in levels if one["level"] == row["level"]]
        if row["among"] == ALL:
            groups = [cell for cell, one in same if one["among"] == GROUP]
            cells.rest(whole, groups, ("other groups", *whole))
            for cell, one in same:
                if one["among"] == DIAGNOSED:
                    cells.rest(whole, [cell], (*whole, *cell, "un"))


def _levels_of_groups(
    cells: Cells, other: VariableCells | None, found: Sequence[Cell],
    rows: Sequence[Mapping[Any, Any]],
) -> None:  # fmt: skip
    """Levels that are groups of another variable: a part of that group, or all of it."""
    if other is None:
        return
    columns = {ALL: "n", DIAGNOSED: "n_diagnosed"}
    for cell, row in zip(found, rows, strict=True):
        column = columns.get(row["among"])
        if column is not None and str(row["level"]) in other.counts.index:
            whole = other.group(column, str(row["level"]))
            cells.rest(whole, [cell], ("outside", *whole, *cell))


def add_levels_and_strata(
    cells: Cells, variables: Sequence[VariableCells], nested: Iterable[tuple[str, ...]]
) -> None:
    """Levels that are made of strata, and strata that are made of levels, are their sums."""
    by_name = {names.found.name: names for names in variables}
    parts: dict[tuple[str, ...], list[str]] = {}
    for name, characteristic, strata, inner, part, _, whole in nested:
        parts.setdefault((name, characteristic, strata, inner, whole), []).append(part)
    for (name, characteristic, strata, inner, whole), own in parts.items():
        names = by_name[name]
        table = names.found.characteristics
        analyses = [one for one in names.found.analyses if (one.kind, one.name) == (STRATA, strata)]
        if table is None or not analyses:
            continue
        rows = table[table["characteristic"] == characteristic].to_dict("records")
        levels, within = (whole, own) if inner == "stratum" else (own, whole)
        for among in dict.fromkeys((str(row["among"]), str(row["group"])) for row in rows):
            of_levels = [
                names.level(row, by_name) for row in rows
                if (row["among"], row["group"]) == among and str(row["level"]) in _listed(levels)
            ]  # fmt: skip
            column = "n_diagnosed" if among[0] == DIAGNOSED else "n"
            of_strata = [
                names.part(column, analyses[0], part["stratum"], part["group"])
                for part in analyses[0].parts()
                if str(part["stratum"]) in _listed(within)
                and (among[0] != GROUP or str(part["group"]) == among[1])
            ]  # fmt: skip
            if of_levels and of_strata:
                around, inside = of_levels, of_strata
                if inner == "level":
                    around, inside = of_strata, of_levels
                _sum_of(cells, around, inside, (name, characteristic, strata, whole, *among))


def _sum_of(cells: Cells, around: list[Cell], inside: list[Cell], name: Cell) -> None:
    """State that cells together, of which others are parts, are the sum of these and a rest."""
    total = around[0]
    if len(around) > 1:
        total = ("all of", *name)
        cells.add(total, sum(cells.known[one].value for one in around), derived=True)
        cells.sums(total, around)
    cells.rest(total, inside, ("rest of", *name))


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names
