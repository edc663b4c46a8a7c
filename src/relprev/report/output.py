"""Write a run's results: table, figure and how to reproduce them."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from relprev.files import written_whole
from relprev.report.figures import plot_forest

FIGURE_FORMATS = ("svg", "png", "pdf")
RECORDED_PACKAGES = ("relprev", "numpy", "scipy", "numba", "scikit-learn")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    return {"python": platform.python_version()} | {
        name: version(name) for name in RECORDED_PACKAGES
    }


def write_results(
    frame: pd.DataFrame, out: str | Path, run: dict[str, Any], truth: pd.Series | None = None
) -> list[Path]:
    """Write ``estimates.csv``, ``forest.{svg,png,pdf}`` and ``run.json`` into a folder.

    Each file is written whole or not at all, and the same input gives the same bytes.

    Parameters
    ----------
    frame : DataFrame
        Results, already suppressed if they are to be.
    out : path
        Folder, made if missing.
    run : dict
        Settings needed to reproduce the run; versions are added.
    truth : Series, optional
        Known values, for simulated data.
    """
    folder = Path(out)
    written = []
    with written_whole(folder / "estimates.csv") as path:
        frame.to_csv(path, index=False)
    written.append(folder / "estimates.csv")
    figure = plot_forest(frame, truth).figure
    for kind in FIGURE_FORMATS:
        target = folder / f"forest.{kind}"
        stamp = {"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else {}
        with written_whole(target) as path:
            figure.savefig(path, dpi=160, metadata=stamp)  # type: ignore[union-attr]
        written.append(target)
    with written_whole(folder / "run.json") as path:
        path.write_text(json.dumps({**run, "versions": versions()}, indent=2) + "\n")
    written.append(folder / "run.json")
    return written
