"""Write the page, tables, figures and manifest into a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from relprev.errors import InvalidInputError
from relprev.report.figures.graphics import FIGURE_FORMATS, figure_bytes
from relprev.report.figures.plots import plot_forest
from relprev.report.figures.style import off_screen
from relprev.report.findings import StudyReport
from relprev.report.page.conditions import ConditionsReport, render_conditions
from relprev.report.page.layout import Layout, lay_out
from relprev.report.page.rendering import manifest_text, render_layout, render_table
from relprev.report.sentences.methods import wrapped
from relprev.report.tables.frames import study_frames
from relprev.report.tables.table import csv_bytes, parquet_bytes
from relprev.report.tables.word import require_docx, word_document
from relprev.store.files import written_whole
from relprev.store.versions import versions

TABLE_FORMATS = ("html", "latex", "docx")
FORMATS = (*FIGURE_FORMATS, *TABLE_FORMATS)


def write_report(
    report: StudyReport, folder: str | Path, formats: Sequence[str] = ()
) -> list[Path]:
    """Write a study's report into a folder.

    Everything is made before anything is written, and each file is written whole or not at all,
    the manifest last. The same report gives the same bytes.

    Parameters
    ----------
    report : StudyReport
        From `disclosed`: everything in it is written.
    folder : path
        Created if missing.
    formats : sequence of "svg", "png", "pdf", "html", "latex" and "docx"
        Of further files: figures as SVG, PNG (300 dpi) or PDF; tables as HTML, LaTeX or one Word
        document. The page has figures and tables of its own, and tables are always written as CSV.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> from dataclasses import replace
    >>> from relprev.study.demo import demo_study
    >>> from relprev.study import CheckOptions, EstimateOptions
    >>> small = replace(demo_study(5_000), estimate=EstimateOptions(methods=("purple",)),
    ...                 checks=CheckOptions(run=()))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_report(small.run(verbose=False).report, folder)
    >>> [file.name for file in files[:3]], files[-1].name
    (['report.html', 'estimates.csv', 'estimates.parquet'], 'manifest.json')
    """
    require_formats(formats)
    return write_files(_files(lay_out(report), formats), folder)


def write_conditions(
    report: ConditionsReport, folder: str | Path, formats: Sequence[str] = ()
) -> None:
    """Write the reports of all conditions into folders of their own, then what compares them.

    Parameters
    ----------
    report : ConditionsReport
    folder : path
    formats : sequence of str
        As in `write_report`.
    """
    folder = Path(folder)
    for one, name in zip(report.each, report.folders, strict=True):
        write_report(one, folder / name, formats)
    frames = {one.condition: study_frames(one)["estimates"] for one in report.each}
    estimates = pd.concat(frames, names=["condition"]).reset_index("condition")
    keys = ["condition", "variable", "group", "versus", "p_adjusted"]
    files = {
        "estimates.csv": csv_bytes(estimates), "estimates.parquet": parquet_bytes(estimates),
        "comparisons.csv": csv_bytes(report.comparisons[
            [*keys[:4], *(name for name in report.comparisons if name not in keys), keys[4]]]),
        "report.html": render_conditions(report).encode(),
        "manifest.json": manifest_text(report.manifest).encode(),
    }  # fmt: skip
    write_files(files, folder)


def require_formats(formats: Sequence[str]) -> None:
    """Fail unless files of these formats can be written."""
    unknown = [kind for kind in formats if kind not in FORMATS]
    if unknown:
        raise InvalidInputError(
            f"formats must be of {', '.join(FORMATS)}, got {', '.join(map(repr, unknown))}"
        )
    if "docx" in formats:
        require_docx()


def write_results(
    frame: pd.DataFrame, out: str | Path, run: dict[str, Any], truth: pd.Series | None = None
) -> list[Path]:
    """Write ``estimates.csv``, ``forest.{svg,png,pdf}`` and ``run.json`` into a folder.

    Each file is written whole or not at all, and the same input gives the same bytes.

    Parameters
    ----------
    frame : DataFrame
        From `disclosed_estimates`: everything in it is written.
    out : path
        Folder, created if missing.
    run : dict
        Settings needed to reproduce the run; versions of packages are added.
    truth : Series, optional
        Known values, for simulated data.

    Returns
    -------
    list of Path
        In the order in which they were written.

    Examples
    --------
    >>> import tempfile
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> fitted = PURPLE(lambdas=1e-4).fit(gauss_synth((0.5, 0.1), seed=1).cohort)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_results(fitted.relative_prevalence("b").to_frame(), folder, {"seed": 1})
    >>> [file.name for file in files]
    ['estimates.csv', 'forest.svg', 'forest.png', 'forest.pdf', 'run.json']
    """
    ax = off_screen(plot_forest(frame, truth))
    files = {"estimates.csv": csv_bytes(frame)}
    files |= {f"forest.{kind}": figure_bytes(ax, kind) for kind in FIGURE_FORMATS}
    files["run.json"] = (json.dumps({**run, "versions": versions()}, indent=2) + "\n").encode()
    return write_files(files, out)


def _files(layout: Layout, formats: Sequence[str]) -> dict[str, bytes]:
    report = layout.report
    frames = study_frames(report)
    files = {
        "report.html": render_layout(layout).encode(),
        "estimates.csv": csv_bytes(frames["estimates"]),
        "estimates.parquet": parquet_bytes(frames.pop("estimates")),
    }
    files |= {f"{name}.csv": csv_bytes(frame) for name, frame in frames.items()}
    files["methods.txt"] = wrapped(layout.methods).encode()
    for figure in layout.figures:
        for kind in FIGURE_FORMATS:
            if kind in formats:
                files[f"figures/{figure.name}.{kind}"] = figure.as_bytes(kind)
    for table in layout.tables:
        files[f"tables/{table.name}.csv"] = table.to_csv()
        if "html" in formats:
            files[f"tables/{table.name}.html"] = render_table(table).encode()
        if "latex" in formats:
            files[f"tables/{table.name}.tex"] = table.to_latex()
    if "docx" in formats:
        files["tables.docx"] = word_document(report.title, layout.tables)
    files["manifest.json"] = manifest_text(report.manifest).encode()
    return files


def write_files(files: Mapping[str, bytes], folder: str | Path) -> list[Path]:
    """Write files into a folder, each whole or not at all, in their order."""
    written = []
    for name, content in files.items():
        target = Path(folder) / name
        with written_whole(target) as path:
            path.write_bytes(content)
        written.append(target)
    return written
