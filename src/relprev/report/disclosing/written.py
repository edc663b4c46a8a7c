"""Write a table without what is hidden, and with as many digits as rounded counts support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from relprev.arrays import FloatArray
from relprev.disclosure import Column, Rule

MIDDLES = {"observed_ci": "observed_ratio", "diagnosis_ci": "diagnosis_ratio"}  # of intervals


def written(
    table: pd.DataFrame, hidden: Mapping[Any, pd.Series], columns: Mapping[str, Column], rule: Rule,
    fewest: pd.Series | None = None, middle: str = "",
) -> pd.DataFrame:  # fmt: skip
    """The table with hidden values missing and, where the rule says so, counts rounded.

    Parameters
    ----------
    table : DataFrame
    hidden : mapping of column to Series of bool
        Where a column is hidden.
    columns : mapping of column to Column
        What the columns hold.
    rule : Rule
    fewest : Series, optional
        The smallest count that a row's statistics rest on.
    middle : str
        The column that lies between ``ci_low`` and ``ci_high``.
    """
    out = {}
    for name in map(str, table):
        values = table[name]
        is_count = columns[name] is Column.COUNT
        if rule.round_to and is_count:
            if len(values):  # those that are known; whole numbers stay whole
                values = values.map(rule.rounded, na_action="ignore").astype(values.dtype)
        elif rule.round_to and name in hidden and fewest is not None:
            pairs = zip(values, fewest, strict=True)
            values = pd.Series([rule.coarse(*pair) for pair in pairs], table.index)
        if is_count and pd.api.types.is_integer_dtype(values.dtype):
            values = values.astype("Int64")
        out[name] = values.mask(hidden[name].to_numpy()) if name in hidden else values
    return _in_order(pd.DataFrame(out), middle) if rule.round_to else pd.DataFrame(out)


def _in_order(table: pd.DataFrame, middle: str) -> pd.DataFrame:
    """The table with the ends of intervals on their sides again.

    Ends and middle are rounded to different numbers of digits, and may have changed places.
    """
    for low in [str(name) for name in table if str(name).endswith("_low")]:
        stem = low.removesuffix("_low")
        high = f"{stem}_high"
        value = table.get(MIDDLES.get(stem, middle if stem == "ci" else stem))
        if value is not None and high in table:
            below, above = table[low], table[high]
            table = table.assign(
                **{low: below.where(~(below > value), value),
                   high: above.where(~(above < value), value)}
            )  # fmt: skip
    return table


def lost_numbers(before: pd.DataFrame, after: pd.DataFrame) -> set[float]:
    """The hidden numbers of a table, in full and rounded as words might have them."""
    lost: set[float] = set()
    for values, now in _numbers(before, after):
        gone = np.isfinite(values) & np.isnan(now)
        lost |= set(values[gone]) | {float(round(one)) for one in values[gone] if one >= 10}
    return lost


def shown_numbers(before: pd.DataFrame, after: pd.DataFrame) -> dict[float, float]:
    """The numbers of a table that are shown, as they were and as the finest of them are."""
    shown: dict[float, float] = {}
    for values, now in _numbers(before, after):
        there = np.isfinite(values) & np.isfinite(now)
        for value, rounded in zip(values[there].tolist(), now[there].tolist(), strict=True):
            if abs(rounded - value) <= abs(shown.get(value, np.inf) - value):  # of several rows
                shown[value] = rounded
    return shown


def _numbers(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Every column of numbers before and after, NaN where it is not shown."""
    if "feature" in after:  # rows with hidden counts come last
        after = after.set_index("feature").loc[before["feature"]]
    for name in map(str, before.select_dtypes("number")):
        values: FloatArray = before[name].to_numpy(float)
        now: FloatArray = np.full(len(values), np.nan)
        if name in after:
            now = after[name].to_numpy(float, na_value=np.nan)
        yield values, now
