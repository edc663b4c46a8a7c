"""Results as tables: on the terminal, in the page, and in files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from relprev.display import HEADINGS, cell, heading, with_interval
from relprev.estimates import readable, versus_words

TEXT_COLUMNS = {HEADINGS["group"], HEADINGS["versus"], "Step"}
NARROW, WIDE = 80, 140  # characters of a table on the terminal
NUMBER = "number"
TEXT = "text"


@dataclass(frozen=True)
class Column:
    """Words of a column, "number" or "text", and whether an interval stands with it."""

    words: str
    kind: str
    interval: bool


@dataclass(frozen=True)
class Cell:
    """What people read, and the value (and interval) in full, empty where there is none."""

    text: str
    key: str
    low: str = ""
    high: str = ""


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
    def headings(self) -> list[Column]:
        """The columns shown."""
        return [
            Column(self._heading(name), self._kind(name), self._has_interval(name))
            for name in self._shown
        ]

    def rows(self) -> Iterator[list[Cell]]:
        """The cells of every row."""
        for row in self.frame.to_dict("records"):
            cells = []
            for name in self._shown:
                value: Any = versus_words(row[name]) if name == "versus" else row[name]
                if name in self.intervals:
                    low, high = (row[bound] for bound in self.intervals[name])
                    text = with_interval(value, low, high, name)
                    cells.append(Cell(text, _key(value), _key(low), _key(high)))
                else:
                    cells.append(Cell(cell(value, name), _key(value)))
            yield cells

    def texts(self) -> pd.DataFrame:
        """The table as people read it."""
        rows = [[one.text for one in row] for row in self.rows()]
        return pd.DataFrame(rows, columns=[column.words for column in self.headings])

    def to_csv(self) -> bytes:
        """The numbers in full."""
        return self.frame.to_csv(index=False, lineterminator="\n").encode()

    def to_latex(self) -> bytes:
        """For a paper; needs the booktabs package."""
        text = self.texts().to_latex(
            index=False, escape=True, caption=_escaped(self.caption), label=f"tab:{self.name}",
            column_format="".join("r" if one.kind == NUMBER else "l" for one in self.headings),
        )  # fmt: skip
        return text.encode()

    def _heading(self, name: str) -> str:
        more = f" ({self.level:.0%} CI)" if self._has_interval(name) else ""
        return heading(name) + more

    def _has_interval(self, name: str) -> bool:
        return name in self.intervals and bool(self.frame[self.intervals[name][0]].notna().any())

    def _kind(self, name: str) -> str:
        kind = self.frame[name].dtype
        counted = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        return NUMBER if counted else TEXT


def _key(value: Any) -> str:
    """A value in full."""
    if isinstance(value, str):
        return value
    return "" if pd.isna(value) else str(value)


def _escaped(text: str) -> str:
    """Text for LaTeX, by the rules pandas uses for cells."""
    frame = pd.DataFrame({"x": [text]}).style.format(escape="latex").hide().hide(axis="columns")
    return frame.to_latex().split("\n")[1].removesuffix(r" \\")


def render_text(frame: pd.DataFrame, title: str) -> str:
    """Plain-text table of the columns a reader needs; hidden or missing values as a dash.

    Parameters
    ----------
    frame : DataFrame
        From ``RelativePrevalence.to_frame``, or after `suppress`.
    title : str
        Printed above.

    Returns
    -------
    str
        The table.

    Examples
    --------
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> fitted = PURPLE(lambdas=1e-4).fit(gauss_synth((0.5, 0.1), seed=1).cohort)
    >>> text = render_text(fitted.relative_prevalence("b").to_frame(), "By group")
    >>> text.splitlines()[0].strip()
    'By group'
    """
    return print_table(readable(frame), title)


def print_table(texts: pd.DataFrame, title: str | None = None) -> str:
    """Plain-text table of texts. Names of groups and steps may take several lines, numbers not."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in texts:
        text = name in TEXT_COLUMNS
        table.add_column(str(name), justify="left" if text else "right", no_wrap=not text)
    for row in texts.itertuples(index=False):
        table.add_row(*map(Text, row))
    natural = Console(width=10_000).measure(table).maximum
    console = Console(file=io.StringIO(), width=min(max(natural, NARROW), WIDE), color_system=None)
    console.print(table, markup=False)
    return str(console.file.getvalue())  # type: ignore[attr-defined]
