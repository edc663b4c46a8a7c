"""Results as tables, for the terminal, the page and files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from relprev.display import cell, heading, with_interval
from relprev.estimates import versus_words
from relprev.report.tables.reliability import MARK
from relprev.units import VISIT, Unit

NUMBER = "number"
TEXT = "text"
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets run text that begins with these


@dataclass(frozen=True)
class Column:
    """Heading of a column, its kind ("number" or "text"), and whether it has intervals."""

    words: str
    kind: str
    interval: bool


@dataclass(frozen=True)
class Cell:
    """A value as people read it, and in full with its interval; empty where there is none."""

    text: str
    key: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class ReportTable:
    """A table to be read, sorted and copied.

    ``frame`` holds the numbers in full, ``columns`` names those that people read (default: all);
    notes are left out where there are none.
    ``intervals`` maps a column to its (low, high) columns, of confidence level ``level``. In
    ``instead`` are words for cells that the number alone would leave empty or unclear, by the row's
    position and the column; those in ``marked`` get an asterisk. Files are called ``name``.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    columns: tuple[str, ...] = ()
    intervals: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    level: float = 0.95
    unit: Unit = VISIT
    instead: Mapping[tuple[int, str], str] = field(default_factory=dict)
    marked: frozenset[tuple[int, str]] = frozenset()

    @property
    def _shown(self) -> list[str]:
        columns = self.columns or tuple(str(name) for name in self.frame)
        left_out = {name for pair in self.intervals.values() for name in pair}  # merged
        left_out |= {"note"} if "note" in self.frame and blank(self.frame["note"]) else set()
        return [name for name in columns if name in self.frame and name not in left_out]

    @property
    def headings(self) -> list[Column]:
        """The columns shown."""
        return [
            Column(self._heading(name), self._kind(name), self._has_interval(name))
            for name in self._shown
        ]

    def rows(self) -> Iterator[list[Cell]]:
        """The cells of every row."""
        for place, row in enumerate(self.frame.to_dict("records")):
            cells = []
            for name in self._shown:
                value: Any = versus_words(row[name]) if name == "versus" else row[name]
                mark = MARK if (place, name) in self.marked else ""
                if (place, name) in self.instead:
                    cells.append(Cell(self.instead[place, name], _key(value)))
                elif name in self.intervals:
                    low, high = (row[bound] for bound in self.intervals[name])
                    text = with_interval(value, low, high, name)
                    if pd.isna(low) and not pd.isna(value) and self._has_interval(name):
                        text += " (no interval)"
                    cells.append(Cell(text + mark, _key(value), _key(low), _key(high)))
                else:
                    cells.append(Cell(cell(value, name) + mark, _key(value)))
            yield cells

    def texts(self) -> pd.DataFrame:
        """The cells as text, under their headings."""
        rows = [[one.text for one in row] for row in self.rows()]
        return pd.DataFrame(rows, columns=[column.words for column in self.headings])

    def to_csv(self) -> bytes:
        """As CSV, with numbers in full."""
        return csv_bytes(self.frame)

    def to_latex(self) -> bytes:
        """As LaTeX that needs the booktabs package."""
        text = self.texts().to_latex(
            index=False, escape=True, caption=_escaped(self.caption), label=f"tab:{self.name}",
            column_format="".join("r" if one.kind == NUMBER else "l" for one in self.headings),
        )  # fmt: skip
        return text.encode()

    def _heading(self, name: str) -> str:
        more = f" (pointwise {self.level:.0%} CI)" if self._has_interval(name) else ""
        return heading(name, self.unit) + more

    def _has_interval(self, name: str) -> bool:
        return name in self.intervals and bool(self.frame[self.intervals[name][0]].notna().any())

    def _kind(self, name: str) -> str:
        kind = self.frame[name].dtype
        counted = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        return NUMBER if counted else TEXT


def blank(column: pd.Series) -> bool:
    """Whether a column says nothing."""
    return bool((column.isna() | (column.astype(str) == "")).all())


def _key(value: Any) -> str:
    """A value in full."""
    if isinstance(value, str):
        return value
    return "" if pd.isna(value) else str(value)


def _escaped(text: str) -> str:
    """Text for LaTeX, by the rules pandas uses for cells."""
    frame = pd.DataFrame({"x": [text]}).style.format(escape="latex").hide().hide(axis="columns")
    return frame.to_latex().split("\n")[1].removesuffix(r" \\")


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A frame as CSV; text that a spreadsheet would run as a formula gets an apostrophe.

    Examples
    --------
    >>> csv_bytes(pd.DataFrame({"group": ["=1+1", "a"], "ratio": [-1.5, 2.0]}))
    b"group,ratio\\n'=1+1,-1.5\\na,2.0\\n"
    """
    safe = {name: frame[name] if pd.api.types.is_numeric_dtype(frame[name]) else
            frame[name].map(_no_formula) for name in frame}  # fmt: skip
    return pd.DataFrame(safe).to_csv(index=False, lineterminator="\n").encode()


def _no_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


# -- files of a whole study ----------------------------------------------------------------


# -- the terminal --------------------------------------------------------------------------


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """A frame as Parquet, without its index."""
    out = io.BytesIO()
    frame.to_parquet(out, index=False)
    return out.getvalue()
