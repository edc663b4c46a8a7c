"""Counts of several conditions of one study, which are published together.

Each condition has a system of cells of its own (`counted`). What does not depend on the condition,
such as the visits of a group, is published once for every condition, so the same cell stands in
several systems: equal cells are hidden or shown together, and cells that differ by few (a group
left the cohort of one condition) have a small rest. Where two conditions may share codes, the
diagnosed of one may be a part of the other's: the same holds for their counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations, product

from relprev.cohort.characteristics import DIAGNOSED
from relprev.disclosure import Cells, Rule
from relprev.messages import Cell
from relprev.report.disclosing.names import COUNTS, PEOPLE

OF_CONDITION = {COUNTS[1], PEOPLE[COUNTS[1]]}  # columns that count the diagnosed
PART = 6  # length of the name of a group within a stratum
GROUP = 3  # and of a group


def hidden_together(
    systems: Sequence[Cells], rule: Rule, sharing: Collection[tuple[int, int]] = ()
) -> list[set[Cell]]:
    """The cells of each condition that must not be printed.

    Parameters
    ----------
    systems : sequence of Cells
        One per condition.
    rule : Rule
    sharing : collection of (int, int)
        Positions of conditions that may share codes, the lower one first.
    """
    if len(systems) == 1:
        return [systems[0].hidden(rule)]
    joint = Cells()
    for k, own in enumerate(systems):
        joint.known |= {(str(k), *cell): known for cell, known in own.known.items()}
        joint.equations += [
            {(str(k), *cell): factor for cell, factor in equation.items()}
            for equation in own.equations
        ]
    places = [_places(own) for own in systems]
    for k, j in combinations(range(len(systems)), 2):
        for place, cells in places[k].items():
            if place[1] and (k, j) not in sharing:
                continue
            for one, two in product(cells, places[j].get(place, ())):
                _tie(joint, (str(k), *one), (str(j), *two), rule)
    hidden = joint.hidden(rule)
    return [{cell[1:] for cell in hidden if cell[0] == str(k)} for k in range(len(systems))]


def _tie(joint: Cells, one: Cell, two: Cell, rule: Rule) -> None:
    """State that two cells are equal, or apart by few."""
    if joint.known[one].value == joint.known[two].value:
        joint.sums(one, [two])
    else:
        joint.apart(one, two, rule)


def _places(cells: Cells) -> dict[tuple[Cell, bool], list[Cell]]:
    """Cells by what they count, whatever the count, and whether that depends on the condition."""
    found: dict[tuple[Cell, bool], list[Cell]] = {}
    for cell, known in cells.known.items():
        place = None if known.derived else _place(cell)
        if place is not None:
            found.setdefault(place, []).append(cell)
    return found


def _place(cell: Cell) -> tuple[Cell, bool] | None:
    first = cell[0]
    if first in ("visits", "patients", "diagnosed"):  # levels of the attrition, and totals
        return (first,), first == "diagnosed"
    if first == "feature":
        return cell[:3], cell[1] in OF_CONDITION
    if first == "level":
        return cell[:4], cell[3] == DIAGNOSED
    if first == "cross" or cell[1] == "level":
        return cell, False
    if len(cell) in (GROUP, PART) and cell[1] in COUNTS:
        return cell, cell[1] in OF_CONDITION
    return None
