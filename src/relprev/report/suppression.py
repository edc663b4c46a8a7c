"""Hide counts of 1 to 10 people, and what would give them away.

A group's number of diagnosed, k, can be recovered from more than its own cell:
from the total and the other groups' numbers, and from a ratio of recorded rates
when the number of visits is known. So, if any group has 1 to 10 diagnosed:

- its k is hidden, and so is the k of the group with the next fewest, so that the
  total does not reveal it;
- the recorded ratio and its interval are hidden wherever a group with hidden k
  stands on one side, and so is the diagnosis-rate ratio, because corrected ratio
  times diagnosis-rate ratio is nearly the recorded ratio; likewise the number of
  informative cases and the sentence, which repeat them.

Groups with 1 to 10 visits get the same treatment for n. Zero is shown: nobody is
identified by it.
"""

from __future__ import annotations

import pandas as pd

from relprev.estimates import COMPLEMENT

SMALLEST_SHOWN = 11
COUNTS = ("n", "n_diagnosed")
REVEALING = ("observed_", "diagnosis_", "effective_cases", "sentence")  # starts of column names


def suppress(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy of a results table with small counts and what reveals them set to missing.

    Examples
    --------
    >>> table = pd.DataFrame({
    ...     "group": ["a", "b", "c"], "versus": "complement", "observed_ratio": [1.0, 2.0, 0.5],
    ...     "diagnosis_ratio": [1.0, 1.0, 1.0], "n": [500, 400, 300], "n_diagnosed": [40, 20, 3]})
    >>> suppress(table)["n_diagnosed"].tolist()
    [40, <NA>, <NA>]
    """
    shown = frame.copy()
    hidden: set[str] = set()
    for column in COUNTS:
        per_group = frame.drop_duplicates("group").set_index("group")[column]
        small = _small_groups(per_group)
        shown[column] = shown[column].astype("Int64").mask(shown["group"].isin(small))
        hidden |= small
    if hidden:
        either_side = shown["group"].isin(hidden) | shown["versus"].isin(hidden)
        if len(hidden) < 2:  # the only other group of two: its complement is the hidden group
            either_side |= shown["versus"] == COMPLEMENT
        for column in [str(name) for name in shown if str(name).startswith(REVEALING)]:
            shown[column] = shown[column].mask(either_side)
    return shown


def _small_groups(counts: pd.Series) -> set[str]:
    """Groups whose count must be hidden, one more added if it would stand alone."""
    small = counts[(counts >= 1) & (counts < SMALLEST_SHOWN)]
    names = {str(name) for name in small.index}
    if len(names) == 1:
        rest = counts.drop(small.index)
        rest = rest[rest > 0]
        if len(rest):
            names.add(str(rest.idxmin()))
    return names
