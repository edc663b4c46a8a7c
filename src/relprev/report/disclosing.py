"""Turn findings into a report of what may be shown.

The counts of a study are one system of cells (`relprev.report.counted`), some of which must be
hidden (`relprev.disclosure`). Here tables lose those cells and what would give them away, and
messages become text. Hidden are:

- counts whose cell is hidden;
- shares of people, where a count of their row or the people in the share are hidden;
- revealing statistics in rows of a group, or against a group, with a hidden count. A recorded
  ratio against everyone else also follows from the totals. One group's effective cases depend on
  the diagnosed of all groups, so they are hidden in all rows or none; so are degrees of freedom,
  standard errors and p-values, from any two of which, or one and an interval, they follow;
- the order and weights of features with hidden counts: their rows come last, by name.

Where counts are rounded, shares and revealing statistics have as many digits as rounded counts
would support.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from relprev.checks.check import CheckResult
from relprev.checks.registry import CHECKS, KINDS
from relprev.disclosure import Cells, Column, Rule, shown
from relprev.disclosure.rendering import as_message
from relprev.estimates import COMPLEMENT
from relprev.messages import Cell
from relprev.report.analyses import Analysis
from relprev.report.cell_names import COUNTS, VariableCells
from relprev.report.counted import CHARACTERISTICS, SYMPTOMS, attrition_levels, study_cells
from relprev.report.counted_together import hidden_together
from relprev.report.findings import StudyFindings, StudyReport, VariableFindings

RATIOS = (
    "observed_ratio", "observed_ci_low", "observed_ci_high", "diagnosis_ratio",
    "diagnosis_ci_low", "diagnosis_ci_high",
)  # fmt: skip
JOINT = (  # a group's depend on the others' counts
    "effective_cases", "degrees_of_freedom", "std_error", "z",
)  # fmt: skip
MIDDLES = {"observed_ci": "observed_ratio", "diagnosis_ci": "diagnosis_ratio"}  # of intervals
TIPS = ("recorded_right", "tip")  # with the estimate they give the recorded ratio away
ESTIMATES = (
    dict.fromkeys(["group", "versus", "withheld", "few_cases", "note"], Column.NAME)
    | dict.fromkeys(["estimate", "ci_low", "ci_high", "split_sd", "truth"], Column.FREE)
    | dict.fromkeys(COUNTS, Column.COUNT)
    | dict.fromkeys([*RATIOS, *JOINT[:3], "p_value"], Column.REVEALING)
)


def disclosed(findings: StudyFindings, rule: Rule | None = None) -> StudyReport:
    """What may be shown of a study's findings.

    Parameters
    ----------
    findings : StudyFindings
        As found, nothing hidden.
    rule : Rule, optional
        What to hide. Default: counts of 1 to 10 people.

    Returns
    -------
    StudyReport
        Hidden numbers are missing; messages are plain text.

    Examples
    --------
    >>> from relprev.report import StudyFindings, VariableFindings
    >>> table = pd.DataFrame({
    ...     "group": ["a", "b", "c"], "versus": "complement", "estimate": [1.1, 2.0, 0.5],
    ...     "observed_ratio": [1.0, 2.0, 0.5], "n": [500, 400, 300], "n_diagnosed": [40, 20, 3]})
    >>> steps = pd.DataFrame({"step": ["all visits"], "visits": [1200], "patients": [1200]})
    >>> found = VariableFindings("ward", {"PURPLE": table}, steps, (), pd.DataFrame())
    >>> report = disclosed(StudyFindings("", "", "", "", (found,), {}))
    >>> report.variables[0].estimates["PURPLE"]["n_diagnosed"].tolist()
    [40, <NA>, <NA>]
    """
    return disclosed_together([findings], Rule() if rule is None else rule)[0]


def disclosed_together(
    several: Sequence[StudyFindings], rule: Rule, sharing: Collection[tuple[int, int]] = ()
) -> list[StudyReport]:
    """What may be shown of the findings on several conditions that are published together.

    Parameters
    ----------
    several : sequence of StudyFindings
        On the same data, one per condition.
    rule : Rule
        What to hide.
    sharing : collection of (int, int)
        Positions of conditions that may share codes, the lower one first.
    """
    systems = [study_cells(findings, rule) for findings in several]
    hidden = hidden_together([cells for cells, _ in systems], rule, sharing)
    return [
        _report(findings, cells, names, own, rule)
        for findings, (cells, names), own in zip(several, systems, hidden, strict=True)
    ]


def _report(
    findings: StudyFindings, cells: Cells, names: Sequence[VariableCells], hidden: set[Cell],
    rule: Rule,
) -> StudyReport:  # fmt: skip
    named = tuple(found.name for found in findings.variables)
    parts = [_Variable(one, cells, hidden, rule, named) for one in names]
    local = {cell for part in parts for cell in part.local}
    values = _values(cells, hidden)
    said = [shown(text, rule, local, values) for text in findings.warnings]
    plain = {item.name: getattr(findings, item.name) for item in fields(StudyFindings)}
    return StudyReport(**plain | {
        "variables": tuple(part.shown() for part in parts),
        "warnings": tuple(dict.fromkeys(said)), "rule": rule,
    })  # fmt: skip


def disclosed_estimates(frame: pd.DataFrame, groups: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """One table of estimates as it may be shown, without the rest of a study.

    Parameters
    ----------
    frame : DataFrame
        From ``RelativePrevalence.to_frame``.
    groups : DataFrame
        Columns group, n and n_diagnosed of all groups; patients and patients_diagnosed where known.
    rule : Rule
        What to hide.

    Returns
    -------
    DataFrame
        A copy; hidden values are missing.

    Examples
    --------
    >>> table = pd.DataFrame({"group": ["a", "b", "c"], "versus": "complement",
    ...                       "observed_ratio": [1.0, 2.0, 0.5], "n": [500, 400, 300],
    ...                       "n_diagnosed": [40, 20, 3]})
    >>> disclosed_estimates(table, table, Rule())["observed_ratio"].tolist()
    [1.0, nan, nan]
    """
    steps = pd.DataFrame({"step": [], "visits": [], "patients": []})
    found = VariableFindings("", {"": frame}, steps, (), pd.DataFrame(), groups=groups)
    report = disclosed(StudyFindings("", "", "", "", (found,), {}), rule)
    return report.variables[0].main


@dataclass(frozen=True)
class _Variable:
    """One group variable, and what to hide of it."""

    names: VariableCells
    cells: Cells
    hidden: set[Cell]
    rule: Rule
    variables: tuple[str, ...] = ()

    @property
    def found(self) -> VariableFindings:
        return self.names.found

    @property
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

    @property
    def values(self) -> set[float]:
        """Values of the hidden cells, in visits and in people."""
        return _values(self.cells, self.hidden)

    def shown(self) -> VariableFindings:
        found, words = self.found, (self.rule, self.local, self.values)
        return replace(
            found,
            estimates={name: self._estimates(table) for name, table in found.estimates.items()},
            attrition=self._attrition(),
            checks=tuple(self._check(check) for check in found.checks),
            symptoms=self._table("symptoms", found.symptoms, SYMPTOMS),
            left_out={group: shown(why, *words) for group, why in found.left_out.items()},
            groups=self._table("", found.counts[["group", *COUNTS]], ESTIMATES),
            characteristics=self._characteristics(),
            analyses=tuple(self._analysis(one) for one in found.analyses),
        )

    # -- estimates and attrition -----------------------------------------------------------

    def _estimates(self, frame: pd.DataFrame) -> pd.DataFrame:
        table = frame[[name for name in frame if name in ESTIMATES]].reset_index(drop=True)
        own, against = (self._touched(table[side]) for side in ("group", "versus"))
        totals = any(cell in self.hidden for cell in self.names.totals.values())
        everyone_else = table["versus"] == COMPLEMENT
        if len(self.names.counts) < 3:  # the complement of a group is the other one
            against |= everyone_else & bool(self._touched(self.names.counts["group"]).any())
        where = dict.fromkeys(RATIOS, own | against | (everyone_else & totals))
        where |= dict.fromkeys((*JOINT, "p_value"), own | against | self._few_diagnosed)
        for column in COUNTS:
            cell = table["group"].map(lambda group, column=column: self.names.group(column, group))
            where[column] = cell.isin(self.hidden)
        return self._written(table, where, ESTIMATES, self._fewest(table))

    def _touched(self, groups: pd.Series) -> pd.Series:
        """Which groups have a hidden count."""
        touched = {
            group for group in self.names.counts.index for column in COUNTS
            if self.names.group(column, group) in self.hidden
        }  # fmt: skip
        return groups.astype(str).isin(touched)

    @property
    def _few_diagnosed(self) -> bool:
        """Whether the diagnosed of any group are hidden."""
        cells = [self.names.group("n_diagnosed", group) for group in self.names.counts.index]
        return any(cell in self.hidden for cell in cells)

    def _fewest(self, table: pd.DataFrame) -> pd.Series:
        """The smallest count that a row's statistics rest on."""
        diagnosed = self.names.counts["n_diagnosed"]
        sides = [
            table[side].astype(str).map(diagnosed) for side in ("group", "versus") if side in table
        ]
        return pd.concat(sides, axis=1).min(axis=1)

    def _attrition(self) -> pd.DataFrame:
        frame = self.found.attrition[["step", "visits", "patients"]].reset_index(drop=True)
        levels = attrition_levels(frame)
        where = {
            kind: pd.Series([(kind, str(level[k])) in self.hidden for level in levels], dtype=bool)
            for k, kind in enumerate(("visits", "patients"))
        }
        columns = {"step": Column.NAME, "visits": Column.COUNT, "patients": Column.COUNT}
        return self._written(frame, where, columns)

    def _characteristics(self) -> pd.DataFrame | None:
        """Counts for Table 1, with shares that are weighted where there are weights."""
        table = self.found.characteristics
        if table is None:
            return None
        table = table.reset_index(drop=True)
        cells = [self.names.level(row, self.variables) for row in table.to_dict("records")]
        gone = pd.Series([cell in self.hidden for cell in cells], table.index, bool)
        counted = table["weighted"].where(table["weighted"].notna(), table["n"]).astype(float)
        whole = counted.groupby([table["characteristic"], table["among"], table["group"]])
        table = table.assign(share=counted / whole.transform("sum"))[list(CHARACTERISTICS)]
        where = dict.fromkeys(("n", "weighted", "share"), gone)
        return self._written(table, where, CHARACTERISTICS, table["n"])

    def _analysis(self, analysis: Analysis) -> Analysis:
        """Revealing numbers go with any hidden count of their rows, or of those they go with."""
        about = analysis.about
        table = analysis.table[[name for name in analysis.table if name in about.columns]]
        table = table.reset_index(drop=True)
        touched = self._touched(table["group"])
        where: dict[str, pd.Series] = {}
        if "stratum" in table:
            touched = pd.Series(False, table.index)
            for column in set(COUNTS) & set(table):
                pairs = zip(table["stratum"], table["group"], strict=True)
                lost = [self.names.part(column, analysis, *pair) in self.hidden for pair in pairs]
                where[column] = pd.Series(lost, table.index, dtype=bool)
                touched |= where[column]
        elif "versus" in table:
            touched |= self._touched(table["versus"]) | (
                (table["versus"] == COMPLEMENT) & bool(self._touched(self.counts_index).any())
            )
        if about.together and len(table):
            touched = touched.groupby(table[about.together]).transform("any")
        if about.key and bool((touched & table[about.key].astype(bool)).any()):
            touched |= True
        revealing = [name for name in map(str, table) if about.columns[name] is Column.REVEALING]
        where |= dict.fromkeys(revealing, touched)
        words = (self.rule, self.local, self.values)
        return replace(
            analysis, table=self._written(table, where, about.columns, self._fewest(table)),
            words=tuple(as_message(shown(one, *words)) for one in analysis.words),
        )  # fmt: skip

    @property
    def counts_index(self) -> pd.Series:
        """The names of all groups."""
        return pd.Series(self.names.counts.index, dtype=object)

    # -- checks and symptoms ---------------------------------------------------------------

    def _check(self, check: CheckResult) -> CheckResult:
        table = self._table(check.kind, check.table, CHECKS[check.kind].table)
        lost = _lost(check.table, table, "feature" in table)
        statistic, p_value, low, high = (
            np.nan if value in lost else value
            for value in (check.statistic, check.p_value, *check.interval)
        )
        if CHECKS[check.kind].by_cases and self._few_diagnosed:
            p_value = np.nan  # with the statistic it tells the effective cases
        return replace(
            check, table=table, statistic=statistic, p_value=p_value, interval=(low, high),
            effect=as_message(shown(check.effect, self.rule, self.local, self.values | lost)),
        )  # fmt: skip

    def _table(self, kind: str, table: pd.DataFrame, columns: Mapping[str, Column]) -> pd.DataFrame:
        """A table's declared columns, without what is hidden."""
        table = table[[name for name in table if name in columns]].reset_index(drop=True)
        rows = [self.names.row(kind, row, columns) for row in table.to_dict("records")]
        here = pd.Series(
            [any(cell in self.hidden for cell in row.values()) for row in rows], table.index, bool
        )
        touched = here.copy()
        for side in {"group", "versus"} & set(table):
            touched |= self._touched(table[side])
        where: dict[str, pd.Series] = {}
        joint = {*JOINT, "p_value"} if "std_error" in table else set(JOINT)
        for name in map(str, table):
            holds = columns[name]
            if holds is Column.COUNT and "feature" in table:
                where[name] = here
            elif holds is Column.COUNT:
                lost = [name in row and row[name] in self.hidden for row in rows]
                where[name] = pd.Series(lost, table.index, bool)
            elif holds is Column.SHARE:
                where[name] = here | self._share_hidden(table, name)
            elif holds is Column.REVEALING:
                where[name] = touched | (name in (*joint, *TIPS) and self._few_diagnosed)
        middle = CHECKS[kind].interval if kind in KINDS else ""
        written = self._written(table, where, columns, self._row_counts(table, rows), middle)
        if "feature" not in table or not here.any():
            return written
        last = written[here].sort_values("feature", kind="stable")
        return pd.concat([written[~here], last], ignore_index=True)

    def _share_hidden(self, table: pd.DataFrame, name: str) -> pd.Series:
        """Where the people in a share are hidden, or the total it is a share of."""
        if "group" in table:
            cells = table["group"].map(lambda group: self.names.share(name, group))
            return cells.isin(self.hidden)
        total = name == "reach" and self.names.totals["n_diagnosed"] in self.hidden
        return pd.Series(total, index=table.index)

    def _row_counts(self, table: pd.DataFrame, rows: Iterable[Mapping[str, Cell]]) -> pd.Series:
        own = [min((self.cells.known[cell].value for cell in row.values()), default=np.nan)
               for row in rows]  # fmt: skip
        fewest = pd.Series(own, table.index, float)
        return fewest.fillna(self._fewest(table)) if "group" in table else fewest

    def _written(
        self, table: pd.DataFrame, where: Mapping[Any, pd.Series], columns: Mapping[str, Column],
        fewest: pd.Series | None = None, middle: str = "",
    ) -> pd.DataFrame:  # fmt: skip
        """The table with hidden values missing and, where the rule says so, counts rounded.

        ``middle`` is the column that lies between ``ci_low`` and ``ci_high``.
        """
        out = {}
        for name in map(str, table):
            values = table[name]
            if self.rule.round_to and columns[name] is Column.COUNT:
                values = _each(values, self.rule.rounded)
            elif self.rule.round_to and name in where and fewest is not None:
                pairs = zip(values, fewest, strict=True)
                values = pd.Series([self.rule.coarse(*pair) for pair in pairs], table.index)
            whole = pd.api.types.is_integer_dtype(values.dtype) and columns[name] is Column.COUNT
            values = values.astype("Int64") if whole else values
            out[name] = values.mask(where[name].to_numpy()) if name in where else values
        return _in_order(pd.DataFrame(out), middle) if self.rule.round_to else pd.DataFrame(out)


def _values(cells: Cells, hidden: set[Cell]) -> set[float]:
    known = [cells.known[cell] for cell in hidden]
    return {float(one.value) for one in known} | {float(one.people) for one in known}


def _in_order(table: pd.DataFrame, middle: str) -> pd.DataFrame:
    """The table with the ends of intervals on their sides again.

    Ends and middle are rounded to different numbers of digits, and may have changed places.
    """
    for low in [str(name) for name in table if str(name).endswith("_low")]:
        stem = low.removesuffix("_low")
        value = table.get(MIDDLES.get(stem, middle if stem == "ci" else stem))
        if value is not None and f"{stem}_high" in table:
            ends = table[low], table[f"{stem}_high"]
            below, above = ends[0].where(~(ends[0] > value), value), ends[1]
            table = table.assign(
                **{low: below, f"{stem}_high": above.where(~(above < value), value)}
            )
    return table


def _each(counts: pd.Series, change: Callable[[float], float]) -> pd.Series:
    """Change the counts that are known; whole numbers stay whole."""
    changed = counts.map(change, na_action="ignore")
    return changed.astype(counts.dtype) if len(counts) else counts


def _lost(before: pd.DataFrame, after: pd.DataFrame, by_feature: bool) -> set[float]:
    """The hidden numbers of a table, in full and rounded as words might have them."""
    if by_feature:
        after = after.set_index("feature").loc[before["feature"]]
    lost: set[float] = set()
    for name in set(before.select_dtypes("number")):
        values = before[name].to_numpy(float)
        gone = np.isfinite(values)
        if name in after:
            gone &= after[name].isna().to_numpy()
        lost |= set(values[gone]) | {float(round(one)) for one in values[gone] if one >= 10}
    return lost
