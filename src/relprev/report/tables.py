"""Results as a table on the terminal."""

from __future__ import annotations

import io

import pandas as pd
from rich.console import Console
from rich.table import Table

from relprev.estimates import COMPLEMENT

HEADINGS = {
    "group": "Group",
    "versus": "Compared with",
    "observed_ratio": "Recorded ratio",
    "diagnosis_ratio": "Diagnosis-rate ratio",
    "estimate": "Corrected ratio",
    "truth": "Truth",
    "n": "Visits",
    "n_diagnosed": "Diagnosed",
}


def render_text(frame: pd.DataFrame, title: str, width: int = 110) -> str:
    """Plain-text table of the columns a reader needs; hidden or missing values as a dash."""
    table = Table(title=title, title_justify="left", title_style="bold")
    columns = [name for name in HEADINGS if name in frame]
    for name in columns:
        text = name in ("group", "versus")
        table.add_column(HEADINGS[name], justify="left" if text else "right")
    intervals = {"ci_low", "ci_high"} <= set(frame) and frame["ci_low"].notna().any()
    for row in frame.to_dict("records"):
        row["versus"] = versus_words(row["versus"])
        cells = [_cell(row[name]) for name in columns]
        if intervals and pd.notna(row["ci_low"]):
            place = columns.index("estimate")
            cells[place] += f" ({row['ci_low']:.2f} to {row['ci_high']:.2f})"
        table.add_row(*cells)
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(table, markup=False)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def versus_words(versus: str) -> str:
    """What a group is compared with, in words."""
    return "everyone else" if versus == COMPLEMENT else versus


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value
    if pd.isna(value):  # type: ignore[call-overload]
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
