"""Results as tables: on the terminal, in the page, and in files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from relprev.display import HEADINGS, cell, heading, with_interval
from relprev.estimates import readable, versus_words

TEXT_COLUMNS = {HEADINGS["group"], HEADINGS["versus"]}
NUMBER = "number"
TEXT = "text"


@dataclass(frozen=True)
class ReportTable:
    """A table to be read, sorted and copied.

    Parameters
    ----------
    name : str
        Of its files.
    caption : str
    frame : DataFrame
        The numbers in full, for the CSV file.
    columns : tuple of str
        The columns people read, in order. Default: all.
    intervals : mapping of column to (low, high) columns
        Shown together with the column.
    level : float
        Of the intervals.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    columns: tuple[str, ...] = ()
    intervals: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    level: float = 0.95

    @property
    def _shown(self) -> list[str]:
        columns = self.columns or tuple(str(name) for name in self.frame)
        merged = {name for pair in self.intervals.values() for name in pair}
        return [name for name in columns if name in self.frame and name not in merged]

    @property
    def headings(self) -> list[tuple[str, str]]:
        """Words and "number" or "text" of every column shown."""
        return [(self._heading(name), self._kind(name)) for name in self._shown]

    def rows(self) -> Iterator[list[tuple[str, str]]]:
        """Text and sorting key of every cell."""
        for row in self.frame.to_dict("records"):
            cells = []
            for name in self._shown:
                value: Any = versus_words(row[name]) if name == "versus" else row[name]
                text = cell(value, name)
                if name in self.intervals:
                    low, high = self.intervals[name]
                    text = with_interval(value, row[low], row[high])
                blank = not isinstance(value, str) and pd.isna(value)
                number = self._kind(name) == NUMBER and not blank
                cells.append((text, repr(float(value)) if number else "" if blank else text))
            yield cells

    def texts(self) -> pd.DataFrame:
        """The table as people read it."""
        rows = [[text for text, _ in row] for row in self.rows()]
        return pd.DataFrame(rows, columns=[words for words, _ in self.headings])

    def to_csv(self) -> bytes:
        """The numbers in full."""
        return self.frame.to_csv(index=False, lineterminator="\n").encode()

    def to_latex(self) -> bytes:
        """For a paper; needs the booktabs package."""
        text = self.texts().to_latex(
            index=False, escape=True, caption=_escaped(self.caption), label=f"tab:{self.name}"
        )
        return text.encode()

    def _heading(self, name: str) -> str:
        if name not in self.intervals:
            return heading(name)
        low = self.intervals[name][0]
        has_interval = self.frame[low].notna().any()
        return f"{heading(name)} ({self.level:.0%} CI)" if has_interval else heading(name)

    def _kind(self, name: str) -> str:
        kind = self.frame[name].dtype
        counted = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        return NUMBER if counted else TEXT


def _escaped(text: str) -> str:
    """Text for LaTeX, by the rules pandas uses for cells."""
    frame = pd.DataFrame({"x": [text]}).style.format(escape="latex").hide().hide(axis="columns")
    return frame.to_latex().split("\n")[1].removesuffix(r" \\")


def render_text(frame: pd.DataFrame, title: str, width: int = 110) -> str:
    """Plain-text table of the columns a reader needs; hidden or missing values as a dash."""
    table = Table(title=title, title_justify="left", title_style="bold")
    texts = readable(frame)
    for name in texts:
        table.add_column(str(name), justify="left" if name in TEXT_COLUMNS else "right")
    for row in texts.itertuples(index=False):
        table.add_row(*row)
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(table, markup=False)
    return str(console.file.getvalue())  # type: ignore[attr-defined]
