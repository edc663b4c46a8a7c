"""What users read: tables, figures and the files they are saved in."""

from relprev.report.figures import plot_forest
from relprev.report.output import write_results
from relprev.report.suppression import suppress
from relprev.report.tables import render_text

__all__ = ["plot_forest", "render_text", "suppress", "write_results"]
