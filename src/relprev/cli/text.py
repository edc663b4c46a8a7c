"""Tables on the terminal."""

from __future__ import annotations

import io

import pandas as pd
from rich.console import Console
from rich.table import Table

from relprev.display import cell, heading

WIDTH = 110


def render_frame(frame: pd.DataFrame) -> str:
    """Plain-text table of a whole frame; hidden or missing values as a dash."""
    table = Table()
    for name in frame:
        number = pd.api.types.is_numeric_dtype(frame[name].dtype)
        table.add_column(heading(str(name)), justify="right" if number else "left")
    for row in frame.itertuples(index=False):
        table.add_row(*(cell(value, str(name)) for name, value in zip(frame, row, strict=True)))
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    console.print(table, markup=False)
    return str(console.file.getvalue()).rstrip()  # type: ignore[attr-defined]
