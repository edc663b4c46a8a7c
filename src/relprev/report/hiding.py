"""Hide small counts in a whole report: estimates, checks, attrition, symptoms and words.

The rules for groups are those of `relprev.report.suppression`. Beyond them:

- attrition: a level is hidden if fewer than 11 (but not none) visits or patients were dropped
  between it and the next level shown: the difference is a count of people. The last level is the
  sum of the groups and stays. A level hidden for one group variable is hidden for all.
- checks: a row of a group with hidden counts keeps only ratios that do not depend on them;
  shares of a group's diagnosed that stand for 1 to 10 people, counts of fifths and of
  features likewise. A sentence that names such a row says what was found without numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from relprev.checks import overlap
from relprev.checks.result import CheckResult
from relprev.report.content import StudyReport, VariableFindings
from relprev.report.suppression import (
    COUNTS,
    hidden_cells,
    hidden_groups,
    is_small,
    redact,
    suppress,
)

NOT_COUNTED = {  # numbers of a group's row in a check that do not give its counts away
    "estimate", "estimate_low", "estimate_high", "ci_low", "ci_high", "purple", "debiased",
    "ratio", "drift", "mixing", "exclusive_codes", "fifth",
}  # fmt: skip
JOINT = {"effective_cases"}  # a group's number depends on the other groups' counts
SHARES_OF_DIAGNOSED = ("sure_share", "diagnosed_with_exclusive_codes")
NAMED = 5  # features in a sentence
Level = tuple[str, int, int]
HIDDEN_WORDS = "the numbers are hidden because they would reveal counts of 1 to 10 people"


def hide_small_counts(report: StudyReport) -> StudyReport:
    """The report as it may be shown; unchanged if it asks for small counts to be shown."""
    if not report.hide_small_counts:
        return report
    flows = _hidden_attrition([found.attrition for found in report.variables])
    variables = tuple(
        _hidden_variable(found, flow) for found, flow in zip(report.variables, flows, strict=True)
    )
    warnings = tuple(redact(text) for text in report.warnings)
    return replace(report, variables=variables, warnings=warnings)


def all_groups(found: VariableFindings) -> pd.DataFrame:
    """Columns group, n, n_diagnosed of every group that is known."""
    if found.groups is not None:
        return found.groups[["group", "n", "n_diagnosed"]]
    frames = [frame[["group", "n", "n_diagnosed"]] for frame in found.estimates.values()]
    return pd.concat(frames, ignore_index=True).drop_duplicates("group")


def _hidden_variable(found: VariableFindings, attrition: pd.DataFrame) -> VariableFindings:
    counts = all_groups(found)
    with_people = counts if found.groups is None else found.groups
    hidden = hidden_groups(with_people)
    shown = counts.assign(
        **{column: _without(counts[column], counts["group"].isin(hidden[column]))
           for column in hidden}
    )  # fmt: skip
    either = hidden["n"] | hidden["n_diagnosed"]
    return replace(
        found,
        estimates={name: suppress(frame, with_people) for name, frame in found.estimates.items()},
        attrition=attrition,
        checks=tuple(_hidden_check(check, either, counts) for check in found.checks),
        symptoms=_hidden_symptoms(found.symptoms, int(counts["n"].sum())),
        left_out={group: redact(reason) for group, reason in found.left_out.items()},
        groups=shown,
    )


def _hidden_attrition(frames: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    hidden = set().union(*(_close_levels(frame) for frame in frames))
    out = []
    for frame in frames:
        where = pd.Series([level in hidden for level in _levels(frame)])
        shown = {name: _without(frame[name], where) for name in ("visits", "patients")}
        out.append(frame[["step", "visits", "patients"]].assign(**shown))
    return out


def _levels(frame: pd.DataFrame) -> list[Level]:
    """Step, visits and patients (-1 where unknown) of every level."""
    counts = frame[["visits", "patients"]].astype("Int64").fillna(-1).astype(int)
    return list(zip(frame["step"], counts["visits"], counts["patients"], strict=True))


def _close_levels(frame: pd.DataFrame) -> set[Level]:
    """Levels from which 1 to 10 were dropped before the next level shown, and small levels."""
    close = set()
    below = (0, 0)
    for level in reversed(_levels(frame)):
        counts = level[1:]
        if any(1 <= here - next_ <= 10 for here, next_ in zip(counts, below, strict=True)):
            close.add(level)
        else:
            below = counts
    return close


def _hidden_symptoms(table: pd.DataFrame, total: int) -> pd.DataFrame:
    """Features of few visits or patients, or of all visits but a few, lose their numbers."""
    counts = [name for name in ("visits", "patients") if name in table]
    where = pd.Series(False, index=table.index)
    for name in counts:
        where |= is_small(table[name])
    if "visits" in counts:
        where |= is_small(total - table["visits"])
    return table.assign(**{name: _without(table[name], where) for name in counts})


def _hidden_check(check: CheckResult, groups: set[str], counts: pd.DataFrame) -> CheckResult:
    table = check.table.reset_index(drop=True)
    named: set[str] = set()
    if "fifth" in table and "n_diagnosed" in table:
        table = _hidden_fifths(table)
    elif "feature" in table:
        table, named = _hidden_features(table, counts)
    else:
        table, named = _hidden_shares(table)
    table, more = _hidden_rows(table, groups)
    named |= more
    if check.p_value in _lost(check.table, table, "p_value"):
        check = replace(check, p_value=float("nan"))
    said = [name for name in sorted(named) if _names(check.effect, name)]
    if not said:
        return replace(check, table=table)
    nan, effect = float("nan"), check.effect
    if set(COUNTS) & set(table):  # the sentence may speak of people
        effect = _without_numbers(check, said)
    return replace(check, table=table, effect=effect, statistic=nan, interval=(nan, nan))


def _lost(before: pd.DataFrame, after: pd.DataFrame, column: str) -> set[float]:
    """Values of a column that were hidden."""
    if column not in after:
        return set()
    return set(before.loc[after[column].isna().to_numpy(), column].dropna())


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _without_numbers(check: CheckResult, said: list[str]) -> str:
    """What a check found in the groups or features it names, without numbers of people."""
    if check.kind == "overlap":
        return (
            f"Least overlap in {_overlap_words(check.table, max(said, key=len))}; {HIDDEN_WORDS}."
        )
    if check.kind == "leakage" and check.verdict == "concern":
        names = ", ".join(check.table.loc[check.table["suspicious"], "feature"].head(NAMED))
        return f"Some features all but imply the diagnosis, first {names}; {HIDDEN_WORDS}."
    if check.kind == "leakage":
        return f"No feature implies the diagnosis; {HIDDEN_WORDS}."
    if check.kind == "calibration":
        return check.effect  # of slopes and intercepts
    return f"About {', '.join(said)}: {HIDDEN_WORDS}."


def _overlap_words(table: pd.DataFrame, group: str) -> str:
    row = table[table["group"] == group].iloc[0]
    reasons = {
        "few informative cases": row["effective_cases"] < overlap.FEW_CASES,
        "symptoms that set it apart": row["mixing"] < overlap.LITTLE_MIXING,
        "codes that no other group has in many of its diagnosed":
            row.get("diagnosed_with_exclusive_codes", 0.0) > overlap.LARGE_SHARE,
    }  # fmt: skip
    found = ", ".join(words for words, is_so in reasons.items() if is_so)
    return f"{group}: {found}" if found else group


def _hidden_rows(table: pd.DataFrame, groups: set[str]) -> tuple[pd.DataFrame, set[str]]:
    """Rows of groups with hidden counts keep only what does not depend on the counts."""
    if "group" not in table:
        return table, set()
    where = table["group"].isin(groups)
    if "versus" in table:
        where |= table["versus"].isin(groups)
    columns = [name for name in _numbers(table) if name not in NOT_COUNTED]
    if not columns or not where.any():
        return table, set()
    hidden = {name: _without(table[name], where) for name in columns}
    joint = JOINT & set(columns)
    for name in joint:
        hidden[name] = _without(table[name], table["group"].notna())
    return table.assign(**hidden), set(table["group"] if joint else table.loc[where, "group"])


def _hidden_fifths(table: pd.DataFrame) -> pd.DataFrame:
    """Fifths of a group by predicted risk: their numbers add up to the group's."""
    few, where = (pd.Series(False, index=table.index) for _ in range(2))
    for _, part in table.groupby("group", sort=False):
        few[hidden_cells(part["n"])] = True
        for counts in (part["n_diagnosed"], part["n"] - part["n_diagnosed"]):
            where[hidden_cells(counts)] = True
    columns = [name for name in ("recorded", "recorded_sd", "n_diagnosed") if name in table]
    hidden = {name: _without(table[name], where | few) for name in columns}
    return table.assign(**hidden, n=_without(table["n"], few))


def _hidden_features(table: pd.DataFrame, counts: pd.DataFrame) -> tuple[pd.DataFrame, set[str]]:
    """Features that few have, or few lack, among all, the diagnosed or the others."""
    total = counts[list(COUNTS)].sum()
    where = is_small(table["n"]) | is_small(total["n"] - table["n"])
    if "n_diagnosed" in table:
        others = table["n"] - table["n_diagnosed"]
        where |= is_small(table["n_diagnosed"]) | is_small(others)
        where |= is_small(total["n_diagnosed"] - table["n_diagnosed"])
        where |= is_small(total["n"] - total["n_diagnosed"] - others)
    hidden = {name: _without(table[name], where) for name in _numbers(table)}
    return table.assign(**hidden), set(table.loc[where, "feature"])


def _hidden_shares(table: pd.DataFrame) -> tuple[pd.DataFrame, set[str]]:
    """Shares of a group's diagnosed that stand for 1 to 10 people, or all but 1 to 10."""
    named: set[str] = set()
    for column in SHARES_OF_DIAGNOSED:
        if column in table and "n_diagnosed" in table:
            people = (table[column] * table["n_diagnosed"]).round()
            where = is_small(people) | is_small(table["n_diagnosed"] - people)
            table = table.assign(**{column: _without(table[column], where)})
            named |= set(table.loc[where, "group"])
    return table, named


def _numbers(table: pd.DataFrame) -> list[str]:
    return [str(name) for name in table.select_dtypes("number")]


def _without(values: pd.Series, where: pd.Series) -> pd.Series:
    """The values with those at ``where`` missing; whole numbers stay whole."""
    whole = pd.api.types.is_integer_dtype(values.dtype)
    kept = values.astype("Int64") if whole else values
    return kept.mask(where.to_numpy())
