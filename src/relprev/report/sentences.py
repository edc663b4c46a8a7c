"""What a report says: answers, trust, methods, and what every report explains."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relprev.checks.check import CheckResult
from relprev.checks.registry import CHECKS
from relprev.display import cell, with_interval
from relprev.estimates import FEW_WORDS, has_few_cases, sentence, versus_words
from relprev.report.findings import StudyReport, VariableFindings

SHOWN_ANSWERS = 6
ASSUMPTIONS = (
    "Nobody is diagnosed wrongly: whoever has the recorded diagnosis has the condition.",
    "Within a group, diagnosis is random among cases: it may depend on the group, not on symptoms.",
    "The same symptoms mean the same risk in every group.",
)
METHOD_NAMES = {"debiased": "DebiasedPURPLE", "purple": "PURPLE"}  # names in study files
METHODS = {
    "DebiasedPURPLE": (
        "DebiasedPURPLE estimates the ratio of diagnosis rates from the diagnosed by a doubly "
        "robust score, with group propensities and risk fitted out of fold, and divides the "
        "recorded ratio by it; standard errors come from the influence function, in which the part "
        "of the risk that the model leaves out is counted"
    ),
    "PURPLE": (
        "PURPLE fits p(diagnosed | symptoms, group) = p(condition | symptoms) × diagnosis rate of "
        "the group by L1-penalised maximum likelihood and compares the groups' mean "
        "p(condition | symptoms); it gives no interval"
    ),
}
REFERENCES = {
    "PURPLE": (
        "Shanmugam D, Hou K, Pierson E. Quantifying disparities in intimate partner violence: a "
        "machine learning method to correct for underreporting."
    ),
    "DebiasedPURPLE": (
        "Chernozhukov V, Chetverikov D, Demirer M, Duflo E, Hansen C, Newey W, Robins J. "
        "Double/debiased machine learning for treatment and structural parameters. The "
        "Econometrics Journal 2018;21:C1-C68."
    ),
    "unconstrained": (
        "Nadeau C, Bengio Y. Inference for the generalization error. Machine Learning "
        "2003;52:239-281."
    ),
    "holm": (
        "Holm S. A simple sequentially rejective multiple test procedure. Scandinavian Journal of "
        "Statistics 1979;6:65-70."
    ),
}
GLOSSARY = {
    "Relative prevalence (corrected ratio)": (
        "How many times as common the condition is in one group as in another, recorded or not. "
        "Only ratios can be estimated, never how common the condition is in itself."
    ),
    "Recorded ratio": "The same ratio for recorded diagnoses, without any correction.",
    "Diagnosis-rate ratio": (
        "How many times as likely a case is to be diagnosed in one group as in another. Recorded "
        "ratio = diagnosis-rate ratio × corrected ratio."
    ),
    "Confidence interval (CI)": (
        "A range made by a procedure that covers the true ratio in the stated share of studies, if "
        "the assumptions hold. It says nothing about the assumptions being wrong."
    ),
    "Everyone else": "All other groups of the variable together.",
    "p(y|x)": "The chance of having the condition given the symptoms.",
    "Informative cases": (
        "How many diagnosed patients the diagnosis-rate ratio effectively rests on; patients whose "
        "symptoms occur in one group only tell nothing."
    ),
    "Tipping point": "How wrong an assumption must be for the interval to reach 1.",
    "Concern": (
        "A check found more than chance or a stated limit allows. No concern does not prove that "
        "an assumption holds."
    ),
}


@dataclass(frozen=True)
class Trust:
    """A verdict on trust: "concern", "no concern" or "not judged", with its reasons."""

    verdict: str
    heading: str
    points: tuple[str, ...]


def question(report: StudyReport) -> str:
    """What was asked."""
    return f"How much more common is {report.condition} in one group than in another?"


def method_name(name: str) -> str:
    """An estimator's name as people read it."""
    return METHOD_NAMES.get(name, name)


@dataclass(frozen=True)
class Answer:
    """The largest difference in a sentence, the other comparisons in short, how many in all."""

    sentence: str
    estimate: str
    others: tuple[str, ...]
    count: int

    @property
    def pieces(self) -> tuple[str, str, str]:
        """The sentence, cut around its estimate."""
        return self.sentence.partition(self.estimate) if self.estimate else (self.sentence, "", "")


def answer(report: StudyReport, found: VariableFindings) -> Answer:
    """What was found for one group variable, by the method to trust."""
    rows = found.main.to_dict("records")
    first = max(rows, key=_weight)
    others = [row for row in rows if row is not first and not _reverses(row, first)]
    return Answer(
        sentence(first, report.level, report.condition),
        "" if pd.isna(first["estimate"]) else f"{first['estimate']:.2f} times",
        tuple(short(row) for row in others[:SHOWN_ANSWERS]),
        len(rows) if len(others) > SHOWN_ANSWERS else 0,
    )


def _weight(row: Mapping[Any, Any]) -> tuple[bool, bool, float]:
    """Differences that chance does not explain come first, then the larger ones."""
    if pd.isna(row["estimate"]):
        return False, False, 0.0
    clear = not pd.isna(row["ci_low"]) and not row["ci_low"] <= 1 <= row["ci_high"]
    return True, clear, abs(float(np.log(row["estimate"])))


def _reverses(row: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    return (row["group"], row["versus"]) == (other["versus"], other["group"])


def short(row: Mapping[Any, Any]) -> str:
    """What one row says, in short."""
    if pd.isna(row["estimate"]):
        return sentence(row)
    value = with_interval(row["estimate"], row["ci_low"], row["ci_high"])
    recorded = "not shown" if pd.isna(row["observed_ratio"]) else cell(row["observed_ratio"])
    few = f"; {_lower(FEW_WORDS)}" if has_few_cases(row) else ""
    return f"{row['group']} versus {versus_words(row['versus'])}: {value}; recorded {recorded}{few}"


def trust(report: StudyReport) -> Trust:
    """A verdict on trust from the checks, and what limits it."""
    done = list(assumption_checks(report))
    raised = [
        f"{check.name}, by {name}: {check.effect}"
        for name, check in done if check.verdict == "concern"
    ]  # fmt: skip
    unsure = sum(check.verdict == "cannot tell" for _, check in done)
    aside = f"; {unsure} could not be judged" if unsure else ""
    if raised:
        verb = "raises" if len(raised) == 1 else "raise"
        heading = (
            f"Read with care: {len(raised)} of {len(done)} checks of the assumptions {verb} a "
            f"concern{aside}"
        )
    elif done:
        heading = f"None of {len(done)} checks of the assumptions raises a concern{aside}"
    else:
        heading = "No check of the assumptions was made"
    verdict = "concern" if raised else "no concern" if len(done) > unsure else "not judged"
    return Trust(verdict, heading, (*raised, *_limits(report)))


def _limits(report: StudyReport) -> Iterator[str]:
    """What else limits the answer: fragile comparisons, no intervals, groups left out."""
    fragile = sum(check.verdict == "concern" for _, check in sensitivity_checks(report))
    if fragile:
        yield (
            f"{_count(fragile, 'comparison is', 'comparisons are')} fragile: a small violation of "
            "an assumption could explain the difference (see Sensitivity)."
        )
    without = [found.name for found in report.variables if found.main["ci_low"].isna().all()]
    if without:
        yield f"No confidence intervals by {_listed(without)}: how much chance matters is unknown."
    for found in report.variables:
        withheld = [g for g in _without_estimate(found.main) if g not in found.left_out]
        if withheld:
            yield f"No estimate by {found.name} for {_listed(withheld)}."
        for group, reason in found.left_out.items():
            yield f"No estimate by {found.name} for {group}: {reason}."


def _without_estimate(frame: pd.DataFrame) -> list[str]:
    """Groups that stand in no comparison with an estimate."""
    known = frame[frame["estimate"].notna()]
    seen = {*known["group"], *known["versus"]}
    return [name for name in frame["group"].unique() if name not in seen]


def assumption_checks(report: StudyReport) -> Iterator[tuple[str, CheckResult]]:
    """Variable and check, for every check of an assumption."""
    for found in report.variables:
        yield from ((found.name, check) for check in found.checks if check.kind != "sensitivity")


def sensitivity_checks(report: StudyReport) -> Iterator[tuple[str, CheckResult]]:
    """Variable and check, for every sensitivity analysis."""
    for found in report.variables:
        yield from ((found.name, check) for check in found.checks if check.kind == "sensitivity")


def methods_text(report: StudyReport) -> str:
    """A methods section with the numbers of this run, and the references."""
    used = list(dict.fromkeys(name for found in report.variables for name in found.estimates))
    paragraphs = [
        _aim(report),
        "The ratio of recorded rates misleads if groups are diagnosed at different rates. "
        "Relative prevalence corrects for this under three assumptions: "
        + " ".join(f"({k}) {text[0].lower()}{text[1:-1]}{';' if k < 3 else '.'}"
                   for k, text in enumerate(ASSUMPTIONS, 1)),
        _estimation(report, used),
        _checking(report),
        _software(report),
    ]  # fmt: skip
    paragraphs += [f"{k}. {text}" for k, text in enumerate(references(report), 1)]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def references(report: StudyReport) -> list[str]:
    """Works to cite for this run."""
    wanted = ["PURPLE"]
    used = {method_name(name) for found in report.variables for name in found.estimates}
    if "DebiasedPURPLE" in used:
        wanted.append("DebiasedPURPLE")
    kinds = {check.kind for _, check in assumption_checks(report)}
    wanted += [work for kind, check in CHECKS.items() if kind in kinds for work in check.references]
    return [text for name, text in REFERENCES.items() if name in wanted]


def _aim(report: StudyReport) -> str:
    sizes = []
    for found in report.variables:
        last = found.attrition.iloc[-1] if len(found.attrition) else None
        if last is None or pd.isna(last["visits"]):
            continue
        people = "" if pd.isna(last["patients"]) else f" by {cell(last['patients'])} patients"
        groups = len(found.counts)
        sizes.append(f"{cell(last['visits'])} visits{people} in {groups} groups by {found.name}")
    analysed = f" We analysed {'; '.join(sizes)}." if sizes else ""
    analysed += f" Features by kind: {report.features}." if report.features else ""
    return (
        f"We estimated the relative prevalence of {report.condition} among {report.population} "
        f"({report.source}), by {_listed([found.name for found in report.variables])}.{analysed}"
    )


def _estimation(report: StudyReport, used: list[str]) -> str:
    words = " ".join(f"{METHODS.get(name, name)}." for name in map(method_name, used))
    if any(found.main["ci_low"].notna().any() for found in report.variables):
        words += f" Intervals are {report.level:.0%} confidence intervals on the log scale."
        if report.sampling:
            words += f" Standard errors allow for {report.sampling}."
    results = [
        f"{row['group']} versus {versus_words(row['versus'])} "
        f"{with_interval(row['estimate'], row['ci_low'], row['ci_high'])}"
        for found in report.variables for row in found.main.to_dict("records")
        if not pd.isna(row["estimate"])
    ]  # fmt: skip
    return f"{words} Estimates: {'; '.join(results)}." if results else words


def _checking(report: StudyReport) -> str:
    names = list(dict.fromkeys(check.name for _, check in assumption_checks(report)))
    words = ""
    if names:
        words = f"Assumptions were checked: {_listed([_lower(name) for name in names])}. "
        words += f"{trust(report).heading}. "
    if next(sensitivity_checks(report), None):
        words += (
            "Sensitivity analyses varied the assumptions and give the point at which an interval "
            "reaches 1. "
        )
    return words + report.rule.words


def _software(report: StudyReport) -> str:
    versions = report.manifest.get("versions", {})
    named = versions if isinstance(versions, Mapping) else {}
    listed = ", ".join(f"{name} {value}" for name, value in named.items())
    seed = report.manifest.get("seed")
    words = f"Software: {listed}." if listed else "Software: relprev."
    return words if seed is None else f"{words} Seed {seed}."


def wrapped(text: str, width: int = 90) -> str:
    """Paragraphs broken into lines, for a text file."""
    return (
        "\n\n".join(
            textwrap.fill(part, width, break_on_hyphens=False)
            for part in text.strip().split("\n\n")
        )
        + "\n"
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _lower(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
