"""What may be shown of an atlas: hundreds of conditions in one system of counts.

Cells (`relprev.disclosure`) are the visits with each condition in each group of each variable. They
are tied together: with the visits without the condition they make up the group; over the groups
they add up to a total that is not printed, but follows, and is the same or nearly the same for
variables that share their visits; a condition whose codes are among those of another, and a group
that lies within one of another variable, leave a rest.

Statistics are made of groups with 20 patients or more, so no small count stands behind any of
them. But a count that is hidden as cover for another would follow from the recorded ratio: a row in
which a count is hidden shows no number at all, and where a count of a condition is hidden, its
effective cases are hidden for all groups of the variable. Where counts are rounded, ratios have as
many digits as rounded counts support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from relprev.atlas.follow_up import COLUMNS as ROBUST
from relprev.atlas.result import Atlas
from relprev.disclosure import Cells, Column, Rule
from relprev.disclosure.nesting import Nesting
from relprev.estimates import COMPLEMENT
from relprev.messages import Cell

NAMES = ("condition", "description", "block", "group", "versus", "method", "withheld")
COUNTS = ("n_recorded", "n_recorded_versus")
RATIOS = ("observed_ratio", "diagnosis_ratio", "diagnosis_ci_low", "diagnosis_ci_high",
          "effective_cases")  # fmt: skip
STATISTICS = (
    "estimate", "ci_low", "ci_high", "calibrated", "calibrated_ci_low", "calibrated_ci_high", "auc",
    "auc_low", "auc_high", "p_value", "q_value", "null_p_value", "null_q_value", *ROBUST,
)  # fmt: skip
TABLE = (
    dict.fromkeys(NAMES, Column.NAME) | dict.fromkeys(COUNTS, Column.COUNT)
    | dict.fromkeys([*RATIOS, *STATISTICS], Column.REVEALING)
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class VariableAtlas:
    """The atlas of one group variable.

    Parameters
    ----------
    name : str
    atlas : Atlas
    groups : DataFrame
        Columns group and n; patients where these are known.
    counts : DataFrame
        Of all conditions: columns condition, group, visits and patients.
    """

    name: str
    atlas: Atlas
    groups: pd.DataFrame
    counts: pd.DataFrame


def disclosed_atlas(
    variables: Sequence[VariableAtlas], rule: Rule, *, within: Sequence[tuple[str, str]] = (),
    inside: Sequence[Nesting] = (),
) -> tuple[VariableAtlas, ...]:  # fmt: skip
    """The atlases of a study as they may be shown.

    Parameters
    ----------
    variables : sequence of VariableAtlas
        Nothing hidden.
    rule : Rule
    within : sequence of (condition, condition)
        The codes of the first are among those of the second.
    inside : sequence of (variable, group, other variable, other group)
        The first group lies within the second.

    Returns
    -------
    tuple of VariableAtlas
        Hidden numbers are missing, and columns that are not declared are gone.
    """
    shown_conditions = {name for one in variables for name in one.atlas.table["condition"]}
    cells = Cells()
    for one in variables:
        _variable_cells(cells, one, shown_conditions)
    _totals(cells, variables, shown_conditions, rule)
    for name in shown_conditions:
        for variable, group, other, around in inside:
            _rest(cells, ("cases", other, name, around), ("cases", variable, name, group))
    for small, large in within:
        for one in variables:
            for group in one.groups["group"].astype(str):
                both = (("cases", one.name, name, group) for name in (large, small))
                _rest(cells, *both)
    hidden = cells.hidden(rule)
    return tuple(_shown(one, hidden, rule) for one in variables)


def _variable_cells(cells: Cells, one: VariableAtlas, conditions: set[str]) -> None:
    groups = one.groups
    people = groups.get("patients", groups["n"])
    for group, n, few in zip(groups["group"].astype(str), groups["n"], people, strict=True):
        cells.add(("n", one.name, group), int(n), int(few), rank=(2,))
    for row in _rows(one, conditions):
        cell = ("cases", one.name, str(row["condition"]), str(row["group"]))
        cells.add(cell, int(row["visits"]), int(row["patients"]))
        _rest(cells, ("n", one.name, str(row["group"])), cell)


def _rows(one: VariableAtlas, conditions: set[str]) -> list[dict[Any, Any]]:
    return one.counts[one.counts["condition"].isin(conditions)].to_dict("records")


def _totals(
    cells: Cells, variables: Sequence[VariableAtlas], conditions: set[str], rule: Rule
) -> None:
    """Totals of a condition, one for all variables in which it is the same."""
    for name in sorted(conditions):
        totals: dict[Cell, None] = {}
        for one in variables:
            own = one.counts[one.counts["condition"] == name]
            if own.empty:
                continue
            total: Cell = ("total", name, str(int(own["visits"].sum())))
            cells.add(total, int(own["visits"].sum()), derived=True)
            cells.sums(total, [("cases", one.name, name, str(g)) for g in own["group"]])
            totals[total] = None
        for first, second in combinations(totals, 2):
            cells.apart(first, second, rule)


def _rest(cells: Cells, whole: Cell, part: Cell) -> None:
    """State that a cell is a part of another, if both are there."""
    if whole in cells.known and part in cells.known:
        cells.rest(whole, [part], ("rest", *whole, "without", *part))


def _shown(one: VariableAtlas, hidden: set[Cell], rule: Rule) -> VariableAtlas:
    table = one.atlas.table
    table = table[[name for name in TABLE if name in table]].copy()
    all_groups = [str(group) for group in one.groups["group"]]

    def covered(condition: str, groups: Sequence[str]) -> bool:
        return any(("cases", one.name, condition, group) in hidden for group in groups)

    triples = list(zip(table["condition"], table["group"], table["versus"], strict=True))
    sides = [
        covered(name, all_groups if versus == COMPLEMENT else [group, versus])
        for name, group, versus in triples
    ]
    own = np.array([covered(name, [group]) for name, group, _ in triples], dtype=bool)
    other = np.array([covered(name, [versus]) for name, _, versus in triples], dtype=bool)
    anywhere = np.array([covered(name, all_groups) for name, _, _ in triples], dtype=bool)
    complement = (table["versus"] == COMPLEMENT).to_numpy()
    numbers = [name for name in (*RATIOS, *STATISTICS) if name in table]
    table.loc[np.array(sides, dtype=bool), numbers] = np.nan
    table.loc[anywhere, "effective_cases"] = np.nan
    smallest = table[[*COUNTS]].min(axis=1)
    for name, missing in zip(COUNTS, (own, other | complement), strict=True):
        table[name] = table[name].map(rule.rounded).astype("Int64").mask(missing)
    for name in RATIOS:
        table[name] = [rule.coarse(float(value), float(count))
                       for value, count in zip(table[name], smallest, strict=True)]  # fmt: skip
    visits: list[Any] = [
        pd.NA if ("n", one.name, str(group)) in hidden else int(rule.rounded(n))
        for group, n in zip(one.groups["group"], one.groups["n"], strict=True)
    ]
    groups = one.groups[["group"]].assign(n=pd.array(visits, dtype="Int64"))
    atlas = replace(one.atlas, table=table)
    return VariableAtlas(one.name, atlas, groups, one.counts.iloc[:0])
