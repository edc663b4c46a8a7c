"""Mean and standard deviation of estimate over truth, for each scenario and method."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from relprev.store.files import written_whole
from relprev.store.versions import PACKAGES

NOT_SETTINGS = (
    "experiment", "method", "seed", "split", "estimate", "truth", "ratio", "seconds", "notes",
    "python", *PACKAGES, "source_digest",
)  # fmt: skip


def settings_of(results: pd.DataFrame) -> list[str]:
    """Columns that describe the scenario."""
    return [name for name in results.columns if name not in NOT_SETTINGS]


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """One row per scenario and method.

    Columns: the settings, ``method``, ``mean`` and ``sd`` of estimate / truth over seeds and
    splits, numbers of estimates (``n``) and of NaN (``n_failed``), and mean CPU ``seconds``.

    Examples
    --------
    >>> results = pd.DataFrame({"rate_b": [0.1, 0.1], "method": ["purple"] * 2,
    ...                         "ratio": [0.9, 1.1], "seconds": [1.0, 3.0]})
    >>> summarise(results).round(3)
       rate_b  method  mean     sd  n  n_failed  seconds
    0     0.1  purple   1.0  0.141  2         0      2.0
    """
    by = results.groupby([*settings_of(results), "method"], sort=False)
    return by.agg(
        mean=("ratio", "mean"),
        sd=("ratio", "std"),
        n=("ratio", "count"),
        n_failed=("ratio", lambda ratio: int(ratio.isna().sum())),
        seconds=("seconds", "mean"),
    ).reset_index()


def as_text(table: pd.DataFrame, settings: list[str]) -> str:
    """The summary as a Markdown table, with one row per scenario and one column per method."""
    pairs = zip(table["mean"], table["sd"], strict=True)
    cells = table.assign(text=[_cell(mean, sd) for mean, sd in pairs])
    wide = cells.pivot_table(
        index=settings, columns="method", values="text", aggfunc="first", sort=False
    )
    names = [*settings, *wide.columns]
    lines = [names, ["---"] * len(names)]
    for index, row in wide.iterrows():
        values = index if isinstance(index, tuple) else (index,)
        lines.append([*(str(value) for value in values), *row.fillna("")])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _cell(mean: float, sd: float) -> str:
    return f"{mean:.3f} ± {sd:.3f}" if sd == sd else f"{mean:.3f}"


def write_summary(results: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """Write ``table.csv`` and ``table.md``; return the table."""
    table = summarise(results)
    with written_whole(folder / "table.csv") as path:
        table.to_csv(path, index=False)
    with written_whole(folder / "table.md") as path:
        path.write_text(as_text(table, settings_of(results)), encoding="utf-8")
    return table
