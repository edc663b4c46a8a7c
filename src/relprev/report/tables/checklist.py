"""The items of STROBE and RECORD that relprev can fill in, and where the others belong.

STROBE: von Elm et al., 2007; RECORD, its extension to routinely collected data: Benchimol et al.,
2015. Items that only the authors know are listed as such, so that none is forgotten.
"""

from __future__ import annotations

import pandas as pd

from relprev.report.findings import StudyReport
from relprev.report.sentences.words import listed
from relprev.report.tables.table import ReportTable

AUTHORS = "by the authors"


def checklist(report: StudyReport) -> ReportTable:
    """The checklist as a table: item, topic, and what the report says or who must say it."""
    codes = ", ".join(report.condition_codes) or AUTHORS
    rules = "; ".join(report.rules) or AUTHORS
    variables = listed([found.name for found in report.variables])
    weights = "sampling weights" if report.weighted else "no weights"
    checked = any(found.checks for found in report.variables)
    others = ["checks.csv" if checked else "No check was run"]
    others += dict.fromkeys(one.about.title for found in report.variables for one in found.analyses)
    rows = [
        ("1, RECORD 1.1-1.3", "Title and abstract", f"Data: {report.source}; the rest {AUTHORS}"),
        ("2, 3", "Background, objectives", AUTHORS),
        ("4", "Study design", "Cross-sectional comparison of groups, corrected for underdiagnosis"),
        ("5", "Setting", f"{report.source}; places and dates {AUTHORS}"),
        ("6, RECORD 6.1", "Participants: selection", rules),
        ("RECORD 6.2", "Validation of the codes", AUTHORS),
        ("RECORD 6.3", "Flow diagram", "Who was left out (figure flow, attrition.csv)"),
        ("7, RECORD 7.1", "Variables: codes of the condition", codes),
        ("7", "Variables: groups", variables),
        ("8", "Data sources, measurement", report.features or AUTHORS),
        ("9", "Bias", "Different rates of diagnosis: corrected. Assumptions: see Methods"),
        ("10", "Study size", "Numbers of each step: attrition.csv"),
        ("11", "Quantitative variables", "Bands and recodes: manifest.json"),
        ("12", "Statistical methods", f"methods.txt; {weights}"),
        ("RECORD 12.1-12.3", "Access to data, cleaning, linkage", AUTHORS),
        ("13, RECORD 13.1", "Participants", "Flow diagram, attrition.csv"),
        ("14", "Descriptive data", "Table 1 (characteristics.csv), with missing values"),
        ("15", "Outcome data", "Diagnosed of each group: Table of estimates"),
        ("16", "Main results", "Recorded and corrected ratios with intervals: estimates.csv"),
        ("17", "Other analyses", "; ".join(others)),
        ("18-21", "Discussion", f"What limits the answer: first page; the rest {AUTHORS}"),
        ("22", "Funding", AUTHORS),
        ("RECORD 22.1", "Protocol, raw data, code", "Settings, versions and seed: manifest.json"),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["Item", "Topic", "Where, or who"])
    return ReportTable("checklist", "Items of STROBE and RECORD", frame)
