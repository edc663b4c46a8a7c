"""Tables as plain text, for the terminal."""

from __future__ import annotations

import io

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from relprev.display import HEADINGS
from relprev.estimates import readable
from relprev.units import VISIT, Unit

TEXT_COLUMNS = {HEADINGS["group"], HEADINGS["versus"], HEADINGS["note"], "Condition", "Step"}
NARROW, WIDE = 80, 140  # characters of a table on the terminal
LEAST = 8  # characters that a column of text keeps, however wide the others are


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
