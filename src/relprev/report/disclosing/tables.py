"""What may be shown of the tables of one group variable.

Hidden are:

- counts whose cell is hidden;
- shares of people, where a count of their row or the people in the share are hidden;
- revealing statistics in rows of a group, or against a group, with a hidden count. A recorded
  ratio against everyone else also follows from the totals. One group's effective cases depend on
  the diagnosed of all groups, so they are hidden in all rows or none; so are degrees of freedom,
  standard errors and p-values, from any two of which, or one and an interval, they follow;
- the order and weights of features with hidden counts: their rows come last, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from relprev.checks.check import CheckResult
from relprev.checks.registry import CHECKS, KINDS
from relprev.disclosure import Cells, Column, Rule, shown
from relprev.disclosure.rendering import as_message
from relprev.estimates import COMPLEMENT
from relprev.messages import Cell, Message
from relprev.report.analyses import Analysis
from relprev.report.disclosing.counted import CHARACTERISTICS, SYMPTOMS, attrition_levels
from relprev.report.disclosing.names import COUNTS, VariableCells
from relprev.report.disclosing.written import lost_numbers, shown_numbers, written
from relprev.report.findings import VariableFindings

RATIOS = (
    "observed_ratio", "observed_ci_low", "observed_ci_high", "diagnosis_ratio",
    "diagnosis_ci_low", "diagnosis_ci_high",
)  # fmt: skip
JOINT = (  # a group's depend on the others' counts
    "effective_cases", "degrees_of_freedom", "std_error", "z",
)  # fmt: skip
TIPS = ("recorded_right", "tip")  # with the estimate they give the recorded ratio away
ESTIMATES = (
    dict.fromkeys(["group", "versus", "withheld", "few_cases", "note"], Column.NAME)
    | dict.fromkeys(["estimate", "ci_low", "ci_high", "split_sd", "truth"], Column.FREE)
    | dict.fromkeys(COUNTS, Column.COUNT)
    | dict.fromkeys([*RATIOS, *JOINT[:3], "p_value"], Column.REVEALING)
)
ATTRITION = {"step": Column.NAME, "visits": Column.COUNT, "patients": Column.COUNT}


@dataclass(frozen=True)
class VariableTables:
    """One group variable, and what to hide of it; ``variables`` are the names of all."""

    names: VariableCells
    cells: Cells
    hidden: set[Cell]
    rule: Rule
    variables: tuple[str, ...] = ()

    def shown(self) -> VariableFindings:
        """The findings without what is hidden; messages are plain text."""
        found = self.names.found
        return replace(
            found,
            estimates={name: self._estimates(table) for name, table in found.estimates.items()},
            attrition=self._attrition(found.attrition),
            checks=tuple(self._check(check) for check in found.checks),
            symptoms=self._table("symptoms", found.symptoms, SYMPTOMS),
            left_out={group: self._said(why) for group, why in found.left_out.items()},
            groups=self._table("", found.counts[["group", *COUNTS]], ESTIMATES),
            characteristics=self._characteristics(found.characteristics),
            analyses=tuple(self._analysis(one) for one in found.analyses),
        )

    # -- what is hidden ------------------------------------------------------------------------

    @cached_property
    def local(self) -> set[Cell]:
        """Hidden cells as messages name them: ("n", group or feature), ("n",) for the total."""
        named: set[Cell] = {
            (column,) for column, cell in self.names.totals.items() if cell in self.hidden
        }
        own = str(self.names.position)
        for cell in self.hidden:
            if cell[0] == own:
                named.add(cell[2:] if cell[1] == "share" else cell[1:])
            elif cell[0] == "feature":
                named.add(cell[1:3])
        return named

    @cached_property
    def values(self) -> set[float]:
        """Values of the hidden cells, in visits and in people."""
        return hidden_values(self.cells, self.hidden)

    @cached_property
    def _groups(self) -> set[str]:
        """Groups with a hidden count."""
        return {
            group for group in self.names.counts.index for column in COUNTS
            if self.names.group(column, group) in self.hidden
        }  # fmt: skip

    @cached_property
    def _few_diagnosed(self) -> bool:
        """Whether the diagnosed of any group are hidden."""
        cells = [self.names.group("n_diagnosed", group) for group in self.names.counts.index]
        return any(cell in self.hidden for cell in cells)

    def _said(
        self, message: Message | str, more: Iterable[float] = (),
        coarse: Callable[[float], float] | None = None,
    ) -> str:  # fmt: skip
        """A message as text; ``more`` are numbers that are hidden too."""
        return shown(message, self.rule, self.local, self.values.union(more), coarse)

    def _where(self, cells: Sequence[Cell | None], index: pd.Index) -> pd.Series:
        """Where the cells of a table's rows are hidden."""
        return pd.Series([cell in self.hidden for cell in cells], index, bool)

    def _touched(self, table: pd.DataFrame) -> pd.Series:
        """Rows of groups, or against groups, with a hidden count."""
        touched = pd.Series(False, table.index)
        for side in {"group", "versus"} & set(table):
            touched |= table[side].astype(str).isin(self._groups)
        return touched

    def _fewest(self, table: pd.DataFrame) -> pd.Series:
        """The smallest count that a row's statistics rest on; of no group, it rests on all."""
        diagnosed = self.names.counts["n_diagnosed"]
        sides = [
            table[side].astype(str).map(diagnosed) for side in ("group", "versus") if side in table
        ]
        return pd.concat(sides, axis=1).min(axis=1).fillna(diagnosed.sum())

    # -- estimates, attrition, Table 1 ---------------------------------------------------------

    def _estimates(self, frame: pd.DataFrame) -> pd.DataFrame:
        table = _declared(frame, ESTIMATES)
        touched, everyone_else = self._touched(table), table["versus"] == COMPLEMENT
        if len(self.names.counts) < 3:  # the complement of a group is the other one
            touched |= everyone_else & bool(self._groups)
        totals = any(cell in self.hidden for cell in self.names.totals.values())
        where = dict.fromkeys(RATIOS, touched | (everyone_else & totals))
        where |= dict.fromkeys((*JOINT, "p_value"), touched | self._few_diagnosed)
        for column in COUNTS:
            cells = [self.names.group(column, group) for group in table["group"]]
            where[column] = self._where(cells, table.index)
        return written(table, where, ESTIMATES, self.rule, self._fewest(table))

    def _attrition(self, frame: pd.DataFrame) -> pd.DataFrame:
        table = frame[list(ATTRITION)].reset_index(drop=True)
        levels = attrition_levels(table)
        where = {
            kind: self._where([(kind, str(level[k])) for level in levels], table.index)
            for k, kind in enumerate(("visits", "patients"))
        }
        return written(table, where, ATTRITION, self.rule)

    def _characteristics(self, frame: pd.DataFrame | None) -> pd.DataFrame | None:
        """Counts for Table 1, with shares that are weighted where there are weights."""
        if frame is None:
            return None
        table = frame.reset_index(drop=True)
        cells = [self.names.level(row, self.variables) for row in table.to_dict("records")]
        gone = self._where(cells, table.index)
        where = dict.fromkeys(("n", "weighted", "relative_error", "share"), gone)
        counted = table["weighted"].where(table["weighted"].notna(), table["n"]).astype(float)
        whole = counted.groupby([table["characteristic"], table["among"], table["group"]])
        table = _declared(table.assign(share=counted / whole.transform("sum")), CHARACTERISTICS)
        return written(table, where, CHARACTERISTICS, self.rule, table["n"])

    # -- analyses, checks and symptoms ---------------------------------------------------------

    def _analysis(self, analysis: Analysis) -> Analysis:
        """Revealing numbers go with any hidden count of their rows, or of those they go with."""
        about = analysis.about
        table = _declared(analysis.table, about.columns)
        touched = self._touched(table)
        where: dict[str, pd.Series] = {}
        if "stratum" in table:
            touched = pd.Series(False, table.index)
            for column in set(COUNTS) & set(table):
                pairs = zip(table["stratum"], table["group"], strict=True)
                cells = [self.names.part(column, analysis, *pair) for pair in pairs]
                where[column] = self._where(cells, table.index)
                touched |= where[column]
        else:
            small = self._groups | self._with_hidden_parts(analysis, COUNTS)
            touched |= table["group"].isin(small)
            if "pooled" in analysis.table and self._with_hidden_parts(analysis, COUNTS[:1]):
                touched |= analysis.table["pooled"].to_numpy(bool)
            if "versus" in table:
                everyone_else = (table["versus"] == COMPLEMENT) & bool(small)
                touched |= table["versus"].isin(small) | everyone_else
        if about.together and len(table):
            touched = touched.groupby(table[about.together]).transform("any")
        if about.key and bool((touched & table[about.key].astype(bool)).any()):
            touched |= True
        revealing = [name for name in map(str, table) if about.columns[name] is Column.REVEALING]
        where |= dict.fromkeys(revealing, touched)
        return replace(
            analysis,
            table=written(table, where, about.columns, self.rule, self._fewest(table)),
            words=tuple(as_message(self._said(one)) for one in analysis.words),
        )

    def _with_hidden_parts(self, analysis: Analysis, columns: Iterable[str]) -> set[str]:
        """Groups with a hidden count, of some columns, in the strata an analysis is made of."""
        return {
            str(row["group"])
            for one in self.names.found.analyses
            if (one.kind, one.name) == (analysis.about.made_of, analysis.name)
            for row in one.parts()
            for column in columns
            if self.names.part(column, one, row["stratum"], row["group"]) in self.hidden
        }

    def _check(self, check: CheckResult) -> CheckResult:
        table = self._table(check.kind, check.table, CHECKS[check.kind].table)
        lost, coarse = lost_numbers(check.table, table), self._coarse(check.table, table)
        statistic, p_value, low, high = (
            np.nan if value in lost else value if coarse is None else coarse(value)
            for value in (check.statistic, check.p_value, *check.interval)
        )
        if CHECKS[check.kind].by_cases and self._few_diagnosed:
            p_value = np.nan  # with the statistic it tells the effective cases
        return replace(
            check, table=table, statistic=statistic, p_value=p_value, interval=(low, high),
            effect=as_message(self._said(check.effect, lost, coarse)),
        )  # fmt: skip

    def _coarse(self, before: pd.DataFrame, after: pd.DataFrame) -> Callable[[float], float] | None:
        """Where counts are rounded: a statistic as a check's table has it, or by few digits."""
        if not self.rule.round_to:
            return None
        known = shown_numbers(before, after)
        fewest = float(self.names.counts["n_diagnosed"].min())
        return lambda value: known.get(value, self.rule.coarse(value, fewest))

    def _table(self, kind: str, frame: pd.DataFrame, columns: Mapping[str, Column]) -> pd.DataFrame:
        """A table's declared columns, without what is hidden."""
        table = _declared(frame, columns)
        rows = [self.names.row(kind, row, columns) for row in table.to_dict("records")]
        gone = [any(cell in self.hidden for cell in row.values()) for row in rows]
        here = pd.Series(gone, table.index, bool)
        touched = here | self._touched(table)
        joint = {*JOINT, *TIPS, *(("p_value",) if "std_error" in table else ())}
        where: dict[str, pd.Series] = {}
        for name in map(str, table):
            holds = columns[name]
            if holds is Column.COUNT and "feature" in table:
                where[name] = here
            elif holds is Column.COUNT:
                where[name] = self._where([row.get(name) for row in rows], table.index)
            elif holds is Column.SHARE:
                where[name] = here | self._share_hidden(table, name)
            elif holds is Column.REVEALING:
                where[name] = touched | (name in joint and self._few_diagnosed)
        middle = CHECKS[kind].interval if kind in KINDS else ""
        out = written(table, where, columns, self.rule, self._row_counts(table, rows), middle)
        if "feature" not in table or not here.any():
            return out
        last = out[here].sort_values("feature", kind="stable")
        return pd.concat([out[~here], last], ignore_index=True)

    def _share_hidden(self, table: pd.DataFrame, name: str) -> pd.Series:
        """Where the people in a share are hidden, or the total it is a share of."""
        if "group" in table:
            cells = [self.names.share(name, group) for group in table["group"]]
            return self._where(cells, table.index)
        total = name == "reach" and self.names.totals["n_diagnosed"] in self.hidden
        return pd.Series(total, index=table.index)

    def _row_counts(self, table: pd.DataFrame, rows: Iterable[Mapping[str, Cell]]) -> pd.Series:
        own = [min((self.cells.known[cell].value for cell in row.values()), default=np.nan)
               for row in rows]  # fmt: skip
        fewest = pd.Series(own, table.index, float)
        if "feature" in table:  # that of a number rests on all diagnosed
            fewest = fewest.fillna(float(self.names.counts["n_diagnosed"].sum()))
        return fewest.fillna(self._fewest(table)) if "group" in table else fewest


def _declared(table: pd.DataFrame, columns: Mapping[str, Column]) -> pd.DataFrame:
    """The declared columns of a table."""
    return table[[name for name in table if name in columns]].reset_index(drop=True)


def hidden_values(cells: Cells, hidden: set[Cell]) -> set[float]:
    """Values of the hidden cells, in visits and in people."""
    known = [cells.known[cell] for cell in hidden]
    return {float(one.value) for one in known} | {float(one.people) for one in known}
