"""Results as tables, for the terminal, the page and files."""

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
from relprev.report.findings import StudyReport, VariableFindings
from relprev.report.sentences import method_name
from relprev.units import VISIT, Unit

TEXT_COLUMNS = {HEADINGS["group"], HEADINGS["versus"], HEADINGS["note"], "Condition", "Step"}
NARROW, WIDE = 80, 140  # characters of a table on the terminal
LEAST = 8  # characters that a column of text keeps, however wide the others are
NUMBER = "number"
TEXT = "text"
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets run text that begins with these
CHECKS_FILE = (
    "variable", "check", "verdict", "statistic", "p_value", "interval_low", "interval_high",
    "effect",
)  # fmt: skip


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

    ``frame`` holds the numbers in full, ``columns`` names those that people read (default: all).
    ``intervals`` maps a column to its (low, high) columns, of confidence level ``level``. In
    ``instead`` are words for cells that the number alone would leave empty or unclear, by the row's
    position and the column. Files are called ``name``.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    columns: tuple[str, ...] = ()
    intervals: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    level: float = 0.95
    unit: Unit = VISIT
    instead: Mapping[tuple[int, str], str] = field(default_factory=dict)

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
        for place, row in enumerate(self.frame.to_dict("records")):
            cells = []
            for name in self._shown:
                value: Any = versus_words(row[name]) if name == "versus" else row[name]
                if (place, name) in self.instead:
                    cells.append(Cell(self.instead[place, name], _key(value)))
                elif name in self.intervals:
                    low, high = (row[bound] for bound in self.intervals[name])
                    text = with_interval(value, low, high, name)
                    if pd.isna(low) and not pd.isna(value) and self._has_interval(name):
                        text += " (no interval)"
                    cells.append(Cell(text, _key(value), _key(low), _key(high)))
                else:
                    cells.append(Cell(cell(value, name), _key(value)))
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


def estimates_frame(report: StudyReport) -> pd.DataFrame:
    """All estimates: variable, method and the columns of the results."""
    return _by_variable(report, [variable_estimates(found) for found in report.variables])


def checks_frame(report: StudyReport) -> pd.DataFrame:
    """One row per check."""
    rows = [
        (found.name, check.name, str(check.verdict), check.statistic, check.p_value,
         *check.interval, str(check.effect))
        for found in report.variables for check in found.checks
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(CHECKS_FILE))


def attrition_frame(report: StudyReport) -> pd.DataFrame:
    """Every step of every variable."""
    return _by_variable(
        report, [report.unit.table(with_excluded(found.attrition)) for found in report.variables]
    )


def characteristics_frame(report: StudyReport) -> pd.DataFrame:
    """The characteristics of every variable's groups, where they are known."""
    empty = pd.DataFrame(columns=["characteristic", "level", "among", "group", "n", "share"])
    frames = [found.characteristics for found in report.variables]
    return _by_variable(report, [empty if frame is None else frame for frame in frames])


def symptoms_frame(report: StudyReport) -> pd.DataFrame:
    """The features that carry the estimates of every variable."""
    return _by_variable(report, [report.unit.table(found.symptoms) for found in report.variables])


def variable_estimates(found: VariableFindings) -> pd.DataFrame:
    """The estimates of one variable by all methods."""
    frames = {method_name(name): frame for name, frame in found.estimates.items()}
    return pd.concat(frames, names=["method"]).reset_index("method").reset_index(drop=True)


def with_excluded(attrition: pd.DataFrame) -> pd.DataFrame:
    """The steps, with the visits that each excluded where both levels are shown."""
    visits = attrition["visits"].astype("Int64")
    return attrition.assign(excluded_visits=visits.shift() - visits)


def _by_variable(report: StudyReport, frames: list[pd.DataFrame]) -> pd.DataFrame:
    named = {found.name: frame for found, frame in zip(report.variables, frames, strict=True)}
    return pd.concat(named, names=["variable"]).reset_index("variable").reset_index(drop=True)


# -- the terminal --------------------------------------------------------------------------


def render_text(frame: pd.DataFrame, title: str, unit: Unit = VISIT) -> str:
    """Plain-text table of estimates, with a dash for hidden or missing values.

    Parameters
    ----------
    frame : DataFrame
        From ``RelativePrevalence.to_frame`` or `disclosed_estimates`.
    title : str
        Printed above the table.
    unit : Unit
        What a row of the data is.

    Returns
    -------
    str
        Only the columns that a reader needs.

    Examples
    --------
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> fitted = PURPLE(lambdas=1e-4).fit(gauss_synth((0.5, 0.1), seed=1).cohort)
    >>> text = render_text(fitted.relative_prevalence("b").to_frame(), "By group")
    >>> text.splitlines()[0].strip()
    'By group'
    """
    return print_table(readable(frame, unit), title)


def print_table(texts: pd.DataFrame, title: str | None = None) -> str:
    """Plain-text table. Names of groups and steps may wrap, numbers may not."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for name, cells in texts.items():
        text = name in TEXT_COLUMNS
        longest = max([len(str(name)), *map(len, cells)])
        table.add_column(
            str(name), justify="left" if text else "right", no_wrap=not text,
            min_width=min(longest, LEAST) if text else None,
        )  # fmt: skip
    for row in texts.itertuples(index=False):
        table.add_row(*map(Text, row))
    natural = Console(width=10_000).measure(table).maximum
    console = Console(file=io.StringIO(), width=min(max(natural, NARROW), WIDE), color_system=None)
    console.print(table, markup=False)
    return str(console.file.getvalue())  # type: ignore[attr-defined]
