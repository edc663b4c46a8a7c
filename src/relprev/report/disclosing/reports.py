"""Turn findings into a report of what may be shown.

The counts of a study are one system of cells (`counted`), some of which must be hidden
(`relprev.disclosure`). Tables lose those cells and what would give them away (`tables`), and
messages become text.

Where counts are rounded, shares and revealing statistics have as many digits as rounded counts
would support.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields

import pandas as pd

from relprev.disclosure import Cells, Rule, shown
from relprev.messages import Cell
from relprev.report.disclosing.counted import study_cells
from relprev.report.disclosing.names import VariableCells
from relprev.report.disclosing.tables import VariableTables, hidden_values
from relprev.report.disclosing.together import hidden_together
from relprev.report.findings import StudyFindings, StudyReport, VariableFindings


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
    parts = [VariableTables(one, cells, hidden, rule, named) for one in names]
    local = {cell for part in parts for cell in part.local}
    values = hidden_values(cells, hidden)
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
