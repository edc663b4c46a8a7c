"""Hide small counts in a whole report: estimates, checks, attrition, symptoms and words.

The rules for groups are those of `relprev.report.suppression`. Beyond them:

- attrition: a level is hidden if fewer than 11 (but not none) visits or patients were dropped
  between it and the next level shown: the difference is a count of people. The last level is the
  sum of the groups and stays. Levels are compared with those of all group variables.
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
from relprev.checks.check import CheckResult
from relprev.disclosure.rendering import shown
from relprev.disclosure.rule import Rule
from relprev.inference.intervals import FEW_CASES
from relprev.report.across import Blur, blurred, blurs
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
OF_ALL_VISITS = re.compile(r" of the [\d,]+ visits")
NAMED = 5  # features in a sentence
Level = tuple[str, int, int]
HIDDEN_WORDS = "the numbers are hidden because they would reveal counts of 1 to 10 people"


def hide_small_counts(report: StudyReport) -> StudyReport:
    """The report as it may be shown; unchanged if it asks for small counts to be shown."""
    if not report.hide_small_counts:
        return report
    together = blurs(report.variables)
    flows = _hidden_attrition([found.attrition for found in report.variables], together)
    variables = tuple(
        _hidden_variable(*parts) for parts in zip(report.variables, flows, together, strict=True)
    )
    warnings = tuple(redact(text) for text in report.warnings)
    return replace(report, variables=variables, warnings=warnings)


def disclosed(report: StudyReport, rule: Rule) -> StudyReport:
    """The report with messages as they may be shown."""
    variables = tuple(
        replace(found, left_out={name: shown(why, rule) for name, why in found.left_out.items()})
        for found in report.variables
    )
    said = tuple(dict.fromkeys(shown(message, rule) for message in report.warnings))
    return replace(report, variables=variables, warnings=said, hide_small_counts=rule.hide)


def all_groups(found: VariableFindings) -> pd.DataFrame:
    """Columns group, n, n_diagnosed of every group that is known."""
    return found.counts[["group", *COUNTS]]


def _hidden_variable(
    found: VariableFindings, attrition: pd.DataFrame, blur: Blur
) -> VariableFindings:
    counts = all_groups(found)
    hidden = {
        column: groups | blur.groups[column]
        for column, groups in hidden_groups(found.counts).items()
    }
    shown = counts.assign(
        **{column: _without(counts[column], counts["group"].isin(hidden[column]))
           for column in hidden}
    )  # fmt: skip
    either = hidden["n"] | hidden["n_diagnosed"]
    return replace(
        found,
        estimates={
            name: blurred(suppress(frame, found.counts), blur)
            for name, frame in found.estimates.items()
        },
        attrition=attrition,
        checks=tuple(_hidden_check(check, either, counts, blur) for check in found.checks),
        symptoms=_hidden_symptoms(found.symptoms, int(counts["n"].sum()), blur),
        left_out={group: redact(reason) for group, reason in found.left_out.items()},
        groups=shown,
    )


def _hidden_attrition(
    frames: Sequence[pd.DataFrame], together: Sequence[Blur]
) -> list[pd.DataFrame]:
    flows = [_levels(frame) for frame in frames]
    both = zip(flows, together, strict=True)
    hidden = {flow[-1] for flow, blur in both if flow and "n" in blur.totals}
    hidden |= _close_levels(flows, hidden)
    out = []
    for frame, flow in zip(frames, flows, strict=True):
        where = pd.Series([level in hidden for level in flow], dtype=bool)
        shown = {name: _without(frame[name], where) for name in ("visits", "patients")}
        out.append(frame[["step", "visits", "patients"]].assign(**shown))
    return out


def _levels(frame: pd.DataFrame) -> list[Level]:
    """Step, visits and patients (-1 where unknown) of every level."""
    counts = frame[["visits", "patients"]].astype("Int64").fillna(-1).astype(int)
    return list(zip(frame["step"], counts["visits"], counts["patients"], strict=True))


def _close_levels(flows: Sequence[list[Level]], hidden: set[Level]) -> set[Level]:
    """Levels that differ by 1 to 10 from one that is shown, and small ones; last levels first."""
    shown: list[Level] = [("", 0, 0)]
    close = set()
    lasts = [flow[-1] for flow in flows if flow]
    for level in lasts + sorted((one for flow in flows for one in flow[:-1]), key=_size):
        if any(_few_apart(level, other) for other in shown):
            close.add(level)
        elif level not in hidden:
            shown.append(level)
    return close


def _size(level: Level) -> tuple[int, int]:
    return level[1:]


def _few_apart(level: Level, other: Level) -> bool:
    pairs = zip(level[1:], other[1:], strict=True)
    return any(1 <= abs(one - two) <= 10 for one, two in pairs if min(one, two) >= 0)


def _hidden_symptoms(table: pd.DataFrame, total: int, blur: Blur) -> pd.DataFrame:
    """Features of few visits or patients, or of all visits but a few, lose their numbers."""
    counts = [name for name in ("visits", "patients") if name in table]
    if not counts:
        return table
    where = table["feature"].isin(blur.features)
    for name in counts:
        where |= is_small(table[name])
    if "visits" in counts:
        where |= is_small(total - table["visits"])
    return table.assign(**{name: _without(table[name], where) for name in counts})


def _hidden_check(
    check: CheckResult, groups: set[str], counts: pd.DataFrame, blur: Blur
) -> CheckResult:
    table = check.table.reset_index(drop=True)
    if "n" in blur.totals:
        check = replace(check, effect=OF_ALL_VISITS.sub(" of the visits", check.effect))
    named: set[str] = set()
    if "fifth" in table and "n_diagnosed" in table:
        table = _hidden_fifths(table)
    elif "feature" in table:
        table, named = _hidden_features(table, counts, blur)
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
        "few informative cases": row["effective_cases"] < FEW_CASES,
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


def _hidden_features(
    table: pd.DataFrame, counts: pd.DataFrame, blur: Blur
) -> tuple[pd.DataFrame, set[str]]:
    """Features that few have, or few lack, among all, the diagnosed or the others."""
    total = counts[list(COUNTS)].sum()
    where = is_small(table["n"]) | is_small(total["n"] - table["n"])
    where |= table["feature"].isin(blur.features)
    if "n_diagnosed" in table:
        others = table["n"] - table["n_diagnosed"]
        where |= is_small(table["n_diagnosed"]) | is_small(others)
        where |= is_small(total["n_diagnosed"] - table["n_diagnosed"])
        where |= is_small(total["n"] - total["n_diagnosed"] - others)
    hidden = {name: _without(table[name], where) for name in _numbers(table)}
    if "n_diagnosed" in blur.totals and "reach" in table:  # it divides by the total
        hidden["reach"] = _without(table["reach"], table["feature"].notna())
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
