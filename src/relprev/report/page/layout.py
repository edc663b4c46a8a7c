"""Lay out a report: which tables, figures and words each part has."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from relprev.checks.check import CheckResult
from relprev.checks.controls import CONDITION
from relprev.checks.registry import CHECKS
from relprev.disclosure import Column
from relprev.display import cell
from relprev.errors import InvalidInputError
from relprev.estimates import versus_words
from relprev.report.analyses import Analysis
from relprev.report.figures.flow import Step, plot_flow, shared_steps
from relprev.report.figures.graphics import ReportFigure
from relprev.report.figures.plots import plot_check, plot_forest, plot_symptoms
from relprev.report.findings import StudyReport, VariableFindings
from relprev.report.sentences.answers import Answer, Trust, answer, trust
from relprev.report.sentences.methods import methods_text
from relprev.report.sentences.words import feature_words, method_name, size_words
from relprev.report.tables.characteristics import table_one
from relprev.report.tables.checklist import checklist
from relprev.report.tables.comparisons import (
    analysis_texts,
    count_texts,
    estimate_texts,
    once,
    reference_first,
    with_absent,
)
from relprev.report.tables.frames import variable_estimates, with_excluded
from relprev.report.tables.reliability import UNRELIABLE, unreliable
from relprev.report.tables.table import ReportTable, blank
from relprev.units import Unit

ESTIMATES = (
    "group", "versus", "method", "estimate", "split_sd", "observed_ratio", "p_value", "n",
    "n_diagnosed", "note",
)  # fmt: skip
DECOMPOSITION = ("group", "versus", "estimate", "observed_ratio", "diagnosis_ratio", "note")
INTERVALS = {
    "estimate": ("ci_low", "ci_high"),
    "observed_ratio": ("observed_ci_low", "observed_ci_high"),
    "diagnosis_ratio": ("diagnosis_ci_low", "diagnosis_ci_high"),
}
SHOWN_SYMPTOMS = 15  # in the figure


@dataclass(frozen=True)
class CheckPart:
    """A check with its explanation, picture and numbers."""

    check: CheckResult
    name: str
    explained: str
    figure: ReportFigure
    table: ReportTable

    @property
    def p_value(self) -> str:
        """The p-value in words; empty for a check that is not a test."""
        p = self.check.p_value
        return "" if pd.isna(p) else f"p {cell(p, 'p_value')}".replace("p 0", "p = 0")


@dataclass(frozen=True)
class AnalysisPart:
    """An analysis beside the estimates, with its explanation, words and numbers."""

    title: str
    explained: str
    words: tuple[str, ...]
    table: ReportTable


@dataclass(frozen=True)
class VariablePart:
    """Everything the report says about one group variable."""

    name: str
    slug: str
    found: VariableFindings
    answer: Answer
    forest: ReportFigure
    estimates: ReportTable
    decomposition: ReportTable
    checks: tuple[CheckPart, ...]
    sensitivity: tuple[CheckPart, ...]
    steps: tuple[Step, ...]
    who: ReportTable | None
    attrition: ReportTable
    symptoms: ReportTable
    weights: ReportFigure | None
    analyses: tuple[AnalysisPart, ...] = ()

    @property
    def size(self) -> str:
        """Visits and patients analysed, in words."""
        return self.steps[-1].left if self.steps else ""

    @property
    def unanswered(self) -> str:
        """Why no comparison has an answer that something could overturn; empty if one has."""
        notes = self.found.main["note"].fillna("") if "note" in self.found.main else [""]
        return str(next(iter(notes))) if all(notes) else ""

    @property
    def is_calibrated(self) -> bool:
        """Whether the answer is calibrated; what could overturn it starts before calibration."""
        return next(iter(self.found.estimates)) == "calibrated"

    @property
    def multiplies_out(self) -> bool:
        """Whether the decomposition is exact. PURPLE's is exact only for its fitted rates."""
        frame = self.decomposition.frame.dropna(subset=["diagnosis_ratio"])
        gap = np.log(frame["diagnosis_ratio"] * frame["estimate"] / frame["observed_ratio"])
        return not bool((np.abs(gap) > 0.005).any())

    @property
    def figures(self) -> Iterator[ReportFigure]:
        yield self.forest
        yield from (part.figure for part in self.checks + self.sensitivity)
        if self.weights is not None:
            yield self.weights

    @property
    def tables(self) -> Iterator[ReportTable]:
        if self.who is not None:
            yield self.who
        yield from (self.estimates, self.decomposition)
        yield from (part.table for part in self.checks + self.sensitivity)
        yield from (part.table for part in self.analyses)
        yield from (self.attrition, self.symptoms)


@dataclass(frozen=True)
class Layout:
    """A whole report."""

    report: StudyReport
    variables: tuple[VariablePart, ...]
    trust: Trust
    methods: str
    flow: ReportFigure | None
    checklist: ReportTable

    @property
    def figures(self) -> list[ReportFigure]:
        own = [figure for part in self.variables for figure in part.figures]
        return own if self.flow is None else [*own, self.flow]

    @property
    def shared_steps(self) -> tuple[Step, ...]:
        """The steps that all variables begin with."""
        return self.variables[0].steps[: shared_steps([part.steps for part in self.variables])]

    def own_steps(self, part: VariablePart) -> tuple[Step, ...]:
        """The steps that follow for one variable."""
        return part.steps[len(self.shared_steps) :]

    @property
    def tables(self) -> list[ReportTable]:
        own = [table for part in self.variables for table in part.tables]
        return [*own, self.checklist]

    @property
    def overview(self) -> dict[str, list[CheckPart | None]]:
        """Every check's part of each variable."""
        found = [
            {part.name.removeprefix(f"check-{variable.slug}-"): part for part in variable.checks}
            for variable in self.variables
        ]
        kinds = dict.fromkeys(kind for parts in found for kind in parts)
        return {kind: [parts.get(kind) for parts in found] for kind in kinds}

    @property
    def tests(self) -> int:
        """Number of checks that are formal tests, which may raise a concern by chance."""
        parts = [part for variable in self.variables for part in variable.checks]
        return sum(not pd.isna(part.check.p_value) for part in parts)


def lay_out(report: StudyReport) -> Layout:
    """The tables, figures and words of a report; findings not yet disclosed are refused."""
    if not isinstance(report, StudyReport):
        raise InvalidInputError(
            f"report must be a StudyReport, got {type(report).__name__}; relprev.report.disclosed "
            "makes one from findings"
        )
    if not report.variables:
        raise InvalidInputError("the report has no group variable; expected at least one")
    names = [found.name for found in report.variables]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"the report has two group variables of the same name: {names}")
    for found in report.variables:
        if not any(len(frame) for frame in found.estimates.values()):
            raise InvalidInputError(f"the report has no estimates by {found.name}")
    shown = replace(report, variables=tuple(map(once, report.variables)))
    parts = tuple(
        _variable(shown, found, slug)
        for found, slug in zip(shown.variables, slugs(names), strict=True)
    )
    return Layout(
        report, parts, trust(report), methods_text(shown), _flow(parts), checklist(report)
    )


def _variable(report: StudyReport, found: VariableFindings, slug: str) -> VariablePart:
    checks = [check for check in found.checks if CHECKS[check.kind].assumption]
    bands = [check for check in found.checks if not CHECKS[check.kind].assumption]
    estimates, decomposition = _estimate_tables(report, found, slug)
    attrition, symptoms = with_excluded(found.attrition), report.unit.table(found.symptoms)
    named = list(dict.fromkeys(one.name for one in found.analyses))
    own = dict(zip(named, slugs(named), strict=True))
    return VariablePart(
        name=found.name,
        slug=slug,
        found=found,
        answer=answer(report, found),
        forest=_forest(found, slug),
        estimates=estimates,
        decomposition=decomposition,
        checks=tuple(
            _check(report, found.name, check, f"check-{slug}-{kind}")
            for check, kind in zip(checks, slugs([c.kind for c in checks]), strict=True)
        ),
        sensitivity=tuple(
            _check(report, found.name, check, f"sensitivity-{slug}-{k}")
            for k, check in enumerate(bands, 1)
        ),
        steps=tuple(_step(row, report.unit) for row in attrition.to_dict("records")),
        who=table_one(report, found, slug),
        attrition=ReportTable(
            f"attrition-{slug}", f"Attrition by {found.name}", report.unit.table(attrition)
        ),
        symptoms=ReportTable(
            f"symptoms-{slug}",
            f"Features that carry the estimate by {found.name}",
            symptoms,
            tuple(str(name) for name in symptoms if not blank(symptoms[name])),
        ),
        weights=_weights(found, slug),
        analyses=tuple(
            _analysis(report, found, one, f"{one.kind}-{slug}-{own[one.name]}")
            for one in found.analyses
        ),
    )  # fmt: skip


def _estimate_tables(
    report: StudyReport, found: VariableFindings, slug: str
) -> tuple[ReportTable, ReportTable]:
    """The estimates by all methods, and the decomposition by the main one."""
    frame = variable_estimates(found)
    contrast = frame.groupby(["group", "versus"], sort=False).ngroup()
    frame = frame.loc[contrast.sort_values(kind="stable").index]  # methods side by side
    others = frame["versus"].unique()
    against = f", versus {versus_words(others[0])}" if len(others) == 1 else ""
    same = {name for name in ("versus", "method") if frame[name].nunique() == 1}
    main = with_absent(frame[frame["method"] == frame["method"].iloc[0]], found)
    frame = with_absent(frame, found)
    intervals = {name: ends for name, ends in INTERVALS.items() if set(ends) <= set(frame)}

    def table(
        name: str, caption: str, rows: pd.DataFrame, columns: Sequence[str],
        intervals: Mapping[str, tuple[str, str]],
    ) -> ReportTable:  # fmt: skip
        shown = tuple(one for one in columns if one not in same)
        marked, note = marks(report, rows, shown, intervals)
        return ReportTable(
            f"{name}-{slug}", f"{caption} by {found.name}{against}{note}", rows, shown, intervals,
            report.level, report.unit, estimate_texts(rows, found, report.rule), marked,
        )  # fmt: skip

    whole = f"Relative prevalence of {report.condition}"
    product = "Recorded ratio = diagnosis-rate ratio × corrected ratio,"
    return (
        table("estimates", whole, frame, ESTIMATES, {"estimate": INTERVALS["estimate"]}),
        table("decomposition", product, main, DECOMPOSITION, intervals),
    )


def marks(
    report: StudyReport, rows: pd.DataFrame, shown: Sequence[str],
    intervals: Mapping[str, tuple[str, str]],
) -> tuple[frozenset[tuple[int, str]], str]:  # fmt: skip
    """The unreliable numbers of a survey, and what a caption says of them."""
    marked = unreliable(rows, intervals, report.level) if report.weighted else frozenset()
    return marked, f"; {UNRELIABLE}" if any(one in shown for _, one in marked) else ""


def _flow(parts: Sequence[VariablePart]) -> ReportFigure | None:
    flows = [part.steps for part in parts]
    count = shared_steps(flows)
    if not any(flows):
        return None
    own = {part.name: part.steps[count:] for part in parts}
    return ReportFigure(
        "flow", "Who was left out", "Boxes from top to bottom: how many were left after each step.",
        plot_flow(flows[0][:count], own),
    )  # fmt: skip


def _forest(found: VariableFindings, slug: str) -> ReportFigure:
    estimates = {method_name(name): frame for name, frame in found.estimates.items()}
    return ReportFigure(
        f"forest-{slug}", f"Relative prevalence by {found.name}",
        "Forest plot on a logarithmic axis: corrected ratios with their intervals, and recorded "
        "ratios beside them. The table that follows holds the same numbers.",
        plot_forest(estimates),
    )  # fmt: skip


def _weights(found: VariableFindings, slug: str) -> ReportFigure | None:
    known = found.symptoms.dropna(subset=["weight"]) if len(found.symptoms) else found.symptoms
    if known.empty:
        return None
    return ReportFigure(
        f"symptoms-{slug}", f"Features that carry the estimate by {found.name}",
        "Bars of the strongest features' weights. The table that follows holds the numbers.",
        plot_symptoms(known.head(SHOWN_SYMPTOMS)),
    )  # fmt: skip


def _check(report: StudyReport, variable: str, check: CheckResult, name: str) -> CheckPart:
    about = CHECKS[check.kind]
    intervals = {about.interval: ("ci_low", "ci_high")} if about.interval else {}
    title = f"{check.name}, by {variable}"
    counts = [name for name, holds in about.table.items() if holds is Column.COUNT]
    gone = count_texts(check.table, counts, report.rule)
    if "control" in check.table:  # the condition's counts stand with the estimates, not hidden
        own = np.flatnonzero(check.table["control"] == CONDITION)
        gone = {place: text for place, text in gone.items() if place[0] not in own}
    drawn = check
    if "feature" in check.table:
        words = [feature_words(one, report.descriptions.get(one, ""))
                 for one in check.table["feature"].astype(str)]  # fmt: skip
        gone |= {(k, "feature"): text for k, text in enumerate(words)}
        drawn = replace(check, table=check.table.assign(feature=words))
    description = f"{check.effect} The table that follows holds the same numbers."
    return CheckPart(
        check,
        name,
        about.explained,
        ReportFigure(name, title, description, plot_check(drawn)),
        ReportTable(
            name, title, check.table, about.columns, intervals, report.level, report.unit, gone
        ),
    )


def _analysis(
    report: StudyReport, found: VariableFindings, analysis: Analysis, name: str
) -> AnalysisPart:
    about, frame = analysis.about, reference_first(analysis.table)
    others = [one for one in frame.get("versus", pd.Series(dtype=str)).unique() if one]
    against = f", versus {versus_words(others[0])}" if len(others) == 1 else ""
    title = f"{about.title}, by {found.name}: {analysis.name}"
    known = {key: ends for key, ends in about.intervals.items() if {*ends} <= {*frame}}
    left_out = {"note", *(["versus"] if against else [])}  # said in cells and in the caption
    columns = tuple(one for one in about.columns if one not in left_out)
    marked, note = marks(report, frame, columns, known)
    hides = (Column.COUNT, Column.REVEALING)
    gone = [one for one, holds in about.columns.items() if holds in hides]
    table = ReportTable(name, f"{title}{against}{note}", frame, columns, known, report.level,
                        report.unit, analysis_texts(frame, gone, report.rule), marked)  # fmt: skip
    words = tuple(str(one.about(report.unit)) for one in analysis.words)
    return AnalysisPart(title, about.explained, words, table)


def _step(row: dict[Hashable, Any], unit: Unit) -> Step:
    left, excluded = row["visits"], row["excluded_visits"]
    return Step(
        str(row["step"]),
        "" if pd.isna(left) else size_words(unit, left, row["patients"]),
        "" if pd.isna(excluded) or not excluded else f"{cell(excluded)} {unit.plural} excluded",
    )


def slugs(names: list[str]) -> list[str]:
    """Distinct names that are safe in file names."""
    out: list[str] = []
    for name in names:
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "groups"
        slug, number = plain, 2
        while slug in out:
            slug, number = f"{plain}-{number}", number + 1
        out.append(slug)
    return out
