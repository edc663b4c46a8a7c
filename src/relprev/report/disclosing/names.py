"""What the counts of a study are called, so that one published twice is one cell.

Counts of equal value that could be of the same visits have the same name: levels, totals and
features of several variables are shown or hidden together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from relprev.cohort.characteristics import GROUP
from relprev.disclosure import Column
from relprev.disclosure.nesting import BETWEEN, within
from relprev.messages import Cell
from relprev.report.analyses import Analysis
from relprev.report.findings import VariableFindings

COUNTS = ("n", "n_diagnosed")
PEOPLE = {"n": "patients", "n_diagnosed": "patients_diagnosed"}  # whose visits they are
SHARE, COUNT, LEVEL, TOTAL = range(4)  # in the order in which they are hidden as cover


def people_behind(row: Mapping[Any, Any], column: str) -> int | None:
    """How many people made the visits that a row counts in a column; None if it is not known."""
    people = row.get(PEOPLE.get(column, column))
    return None if people is None or pd.isna(people) else int(people)


class VariableCells:
    """Names of the cells of the group variable at a position of the study."""

    def __init__(self, position: int, found: VariableFindings) -> None:
        self.position, self.found = position, found
        counts = found.counts.drop_duplicates("group")
        self.counts = counts.set_index(counts["group"].astype(str))
        sums = [str(int(counts[column].sum())) for column in COUNTS]
        self.totals: dict[str, Cell] = {
            "n": ("visits", sums[0]),
            "n_diagnosed": ("diagnosed", *sums),
        }

    def group(self, column: str, group: str) -> Cell:
        """A count of a group."""
        return str(self.position), column, str(group)

    def share(self, column: str, group: str) -> Cell:
        """The people who make up a share of a group's diagnosed."""
        return str(self.position), "share", column, str(group)

    def level(self, row: Mapping[Any, Any], others: Collection[str]) -> Cell:
        """The count of a level of a characteristic; ``others`` are names of group variables.

        A level that is a group of another variable is counted in the tables of both.
        """
        of, level, count = str(row["characteristic"]), str(row["level"]), str(int(row["n"]))
        if row["among"] != GROUP:
            return "level", of, level, str(row["among"]), count
        if of not in others:
            return str(self.position), "level", of, level, str(row["group"])
        both = sorted([(self.found.name, str(row["group"])), (of, level)])
        return "cross", *both[0], *both[1]

    def part(self, column: str, analysis: Analysis, stratum: str, group: str) -> Cell:
        """A count of a group within a stratum."""
        return str(self.position), column, analysis.kind, analysis.name, str(stratum), str(group)

    def row(
        self, kind: str, row: Mapping[Any, Any], columns: Mapping[str, Column]
    ) -> dict[str, Cell]:
        """The cells of the counts in a table's row, by column."""
        present = [
            name for name, holds in columns.items()
            if holds is Column.COUNT and not pd.isna(row.get(name))
        ]  # fmt: skip
        return {name: self._count(kind, row, name, columns) for name in present}

    def _count(
        self, kind: str, row: Mapping[Any, Any], name: str, columns: Mapping[str, Column]
    ) -> Cell:
        if "feature" in row:
            column = "n" if name == "visits" else name
            return "feature", column, str(row["feature"]), str(int(row[name]))
        if "group" in row and "fifth" not in row:
            group = str(row["group"])
            known = group in self.counts.index and name in self.counts
            if known and self.counts[name][group] == row[name]:
                return self.group(name, group)
        named = [str(row[key]) for key, holds in columns.items() if holds is Column.NAME]
        return str(self.position), name, *named, kind


@dataclass(frozen=True)
class StrataCells:
    """Names of the cells of a variable's groups within strata, as if they were groups too."""

    variable: VariableCells
    analysis: Analysis

    @property
    def name(self) -> str:
        """As nestings name it."""
        return within(self.found.name, self.analysis.name)

    @property
    def found(self) -> VariableFindings:
        return self.variable.found

    def group(self, column: str, group: str) -> Cell:
        """A count of a group within a stratum."""
        stratum, _, own = group.partition(BETWEEN)
        return self.variable.part(column, self.analysis, stratum, own)
