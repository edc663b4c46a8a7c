"""Hide counts of 1 to 10 people, and what would give them away.

A group's number of diagnosed, k, can be recovered from more than its own cell:
from the total and the other groups' numbers, and from a ratio of recorded rates
when the number of visits is known. So, if any group has 1 to 10 diagnosed:

- its k is hidden, and so is the k of the group with the next fewest, until two or more
  are hidden that together make 11 or more, so that the total does not reveal them;
- the recorded ratio and its interval are hidden wherever a group with hidden k
  stands on one side, and so is the diagnosis-rate ratio, because corrected ratio
  times diagnosis-rate ratio is nearly the recorded ratio; likewise the number of
  informative cases and what it follows from (standard error, p-value, degrees of
  freedom). Estimate and interval stay, and so does the sentence without those numbers;
  it still says if few cases inform the estimate.

Groups with 1 to 10 visits get the same treatment for n. Where patients are known, they
are counted instead of visits: many visits may be of few people. Zero is shown: nobody is
identified by it. `relprev.report.hiding` does the same for a whole report.
"""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from relprev.estimates import COMPLEMENT

SMALLEST_SHOWN = 11
COUNTS = ("n", "n_diagnosed")
PEOPLE = {"n": "patients", "n_diagnosed": "patients_diagnosed"}  # whom the visits are of
REVEALING = (
    "observed_", "diagnosis_", "effective_cases", "degrees_of_freedom", "std_error", "p_value",
    "sentence",
)  # fmt: skip  # starts of column names

FEW_WORDS = "Few cases inform this"
_HEADLINE = re.compile(r"The condition is estimated .+? interval \S+ to [^\s)]+\)\.")
_PEOPLE = r"(?:\w+\s+)?(?:visit|patient|people|person|wom[ae]n|m[ae]n|row|case|diagnos)"
_SMALL_COUNT = re.compile(
    r"(?:only |fewer than |at most )?(?<![\w.,])"
    rf"(?:(?:[1-9]|10)(?![\w.,]?\d)(?=\s+{_PEOPLE})|one(?=\s+(?:\w+\s+)?(?:patient|visit)\b))"
    r"(?!\s+(?:\w+\s+)?\w+ or more)"
)
_ONE_OF_FEW = re.compile(rf"(fewer than {SMALLEST_SHOWN} (?:\w+ )?(?:patient|visit|row|case))\b")
_FOLDS = re.compile(r"\b\d+ folds are used instead of (\d+)")  # as many as a group has patients
_CASES_OF_GROUPS = re.compile(r" \((?:\d+\.\d|effective cases)\)")


def suppress(frame: pd.DataFrame, groups: pd.DataFrame | None = None) -> pd.DataFrame:
    """A copy of a results table with small counts and what reveals them set to missing.

    Parameters
    ----------
    frame : DataFrame
        From ``RelativePrevalence.to_frame``.
    groups : DataFrame, optional
        Columns group, n, n_diagnosed of all groups, if some (such as a reference group) have
        no row of their own; patients, patients_diagnosed where patients are known.

    Returns
    -------
    DataFrame
        Hidden values are missing.

    Examples
    --------
    >>> table = pd.DataFrame({
    ...     "group": ["a", "b", "c"], "versus": "complement", "observed_ratio": [1.0, 2.0, 0.5],
    ...     "diagnosis_ratio": [1.0, 1.0, 1.0], "n": [500, 400, 300], "n_diagnosed": [40, 20, 3]})
    >>> suppress(table)["n_diagnosed"].tolist()
    [40, <NA>, <NA>]
    """
    shown = frame.copy()
    hidden = hidden_groups(frame if groups is None else groups)
    for column in COUNTS:
        shown[column] = shown[column].astype("Int64").mask(shown["group"].isin(hidden[column]))
    either = hidden["n"] | hidden["n_diagnosed"]
    if either:
        touched = shown["group"].isin(either) | shown["versus"].isin(either)
        if len(either) < 2:  # the only other group of two: its complement is the hidden group
            touched |= shown["versus"] == COMPLEMENT
        for column in [str(name) for name in shown if str(name).startswith(REVEALING)]:
            if column == "sentence" and "estimate" in shown:  # without one it holds no number
                where = touched & shown["estimate"].notna()
                shown[column] = shown[column].where(~where, shown[column].map(without_counts))
            else:
                shown[column] = shown[column].mask(touched)
    return shown


def without_counts(sentence: Any) -> str | None:
    """Estimate and interval in words, and whether few cases inform them; else nothing."""
    found = _HEADLINE.match(sentence) if isinstance(sentence, str) else None
    if found is None:
        return None
    return found[0] + (f" {FEW_WORDS}." if FEW_WORDS in sentence else "")


def hidden_groups(counts: pd.DataFrame) -> dict[str, set[str]]:
    """For "n" and "n_diagnosed", the groups whose number must be hidden."""
    per_group = counts.drop_duplicates("group").set_index("group")
    return {column: {str(g) for g in hidden_cells(people(per_group, column))} for column in COUNTS}


def people(counts: pd.DataFrame, column: str) -> pd.Series:
    """Patients of the visits that a column counts, or the visits where they are not known."""
    known = counts.get(PEOPLE[column])
    return counts[column] if known is None else known.clip(upper=counts[column])


def is_small(counts: Any) -> Any:
    """Whether a count, of a Series or DataFrame of them, is of 1 to 10 people."""
    return (counts >= 1) & (counts < SMALLEST_SHOWN)


def hidden_cells(counts: pd.Series) -> pd.Index:
    """Labels to hide among counts whose total is known: small ones, and cover for them.

    Examples
    --------
    >>> hidden_cells(pd.Series({"a": 400, "b": 1, "c": 1, "d": 60, "e": 0})).tolist()
    ['b', 'c', 'd']
    """
    by_size = counts[counts > 0].sort_values(kind="stable")
    number = int(is_small(by_size).sum())
    if number == 0:
        return by_size.index[:0]
    while number < len(by_size) and (number < 2 or by_size.iloc[:number].sum() < SMALLEST_SHOWN):
        number += 1
    return by_size.index[:number]


def redact(text: str) -> str:
    """The text with counts of 1 to 10 people replaced.

    Examples
    --------
    >>> redact("group b has only 3 diagnosed patients, group a 3,000 patients")
    'group b has fewer than 11 diagnosed patients, group a 3,000 patients'
    """
    few = _SMALL_COUNT.sub(f"fewer than {SMALLEST_SHOWN}", text)
    few = _FOLDS.sub(r"fewer folds are used than \1", _ONE_OF_FEW.sub(r"\1s", few))
    return _CASES_OF_GROUPS.sub("", few) if "effective cases" in few else few
