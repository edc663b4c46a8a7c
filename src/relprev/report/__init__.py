"""What readers see: sentences, tables and figures, on a page and in files."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.report.disclosing.reports import disclosed, disclosed_estimates
    from relprev.report.figures.plots import plot_check, plot_forest, plot_symptoms
    from relprev.report.findings import StudyFindings, StudyReport, VariableFindings
    from relprev.report.page.rendering import render_page
    from relprev.report.tables.terminal import render_text
    from relprev.report.write import write_report, write_results
else:
    __getattr__, __dir__ = on_demand(__name__)

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
