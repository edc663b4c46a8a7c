"""What the group variables of one study would give away together.

Numbers that are large may differ by a small one: the visits of one variable less those of
another are people whom one of them leaves out. So every variable is compared with those
before it. Where the difference is 1 to 10,

- totals: the total is hidden, and so that the groups do not add up to it, the count of the
  largest group (of all groups if both variables are recodes of one column);
- groups of two recodes of one column: the counts of all groups of the later one are hidden;
- features: their counts are hidden in the later one.

Recorded ratios that follow from a hidden count, in a complement too, are hidden with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from relprev.estimates import COMPLEMENT
from relprev.report.content import VariableFindings
from relprev.report.suppression import COUNTS, PEOPLE, is_small, without_counts

RATIOS = ("observed_", "diagnosis_")  # starts of column names


@dataclass
class Blur:
    """What to hide of a variable because of those before it: totals, groups, features."""

    totals: set[str] = field(default_factory=set)  # of COUNTS
    groups: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in COUNTS})
    features: set[str] = field(default_factory=set)

    @property
    def either(self) -> set[str]:
        """Groups with a hidden count."""
        return set().union(*self.groups.values())


def blurs(variables: Sequence[VariableFindings]) -> list[Blur]:
    """What to hide of every variable because of those before it."""
    out: list[Blur] = []
    for position, found in enumerate(variables):
        blur = Blur()
        for other, others in zip(variables[:position], out, strict=True):
            _compare(blur, found, other, others)
        out.append(blur)
    return out


def blurred(frame: pd.DataFrame, blur: Blur) -> pd.DataFrame:
    """A results table without the counts to hide and the ratios that follow from them."""
    shown = frame.copy()
    for column, groups in blur.groups.items():
        shown[column] = shown[column].astype("Int64").mask(shown["group"].isin(groups))
    if not blur.either:
        return shown
    touched = shown["versus"].isin({*blur.either, COMPLEMENT}) | shown["group"].isin(blur.either)
    for column in [str(name) for name in shown if str(name).startswith(RATIOS)]:
        shown[column] = shown[column].mask(touched)
    if "sentence" in shown:
        where = touched & shown["estimate"].notna()
        shown["sentence"] = shown["sentence"].where(~where, shown["sentence"].map(without_counts))
    return shown


def _compare(blur: Blur, found: VariableFindings, other: VariableFindings, others: Blur) -> None:
    counts = found.counts
    recodes = bool(found.column) and found.column == other.column
    for column in COUNTS:
        close = column not in others.totals and _close_totals(found, other, column)
        if close:
            blur.totals.add(column)
            blur.groups[column].add(str(counts["group"].iloc[int(counts[column].argmax())]))
        if recodes and (close or _close_groups(counts, other.counts, column)):
            blur.groups[column].update(counts["group"])
    blur.features |= _close_features(found, other)


def _close_totals(found: VariableFindings, other: VariableFindings, column: str) -> bool:
    return any(
        bool(is_small((one - two).abs()).any())
        for one, two in zip(_totals(found, column), _totals(other, column), strict=True)
    )


def _totals(found: VariableFindings, column: str) -> tuple[pd.Series, pd.Series]:
    """Visits and people that a column counts in all, each of one number or none."""
    counts, people = found.counts, PEOPLE[column]
    patients: pd.Series
    if column == "n" and len(found.attrition):
        patients = found.attrition["patients"].tail(1).dropna().astype(int)
    else:
        patients = pd.Series([counts[people].sum()] if people in counts else [], dtype=int)
    return pd.Series([counts[column].sum()]), patients.reset_index(drop=True)


def _close_groups(counts: pd.DataFrame, others: pd.DataFrame, column: str) -> bool:
    pairs = counts.merge(others, how="cross", suffixes=("", "_other"))
    names = [name for name in (column, PEOPLE[column]) if f"{name}_other" in pairs]
    return any(bool(is_small((pairs[name] - pairs[f"{name}_other"]).abs()).any()) for name in names)


def _close_features(found: VariableFindings, other: VariableFindings) -> set[str]:
    difference = (_feature_counts(found) - _feature_counts(other)).abs()
    close = is_small(difference).any(axis=1)
    return {str(name) for name in difference.index[close]}


def _feature_counts(found: VariableFindings) -> pd.DataFrame:
    """Visits, patients and diagnosed of every feature that is shown, by feature."""
    tables = [check.table.rename(columns={"n": "visits"}) for check in found.checks
              if "feature" in check.table]  # fmt: skip
    columns = ["visits", "patients", "n_diagnosed"]
    frames = [
        frame.set_index("feature").reindex(columns=columns).astype(float)
        for frame in (found.symptoms, *tables) if "feature" in frame
    ]  # fmt: skip
    if not frames:
        return pd.DataFrame(columns=columns, dtype=float)
    return pd.concat(frames).groupby(level=0).max()
