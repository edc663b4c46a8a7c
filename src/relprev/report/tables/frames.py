"""The results of a whole study as frames, one for every file."""

from __future__ import annotations

import pandas as pd

from relprev.report.findings import StudyReport, VariableFindings
from relprev.report.sentences.words import method_name

CHECKS_FILE = (
    "variable", "check", "verdict", "statistic", "p_value", "interval_low", "interval_high",
    "effect",
)  # fmt: skip


def estimates_frame(report: StudyReport) -> pd.DataFrame:
    """All estimates: variable, method and the columns of the results."""
    return _by_variable(report, [variable_estimates(found) for found in report.variables])


def checks_frame(report: StudyReport) -> pd.DataFrame:
    """One row per check."""
    rows = [
        (found.name, check.name, str(check.verdict), check.statistic, check.p_value,
         *check.interval, str(check.effect))
        for found in report.variables for check in found.checks
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(CHECKS_FILE))


def attrition_frame(report: StudyReport) -> pd.DataFrame:
    """Every step of every variable."""
    return _by_variable(
        report, [report.unit.table(with_excluded(found.attrition)) for found in report.variables]
    )


def characteristics_frame(report: StudyReport) -> pd.DataFrame:
    """The characteristics of every variable's groups, where they are known."""
    empty = pd.DataFrame(columns=["characteristic", "level", "among", "group", "n", "share"])
    frames = [found.characteristics for found in report.variables]
    return _by_variable(report, [empty if frame is None else frame for frame in frames])


def symptoms_frame(report: StudyReport) -> pd.DataFrame:
    """The features that carry the estimates of every variable."""
    return _by_variable(report, [report.unit.table(found.symptoms) for found in report.variables])


def variable_estimates(found: VariableFindings) -> pd.DataFrame:
    """The estimates of one variable by all methods."""
    frames = {method_name(name): frame for name, frame in found.estimates.items()}
    return pd.concat(frames, names=["method"]).reset_index("method").reset_index(drop=True)


def with_excluded(attrition: pd.DataFrame) -> pd.DataFrame:
    """The steps, with the visits that each excluded where both levels are shown."""
    visits = attrition["visits"].astype("Int64")
    return attrition.assign(excluded_visits=visits.shift() - visits)


def _by_variable(report: StudyReport, frames: list[pd.DataFrame]) -> pd.DataFrame:
    named = {found.name: frame for found, frame in zip(report.variables, frames, strict=True)}
    return pd.concat(named, names=["variable"]).reset_index("variable").reset_index(drop=True)
