"""The results of a whole study as frames, one for every file."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from relprev.report.findings import StudyReport, VariableFindings
from relprev.report.sentences.words import method_name

CHECKS = (
    "variable", "check", "verdict", "statistic", "p_value", "interval_low", "interval_high",
    "effect",
)  # fmt: skip
CHARACTERISTICS = ("characteristic", "level", "among", "group", "n", "share")


def study_frames(report: StudyReport) -> dict[str, pd.DataFrame]:
    """The files' names, and what they hold of all group variables."""
    unknown = pd.DataFrame(columns=list(CHARACTERISTICS))
    checks = [
        (found.name, check.name, str(check.verdict), check.statistic, check.p_value,
         *check.interval, str(check.effect))
        for found in report.variables for check in found.checks
    ]  # fmt: skip

    def of_all(one: Callable[[VariableFindings], pd.DataFrame]) -> pd.DataFrame:
        named = {found.name: one(found) for found in report.variables}
        return pd.concat(named, names=["variable"]).reset_index("variable").reset_index(drop=True)

    return {
        "estimates": of_all(variable_estimates),
        "checks": pd.DataFrame(checks, columns=list(CHECKS)),
        "attrition": of_all(lambda found: report.unit.table(with_excluded(found.attrition))),
        "characteristics": of_all(
            lambda found: unknown if found.characteristics is None else found.characteristics
        ),
        "symptoms": of_all(lambda found: report.unit.table(found.symptoms)),
    }


def variable_estimates(found: VariableFindings) -> pd.DataFrame:
    """The estimates of one variable by all methods."""
    frames = {method_name(name): frame for name, frame in found.estimates.items()}
    return pd.concat(frames, names=["method"]).reset_index("method").reset_index(drop=True)


def with_excluded(attrition: pd.DataFrame) -> pd.DataFrame:
    """The steps, with the visits that each excluded where both levels are shown."""
    visits = attrition["visits"].astype("Int64")
    return attrition.assign(excluded_visits=visits.shift() - visits)
