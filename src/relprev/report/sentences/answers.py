"""What a report says in words: answers, trust, methods, assumptions, glossary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from relprev.checks.check import CheckResult
from relprev.checks.registry import CHECKS
from relprev.display import cell, with_interval
from relprev.estimates import FEW_WORDS, has_few_cases, sentence, versus_words, why_missing
from relprev.report.findings import StudyReport, VariableFindings
from relprev.report.sentences.words import listed, lower_first

SHOWN_ANSWERS = 6
LARGE_ERROR = 0.3  # relative standard error above which a ratio is no headline
WEAK = "This is too uncertain to be quoted on its own."
NOT_CALIBRATED = (
    "The control conditions of the study could not calibrate it, so its interval accounts for "
    "chance alone."
)


@dataclass(frozen=True)
class Trust:
    """Whether to trust the answer (a verdict, or "not judged"), and why."""

    verdict: str
    heading: str
    points: tuple[str, ...]


def question(report: StudyReport) -> str:
    """The question that the report answers."""
    return f"How much more common is {report.condition} in one group than in another?"


@dataclass(frozen=True)
class Answer:
    """The best supported difference in a sentence, others in short, and how many there are.

    ``estimate`` is what may stand out in the sentence; empty where the evidence is weak. ``brief``
    is the sentence in short, and ``about`` the groups it compares.
    """

    sentence: str
    estimate: str
    others: tuple[str, ...]
    count: int
    brief: str
    about: frozenset[str]

    @property
    def pieces(self) -> tuple[str, str, str]:
        """The sentence, cut around its estimate."""
        return self.sentence.partition(self.estimate) if self.estimate else (self.sentence, "", "")


def answer(report: StudyReport, found: VariableFindings) -> Answer:
    """The answer for one group variable, by the method to trust."""
    rows = found.main.to_dict("records")
    first = max(rows, key=lambda row: strength(row, report.level))
    others = [row for row in rows if row is not first and not _reverses(row, first)]
    words = sentence(first, report.level, report.condition)
    firm = _is_firm(first, report.level)
    known = not pd.isna(first["estimate"]) and not first.get("note")
    if known and not firm:
        words += f" {WEAK}"
    if known and _lacks_calibration(found):
        words += f" {NOT_CALIBRATED}"
    return Answer(
        words,
        f"{first['estimate']:.2f} times" if firm else "",
        tuple(short(row) for row in others[:SHOWN_ANSWERS]),
        len(rows) if len(others) > SHOWN_ANSWERS else 0,
        short(first),
        frozenset({str(first["group"]), str(first["versus"])}),
    )


def _lacks_calibration(found: VariableFindings) -> bool:
    """Whether there are controls, and the method to trust does without them all the same."""
    judged = any(check.kind == "controls" and len(check.table) for check in found.checks)
    return judged and next(iter(found.estimates)) != "calibrated"


def strength(row: Mapping[Any, Any], level: float) -> tuple[bool, bool, float]:
    """Rank of a row by strength of evidence: firm rows first, then those furthest from chance."""
    if pd.isna(row["estimate"]) or row.get("note"):
        return False, False, 0.0
    distance = abs(float(np.log(row["estimate"])))
    error = _log_error(row, level)
    return True, _is_firm(row, level), distance / error if error > 0 else distance


def _is_firm(row: Mapping[Any, Any], level: float) -> bool:
    """Whether a row's evidence is strong enough for a headline."""
    if pd.isna(row["estimate"]) or row.get("note") or has_few_cases(row) or why_missing(row):
        return False
    return pd.isna(row["ci_low"]) or _log_error(row, level) <= LARGE_ERROR


def _log_error(row: Mapping[Any, Any], level: float) -> float:
    """Standard error of the log ratio, as its interval shows it; NaN without one."""
    quantile = NormalDist().inv_cdf(0.5 + level / 2)
    return float(np.log(row["ci_high"] / row["ci_low"])) / (2 * quantile)


def _reverses(row: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    return (row["group"], row["versus"]) == (other["versus"], other["group"])


def short(row: Mapping[Any, Any]) -> str:
    """One row in a few words."""
    if pd.isna(row["estimate"]) or row.get("note"):
        return sentence(row)
    value = with_interval(row["estimate"], row["ci_low"], row["ci_high"])
    recorded = "not shown" if pd.isna(row["observed_ratio"]) else cell(row["observed_ratio"])
    few = f"; {lower_first(FEW_WORDS)}" if has_few_cases(row) else ""
    return f"{row['group']} versus {versus_words(row['versus'])}: {value}; recorded {recorded}{few}"


def trust(report: StudyReport, *, brief: bool = False) -> Trust:
    """Judge trust by the checks, and name what limits it; ``brief`` says what and where only."""
    done = list(checks_of(report, assumption=True))
    raised = [(name, check) for name, check in done if check.verdict == "concern"]
    unsure = [(name, check) for name, check in done if check.verdict == "cannot tell"]
    absent = [
        lower_first(check.title) for check in CHECKS.values()
        if check.assumption and check.title in report.unchecked
    ]  # fmt: skip
    clear = len(done) - len(raised) - len(unsure)
    counts = (
        f"of {len(done)} checks of the assumptions, {len(raised)} "
        f"{'raises' if len(raised) == 1 else 'raise'} a concern, "
        f"{clear} {'finds' if clear == 1 else 'find'} none that matters, "
        f"and {len(unsure)} cannot tell"
    )
    if absent:
        counts += f"; {len(absent)} {'was' if len(absent) == 1 else 'were'} not run"
    if raised:
        verdict, heading = "concern", f"Read with care: {counts}"
    elif unsure or (done and absent):
        verdict, heading = "cannot tell", f"Not fully examined: {counts}"
    elif done:
        heading = f"None of {len(done)} checks of the assumptions raises a concern"
        verdict = "no concern"
    else:
        verdict, heading = "not judged", "No check of the assumptions was run"
    missing = [f"Not run: {listed(absent)}."] if absent else []
    if brief:
        found = [*_in_brief("A concern", raised), *_in_brief("Cannot tell", unsure)]
    else:
        found = [f"{check.name}, by {name}: {check.effect}" for name, check in raised]
        found += [f"{check.name}, by {name}, cannot tell: {check.effect}" for name, check in unsure]
    return Trust(verdict, heading, (*found, *missing, *_limits(report, brief=brief)))


def _in_brief(what: str, done: Iterable[tuple[str, CheckResult]]) -> Iterator[str]:
    """Checks of one verdict in a sentence, each with the variables it was run for."""
    by: dict[str, list[str]] = {}
    for name, check in done:
        by.setdefault(check.name, []).append(name)
    if by:
        yield f"{what}: {'; '.join(f'{check}, by {listed(names)}' for check, names in by.items())}."


def _limits(report: StudyReport, *, brief: bool) -> Iterator[str]:
    """What else limits the answer: fragile comparisons, no intervals, groups left out."""
    fragile = sum(
        check.verdict == "concern" and check.kind == "sensitivity"
        for _, check in checks_of(report, assumption=False)
    )
    if fragile:
        yield (
            f"{fragile} {'comparison is' if fragile == 1 else 'comparisons are'} fragile: a small "
            "violation of an assumption could explain the difference (see Sensitivity)."
        )
    without = [found.name for found in report.variables if found.main["ci_low"].isna().all()]
    if without:
        yield f"No confidence intervals by {listed(without)}: how much chance matters is unknown."
    if brief:
        gone = [
            f"{listed(names)}, by {found.name}"
            for found in report.variables
            if (names := list(dict.fromkeys([*_without_estimate(found.main), *found.left_out])))
        ]
        if gone:
            yield f"No estimate for {'; '.join(gone)}."
        return
    for found in report.variables:
        withheld = [g for g in _without_estimate(found.main) if g not in found.left_out]
        if withheld:
            yield f"No estimate by {found.name} for {listed(withheld)}."
        for group, reason in found.left_out.items():
            yield f"No estimate by {found.name} for {group}: {reason}."


def _without_estimate(frame: pd.DataFrame) -> list[str]:
    """Groups in no comparison that has an estimate."""
    known = frame[frame["estimate"].notna()]
    seen = {*known["group"], *known["versus"]}
    return [name for name in frame["group"].unique() if name not in seen]


def checks_of(report: StudyReport, *, assumption: bool) -> Iterator[tuple[str, CheckResult]]:
    """Variable and check, for every check of an assumption, or every sensitivity analysis."""
    for found in report.variables:
        for check in found.checks:
            if CHECKS[check.kind].assumption == assumption:
                yield found.name, check
