"""Tables as plain text, for the terminal."""

from __future__ import annotations

import io

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from relprev.disclosure import Rule
from relprev.display import HEADINGS, heading
from relprev.estimates import readable, why_missing
from relprev.report.tables.comparisons import COUNTS, RATIOS, missing_word
from relprev.units import VISIT, Unit

TEXT_COLUMNS = {HEADINGS["group"], HEADINGS["versus"], HEADINGS["note"], "Condition", "Step"}
NARROW, WIDE = 80, 140  # characters of a table on the terminal
LEAST = 8  # characters that a column of text keeps, however wide the others are


def render_text(
    frame: pd.DataFrame, title: str, unit: Unit = VISIT, rule: Rule | None = None
) -> str:
    """Plain-text table of estimates, which says why a value is missing.

    Parameters
    ----------
    frame : DataFrame
        From ``RelativePrevalence.to_frame`` or `disclosed_estimates`.
    title : str
        Printed above the table.
    unit : Unit
        What a row of the data is.
    rule : Rule, optional
        What was hidden; without one, nothing was.

    Returns
    -------
    str
        Only the columns that a reader needs. The reason why there is no estimate is a note.

    Examples
    --------
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> fitted = PURPLE(lambdas=1e-4).fit(gauss_synth((0.5, 0.1), seed=1).cohort)
    >>> text = render_text(fitted.relative_prevalence("b").to_frame(), "By group")
    >>> text.splitlines()[0].strip()
    'By group'
    """
    given = frame["note"].fillna("") if "note" in frame else [""] * len(frame)
    notes = [note or (why_missing(row) if pd.isna(row["estimate"]) else "")
             for note, row in zip(given, frame.to_dict("records"), strict=True)]  # fmt: skip
    texts = readable(frame.assign(note=notes), unit)
    words = dict.fromkeys((*COUNTS, *RATIOS[1:]), missing_word(rule)) | {"estimate": "none"}
    for name in [name for name in words if name in frame]:
        column, gone = heading(name, unit), frame[name].isna().to_numpy()
        texts[column] = texts[column].mask(gone, words[name])
    return print_table(texts, title)


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
