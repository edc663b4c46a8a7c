"""What readers see: sentences, tables and figures, on a page and in files."""

from relprev.report.disclosed import disclosed, disclosed_estimates
from relprev.report.figures import plot_check, plot_forest, plot_symptoms
from relprev.report.findings import StudyFindings, StudyReport, VariableFindings
from relprev.report.page import render_page
from relprev.report.tables import render_text
from relprev.report.write import write_report, write_results

__all__ = [
    "StudyFindings",
    "StudyReport",
    "VariableFindings",
    "disclosed",
    "disclosed_estimates",
    "plot_check",
    "plot_forest",
    "plot_symptoms",
    "render_page",
    "render_text",
    "write_report",
    "write_results",
]
