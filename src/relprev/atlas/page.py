"""The atlas as one self-contained page, and its files.

Every condition has a section of its own, shown when its link is followed (``:target``), so that
the page also works without a script; the script adds search, sorting and copying. Style and
script of the report are used as they are (`relprev.report.page`), under the same policy: the page
can make no request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.atlas.disclosing import VariableAtlas
from relprev.atlas.result import FOLLOWED
from relprev.atlas.volcano import Volcano, volcano
from relprev.atlas.words import Reading, null_words, reading
from relprev.disclosure import Rule
from relprev.display import cell, with_interval
from relprev.estimates import versus_words
from relprev.report.page.rendering import manifest_text, rendered
from relprev.report.tables.table import Cell, csv_bytes, parquet_bytes
from relprev.report.write import write_files

FOLDER = "relprev.atlas"
STANDS_OUT = 0.05  # largest q-value against the null
PAGE = "atlas.html"


@dataclass(frozen=True, eq=False)
class AtlasReport:
    """What may be shown of the atlases of a study.

    Parameters
    ----------
    title, population, source : str
        In words.
    variables : tuple of VariableAtlas
        From `disclosed_atlas`.
    level : float
        Of the intervals.
    rule : Rule
        What was hidden.
    warnings : tuple of str
        Said while the study ran.
    manifest : mapping
        What is needed to repeat the run.
    """

    title: str
    population: str
    source: str
    variables: tuple[VariableAtlas, ...]
    level: float = 0.95
    rule: Rule = field(default_factory=Rule)
    warnings: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Row:
    """A row of a table: the condition, its anchor, and the other cells."""

    name: str
    words: str
    anchor: str
    stands_out: bool
    cells: list[Cell]
    reading: Reading


HEADINGS = (  # heading, kind, whether its cells hold an interval
    ("Group", "text", False), ("Compared with", "text", False), ("Recorded", "number", False),
    ("Recorded ratio", "number", False), ("Diagnosis-rate ratio", "number", True),
    ("Corrected ratio", "number", True), ("Calibrated by all conditions", "number", True),
    ("AUC", "number", False), ("q, assumptions taken for granted", "number", False),
    ("q, against the other conditions", "number", False), ("Method", "text", False),
)  # fmt: skip


@dataclass(frozen=True)
class _Part:
    """What the page shows of a group variable."""

    name: str
    slug: str
    said: list[str]
    volcanoes: list[Volcano]
    rows: list[_Row]


def render_atlas(report: AtlasReport) -> str:
    """The atlas as one HTML page that needs no other file."""
    anchors: dict[str, str] = {}
    for one in report.variables:
        for name in one.atlas.table["condition"]:
            anchors.setdefault(name, f"condition-{len(anchors) + 1}")
    parts = [_part(one, f"variable-{k + 1}", anchors) for k, one in enumerate(report.variables)]
    details: dict[str, list[tuple[str, _Row]]] = {name: [] for name in anchors}
    for part in parts:
        for row in part.rows:
            details[row.name].append((part.name, row))
    return rendered(
        PAGE, report, FOLDER, parts=parts, details=details, anchors=anchors, headings=HEADINGS,
        level=f"{report.level:.0%}",
    )  # fmt: skip


def write_atlas(report: AtlasReport, folder: str | Path) -> list[Path]:
    """Write page, tables and manifest into a folder, each file whole or not at all."""
    table, nulls = (
        pd.concat([
            getattr(one.atlas, name).assign(variable=one.name) for one in report.variables
        ], ignore_index=True)
        for name in ("table", "nulls")
    )  # fmt: skip
    files = {PAGE: render_atlas(report).encode()}
    for name, frame in (("atlas", table), ("nulls", nulls)):
        frame = frame[["variable", *(one for one in frame if one != "variable")]]
        files[f"{name}.csv"] = csv_bytes(frame)
        files[f"{name}.parquet"] = parquet_bytes(frame.assign(level=report.level))
    files["manifest.json"] = manifest_text(report.manifest).encode()
    return write_files(files, folder)


def _part(one: VariableAtlas, slug: str, anchors: Mapping[str, str]) -> _Part:
    table = one.atlas.table.sort_values("null_p_value", kind="stable")
    nulls = one.atlas.nulls.to_dict("records")
    spreads = {(null["group"], null["versus"]): null for null in nulls}
    rows = [_row(row, anchors, spreads[row["group"], row["versus"]])
            for row in table.to_dict("records")]  # fmt: skip
    drawn = [
        volcano(table[(table["group"] == null["group"]) & (table["versus"] == null["versus"])],
                null, anchors)
        for null in nulls if null["spread"] == null["spread"]
    ]  # fmt: skip
    return _Part(one.name, slug, [null_words(null) for null in nulls], drawn, rows)


def _row(row: Mapping[Any, Any], anchors: Mapping[str, str], null: Mapping[Any, Any]) -> _Row:
    def plain(name: str, kind: str = "") -> Cell:
        value = row[name]
        known = not (isinstance(value, float) and np.isnan(value)) and not pd.isna(value)
        return Cell(cell(value, kind or name), str(value) if known else "")

    def interval(name: str, low: str, high: str) -> Cell:
        values = [row[one] for one in (name, low, high)]
        if pd.isna(values[0]):
            return Cell(cell(None), "")
        return Cell(with_interval(*values), *map(str, values))

    prefix = "robust_" if row["method"] == FOLLOWED else ""
    cells = [
        plain("group"), Cell(versus_words(row["versus"]), versus_words(row["versus"])),
        plain("n_recorded"), plain("observed_ratio"),
        interval(*(f"{prefix}{name}" for name in
                   ("diagnosis_ratio", "diagnosis_ci_low", "diagnosis_ci_high"))),
        interval(*(f"{prefix}{name}" for name in ("estimate", "ci_low", "ci_high"))),
        interval("calibrated", "calibrated_ci_low", "calibrated_ci_high"), plain("auc"),
        plain("q_value", "p_value"), plain("null_q_value", "p_value"),
        Cell(row["method"] or row["withheld"], row["method"] or row["withheld"]),
    ]  # fmt: skip
    name = row["condition"]
    words = row.get("description", "") or ""
    q = row["null_q_value"]
    return _Row(name, words, anchors[name], bool(q <= STANDS_OUT), cells, reading(row, null))
