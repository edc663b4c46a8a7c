"""Table 1: who is in the data, by group and by diagnosis.

Standardised difference of two shares (Austin, 2009), the largest over the levels of a
characteristic and over pairs of groups, or between the diagnosed and everybody:

    d = |p - q| / sqrt((p (1 - p) + q (1 - q)) / 2)

Shares are weighted where the source has sampling weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from relprev.cohort.characteristics import ALL, DIAGNOSED, GROUP
from relprev.report.findings import StudyReport, VariableFindings
from relprev.report.tables.comparisons import HIDDEN
from relprev.report.tables.reliability import MARK, UNRELIABLE_TOTAL, is_unreliable_total
from relprev.report.tables.table import ReportTable


def standardised_difference(p: float, q: float) -> float:
    """The difference of two shares in units of their standard deviation; NaN where it has none.

    Examples
    --------
    >>> round(standardised_difference(0.5, 0.6), 3), standardised_difference(0.2, 0.2)
    (0.202, 0.0)
    """
    spread = (p * (1 - p) + q * (1 - q)) / 2
    if not spread > 0:
        return 0.0 if p == q else float("nan")
    return float(abs(p - q) / np.sqrt(spread))


def table_one(report: StudyReport, found: VariableFindings, slug: str) -> ReportTable | None:
    """Table 1 of a group variable: a column for everybody, the diagnosed and every group."""
    table = found.characteristics
    if table is None or table.empty:
        return None
    weighted = bool(table["weighted"].notna().any())
    columns = {(ALL, ""): "Everybody", (DIAGNOSED, ""): "Diagnosed"}
    columns |= {(GROUP, group): str(group) for group in found.counts["group"]}
    rows = []
    for characteristic, part in table.groupby("characteristic", sort=False):
        known = {(row["level"], row["among"], row["group"]): row for row in part.to_dict("records")}
        largest = _differences(known)
        for level in part["level"].unique():
            row = {"Characteristic": f"{characteristic}: {level}"}
            for place, heading in columns.items():
                one = known.get((level, *place))
                row[heading] = "0" if one is None else _text(one, weighted)
            rows.append(row | largest)
            largest = dict.fromkeys(largest, "")  # said once for a characteristic
    words = f"{report.unit.plural}, n (%)"
    if weighted:
        words += "; N: sum of sampling weights, which the percentages use"
        marked = any(is_unreliable_total(row) for row in table.to_dict("records"))
        words += f"; {UNRELIABLE_TOTAL}" if marked else ""
    return ReportTable(f"table1-{slug}", f"Who is in the data, by {found.name}: {words}",
                       pd.DataFrame(rows))  # fmt: skip


def _text(row: Mapping[Any, Any], weighted: bool) -> str:
    if pd.isna(row["n"]) or pd.isna(row["share"]):
        return HIDDEN
    text = f"{int(row['n']):,} ({row['share']:.1%})"
    if not weighted:
        return text
    return f"{text}; N {row['weighted']:,.0f}{MARK if is_unreliable_total(row) else ''}"


def _differences(known: Mapping[tuple[Any, ...], Mapping[Any, Any]]) -> dict[str, str]:
    """The largest standardised differences of a characteristic; hidden with any of its shares."""
    levels = dict.fromkeys(level for level, _, _ in known)
    groups = dict.fromkeys(group for _, among, group in known if among == GROUP)
    compared = {
        "Difference of groups": [((GROUP, a), (GROUP, b)) for a, b in combinations(groups, 2)],
        "Of the diagnosed": [((ALL, ""), (DIAGNOSED, ""))],
    }

    def share(level: Any, place: tuple[str, Any]) -> float:
        one = known.get((level, *place))
        return 0.0 if one is None else float("nan" if pd.isna(one["share"]) else one["share"])

    out = {}
    for heading, pairs in compared.items():
        shares = [(share(level, a), share(level, b)) for a, b in pairs for level in levels]
        if np.isnan(shares).any():
            out[heading] = HIDDEN
        else:
            values = [standardised_difference(p, q) for p, q in shares]
            finite = [value for value in values if not np.isnan(value)]
            out[heading] = f"{max(finite):.2f}" if finite else ""
    return out
