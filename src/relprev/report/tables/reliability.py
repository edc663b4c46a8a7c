"""Numbers of a survey that the National Center for Health Statistics would call unreliable.

Its rule for surveys of health care: an estimate that rests on fewer than 30 records, or whose
relative standard error is above 30%. The relative standard error of a ratio is that of its
logarithm: half the length of the interval on the log scale over the normal quantile.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from statistics import NormalDist
from typing import Any

import pandas as pd

LEAST_RECORDS = 30
LARGEST_ERROR = 0.3
MARK = " *"
UNRELIABLE_TOTAL = (
    f"*: unreliable by the rules of NCHS (fewer than {LEAST_RECORDS} records, or a relative "
    f"standard error above {LARGEST_ERROR:.0%})"
)
UNRELIABLE = (
    f"*: unreliable by the rules of NCHS (fewer than {LEAST_RECORDS} records diagnosed, or a "
    f"relative standard error above {LARGEST_ERROR:.0%})"
)


def is_few(records: float | None) -> bool:
    """Whether a count that is shown is one of few records; none at all is exact.

    Examples
    --------
    >>> is_few(29), is_few(30), is_few(0), is_few(None)
    (True, False, False, False)
    """
    return records is not None and not pd.isna(records) and 0 < records < LEAST_RECORDS


def is_unreliable_total(row: Mapping[Any, Any]) -> bool:
    """Whether a sum of weights that is shown is to be marked; ``row`` is one of Table 1.

    Examples
    --------
    >>> is_unreliable_total({"n": 29}), is_unreliable_total({"n": 90, "relative_error": 0.31})
    (True, True)
    >>> is_unreliable_total({"n": 90, "relative_error": 0.29}), is_unreliable_total({"n": None})
    (False, False)
    """
    if row["n"] is None or pd.isna(row["n"]):
        return False
    return is_few(row["n"]) or bool(row.get("relative_error", 0.0) > LARGEST_ERROR)


def unreliable(
    frame: pd.DataFrame, intervals: Mapping[str, tuple[str, str]], level: float
) -> frozenset[tuple[int, str]]:
    """Cells of a table of estimates to be marked, by the row's position and the column.

    Examples
    --------
    >>> frame = pd.DataFrame({"estimate": [1.2, 1.2, 1.2], "ci_low": [1.1, 1.1, 0.5],
    ...                       "ci_high": [1.3, 1.3, 2.9], "n_diagnosed": [400, 20, 400]})
    >>> sorted(unreliable(frame, {"estimate": ("ci_low", "ci_high")}, 0.95))
    [(1, 'estimate'), (1, 'n_diagnosed'), (2, 'estimate')]
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    marked = set()
    for k, row in enumerate(frame.to_dict("records")):
        few = is_few(row.get("n_diagnosed"))
        marked |= {(k, "n_diagnosed")} if few else set()
        for name, ends in intervals.items():
            low, high = (row.get(end) for end in ends)
            if low is None or high is None or pd.isna(low) or pd.isna(high):
                continue
            if few or log(high / low) / (2 * z) > LARGEST_ERROR:
                marked.add((k, name))
    return frozenset(marked)
