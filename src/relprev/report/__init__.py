"""What users read: tables, figures, the report and the files they are saved in."""

from relprev.report.content import StudyReport, VariableFindings
from relprev.report.figures import (
    plot_calibration,
    plot_check,
    plot_forest,
    plot_overlap,
    plot_sensitivity,
    plot_symptoms,
)
from relprev.report.output import write_report, write_results
from relprev.report.page import render_page
from relprev.report.suppression import suppress
from relprev.report.tables import render_text

__all__ = [
    "StudyReport",
    "VariableFindings",
    "plot_calibration",
    "plot_check",
    "plot_forest",
    "plot_overlap",
    "plot_sensitivity",
    "plot_symptoms",
    "render_page",
    "render_text",
    "suppress",
    "write_report",
    "write_results",
]
