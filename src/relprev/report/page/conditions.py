"""One report on several conditions: their answers side by side, and a whole report of each.

Many comparisons find some difference by chance, so p-values are adjusted for all comparisons of
the report by Holm's method. Comparisons whose p-values are hidden count too, as the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from relprev.disclosure import Rule
from relprev.inference.intervals import holm
from relprev.report.figures.graphics import ReportFigure
from relprev.report.figures.plots import plot_forest
from relprev.report.findings import StudyReport
from relprev.report.page.layout import INTERVALS, marks, slugs
from relprev.report.page.rendering import rendered
from relprev.report.sentences.answers import Trust, trust
from relprev.report.tables.comparisons import estimate_texts, once
from relprev.report.tables.table import ReportTable

COLUMNS = (
    "condition", "group", "versus", "estimate", "observed_ratio", "p_value", "p_adjusted", "note",
)  # fmt: skip


@dataclass(frozen=True)
class ConditionsReport:
    """Reports on several conditions of the same data.

    Parameters
    ----------
    title : str
        Title of the report.
    each : tuple of StudyReport
        One per condition, disclosed together.
    """

    title: str
    each: tuple[StudyReport, ...]

    @property
    def rule(self) -> Rule:
        """What was hidden."""
        return self.each[0].rule

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The folder of each condition's own report."""
        return tuple(slugs([one.condition for one in self.each]))

    @cached_property
    def trust(self) -> tuple[Trust, ...]:
        """How far to trust the answer on each condition."""
        return tuple(map(trust, self.each))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of all conditions, each once."""
        return tuple(dict.fromkeys(str(text) for one in self.each for text in one.warnings))

    @property
    def manifest(self) -> dict[str, Any]:
        """What is needed to repeat the run of each condition."""
        return {one.condition: one.manifest for one in self.each}

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Every comparison once, by the method to trust, with p-values adjusted for all of them."""
        frames = [
            once(found).main.assign(condition=one.condition, variable=found.name)
            for one in self.each for found in one.variables
        ]  # fmt: skip
        table = pd.concat(frames, ignore_index=True)
        for name, empty in (("note", ""), ("p_value", np.nan)):
            if name not in table:
                table[name] = empty
        made = table["estimate"].notna()
        p = table["p_value"].where(made).to_numpy(dtype=float)
        holm_p = np.full(len(table), np.nan)
        holm_p[made] = holm(np.where(np.isnan(p[made]), 1.0, p[made]))
        holm_p[np.isnan(p)] = np.nan
        return table.assign(note=table["note"].fillna(""), p_adjusted=holm_p)


def conditions_report(title: str, reports: Sequence[StudyReport]) -> ConditionsReport:
    """The report on all conditions; without a title they are named, with one each report has it."""
    if not title:
        names = ", ".join(one.condition for one in reports)
        return ConditionsReport(f"Relative prevalence of {names}", tuple(reports))
    each = [replace(one, title=f"{title}: {one.condition}") for one in reports]
    return ConditionsReport(title, tuple(each))


def render_conditions(report: ConditionsReport) -> str:
    """The page that compares conditions; links lead to their own reports."""
    names = list(dict.fromkeys(report.comparisons["variable"]))
    parts = [
        (name, slug, _forest(report, name, slug), _table(report, name, slug))
        for name, slug in zip(names, slugs(names), strict=True)
    ]
    return rendered(
        "conditions.html", report, first=report.each[0], parts=parts,
        count=len(report.comparisons), tested=bool(report.comparisons["ci_low"].notna().any()),
        reports=list(zip(report.each, report.folders, report.trust, strict=True)),
    )  # fmt: skip


def _forest(report: ConditionsReport, variable: str, slug: str) -> ReportFigure:
    own = report.comparisons[report.comparisons["variable"] == variable]
    named = own["condition"] + ": " + own["group"].astype(str)
    return ReportFigure(
        f"forest-{slug}", f"Relative prevalence of all conditions by {variable}",
        "Forest plot on a logarithmic axis: corrected ratios of all conditions with their "
        "intervals, and recorded ratios beside them. The table that follows holds the numbers.",
        plot_forest(own.assign(group=named)),
    )  # fmt: skip


def _table(report: ConditionsReport, variable: str, slug: str) -> ReportTable:
    frame = report.comparisons
    frame = frame[frame["variable"] == variable].reset_index(drop=True)
    texts: dict[tuple[int, str], str] = {}
    for one in report.each:
        rows = frame.index[frame["condition"] == one.condition]
        found = next(item for item in one.variables if item.name == variable)
        said = estimate_texts(frame.loc[rows].reset_index(drop=True), found, report.rule)
        texts |= {(int(rows[k]), column): words for (k, column), words in said.items()}
    texts |= {
        (k, "p_adjusted"): words for (k, column), words in texts.items() if column == "p_value"
    }
    first, intervals = report.each[0], {"estimate": INTERVALS["estimate"]}
    marked, note = marks(first, frame, COLUMNS, intervals)
    return ReportTable(
        f"comparisons-{slug}", f"Relative prevalence of all conditions by {variable}{note}", frame,
        COLUMNS, intervals, first.level, first.unit, texts, marked,
    )  # fmt: skip
