"""What a report says in words: answers, trust, methods, assumptions, glossary."""

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
from relprev.units import PERSON, Unit

SHOWN_ANSWERS = 6
LARGE_ERROR = 0.3  # relative standard error above which a ratio is no headline
WEAK = "This is too uncertain to be quoted on its own."
ASSUMPTIONS = (
    "Nobody is diagnosed wrongly: whoever has the recorded diagnosis has the condition.",
    "Within a group, diagnosis is random among cases: it may depend on the group, not on symptoms.",
    "The same symptoms mean the same risk in every group.",
)
METHOD_NAMES = {  # names in study files and findings
    "calibrated": "Calibrated", "debiased": "DebiasedPURPLE", "purple": "PURPLE",
}  # fmt: skip
METHODS = {
    "Calibrated": (
        "Calibrated estimates are those of DebiasedPURPLE corrected by control conditions, which "
        "are hardly ever missed in any group: the mean of the controls' errors is taken off, and "
        "the prediction interval allows for their spread from condition to condition"
    ),
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
    "Calibrated": (
        "Schuemie MJ, Hripcsak G, Ryan PB, Madigan D, Suchard MA. Empirical confidence interval "
        "calibration for population-level effect estimation studies in observational healthcare "
        "data. Proceedings of the National Academy of Sciences 2018;115:2571-2577."
    ),
    "unconstrained": (
        "Nadeau C, Bengio Y. Inference for the generalization error. Machine Learning "
        "2003;52:239-281."
    ),
    "holm": (
        "Holm S. A simple sequentially rejective multiple test procedure. Scandinavian Journal of "
        "Statistics 1979;6:65-70."
    ),
    "delong": (
        "LeDell E, Petersen M, van der Laan M. Computationally efficient confidence intervals for "
        "cross-validated area under the ROC curve estimates. Electronic Journal of Statistics "
        "2015;9:1583-1607."
    ),
    "bias_analysis": (
        "Lash TL, Fox MP, Fink AK. Applying quantitative bias analysis to epidemiologic data. "
        "Springer, 2009."
    ),
}
GLOSSARY = {
    "Relative prevalence (corrected ratio)": (
        "How many times as common the condition is in one group as in another, recorded or not. "
        "Only ratios can be estimated, never how common the condition is in itself."
    ),
    "Control conditions": (
        "Conditions that are hardly ever missed, so that their recorded ratio is the truth. What "
        "the correction does to them shows how far it can be off; calibrated estimates allow "
        "for that, if the condition of the study is one of their kind."
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
    "Pointwise": (
        "Said of intervals that hold one by one: of twenty 95% intervals, about one misses the "
        "truth. `RelativePrevalence.simultaneous` in Python gives intervals that hold together."
    ),
    "Everyone else": "All other groups of the variable together.",
    "p(y|x)": "The chance of having the condition given the symptoms.",
    "Informative cases": (
        "How many diagnosed patients the diagnosis-rate ratio effectively rests on; patients whose "
        "symptoms occur in one group only tell nothing."
    ),
    "Tipping point": (
        "How wrong an assumption must be for the interval to reach 1, or for the recorded ratio to "
        "be right."
    ),
    "Concern": "A check found a violation that may be large enough to matter.",
    "No concern": (
        "A violation large enough to matter is excluded, as far as the check can see. It does not "
        "prove that an assumption holds."
    ),
    "Cannot tell": "A violation that matters is neither found nor excluded: too few cases.",
}


@dataclass(frozen=True)
class Trust:
    """Whether to trust the answer (a verdict, or "not judged"), and why."""

    verdict: str
    heading: str
    points: tuple[str, ...]


def question(report: StudyReport) -> str:
    """The question that the report answers."""
    return f"How much more common is {report.condition} in one group than in another?"


def method_name(name: str) -> str:
    """The name of an estimator for readers."""
    return METHOD_NAMES.get(name, name)


@dataclass(frozen=True)
class Answer:
    """The best supported difference in a sentence, others in short, and how many there are.

    ``estimate`` is what may stand out in the sentence; empty where the evidence is weak.
    """

    sentence: str
    estimate: str
    others: tuple[str, ...]
    count: int

    @property
    def pieces(self) -> tuple[str, str, str]:
        """The sentence, cut around its estimate."""
        return self.sentence.partition(self.estimate) if self.estimate else (self.sentence, "", "")


def answer(report: StudyReport, found: VariableFindings) -> Answer:
    """The answer for one group variable, by the method to trust."""
    rows = found.main.to_dict("records")
    first = max(rows, key=_strength)
    others = [row for row in rows if row is not first and not _reverses(row, first)]
    words = sentence(first, report.level, report.condition)
    firm, known = _is_firm(first), not pd.isna(first["estimate"]) and not first.get("note")
    if known and not firm:
        words += f" {WEAK}"
    return Answer(
        words,
        f"{first['estimate']:.2f} times" if firm else "",
        tuple(short(row) for row in others[:SHOWN_ANSWERS]),
        len(rows) if len(others) > SHOWN_ANSWERS else 0,
    )


def _strength(row: Mapping[Any, Any]) -> tuple[bool, bool, float]:
    """Rank of a row by strength of evidence: firm rows first, then those furthest from chance."""
    if pd.isna(row["estimate"]) or row.get("note"):
        return False, False, 0.0
    distance = abs(float(np.log(row["estimate"])))
    error = _log_error(row)
    return True, _is_firm(row), distance / error if error > 0 else distance


def _is_firm(row: Mapping[Any, Any]) -> bool:
    """Whether a row's evidence is strong enough for a headline."""
    if pd.isna(row["estimate"]) or row.get("note") or has_few_cases(row):
        return False
    return pd.isna(row["ci_low"]) or _log_error(row) <= LARGE_ERROR


def _log_error(row: Mapping[Any, Any]) -> float:
    """Standard error of the log ratio, as its interval shows it; NaN without one."""
    return float(np.log(row["ci_high"] / row["ci_low"])) / (2 * 1.96)


def _reverses(row: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    return (row["group"], row["versus"]) == (other["versus"], other["group"])


def short(row: Mapping[Any, Any]) -> str:
    """One row in a few words."""
    if pd.isna(row["estimate"]) or row.get("note"):
        return sentence(row)
    value = with_interval(row["estimate"], row["ci_low"], row["ci_high"])
    recorded = "not shown" if pd.isna(row["observed_ratio"]) else cell(row["observed_ratio"])
    few = f"; {_lower(FEW_WORDS)}" if has_few_cases(row) else ""
    return f"{row['group']} versus {versus_words(row['versus'])}: {value}; recorded {recorded}{few}"


def trust(report: StudyReport) -> Trust:
    """Judge trust by the checks, and name what limits it."""
    done = list(assumption_checks(report))
    raised = [
        f"{check.name}, by {name}: {check.effect}"
        for name, check in done if check.verdict == "concern"
    ]  # fmt: skip
    unsure = [
        f"{check.name}, by {name}, cannot tell: {check.effect}"
        for name, check in done if check.verdict == "cannot tell"
    ]  # fmt: skip
    clear = len(done) - len(raised) - len(unsure)
    counts = (
        f"of {len(done)} checks of the assumptions, {len(raised)} {_raise(raised)} a concern, "
        f"{clear} {_find(clear)} none that matters, and {len(unsure)} cannot tell"
    )
    if raised:
        heading = f"Read with care: {counts}"
    elif unsure:
        heading = f"Not fully examined: {counts}"
    elif done:
        heading = f"None of {len(done)} checks of the assumptions raises a concern"
    else:
        heading = "No check of the assumptions was run"
    verdict = (
        "concern" if raised else "cannot tell" if unsure else "no concern" if done else "not judged"
    )
    return Trust(verdict, heading, (*raised, *unsure, *_limits(report)))


def _raise(found: list[str]) -> str:
    return "raises" if len(found) == 1 else "raise"


def _find(count: int) -> str:
    return "finds" if count == 1 else "find"


def _limits(report: StudyReport) -> Iterator[str]:
    """What else limits the answer: fragile comparisons, no intervals, groups left out."""
    fragile = sum(
        check.verdict == "concern" and check.kind == "sensitivity"
        for _, check in sensitivity_checks(report)
    )
    if fragile:
        yield (
            f"{fragile} {'comparison is' if fragile == 1 else 'comparisons are'} fragile: a small "
            "violation of an assumption could explain the difference (see Sensitivity)."
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
    """Groups in no comparison that has an estimate."""
    known = frame[frame["estimate"].notna()]
    seen = {*known["group"], *known["versus"]}
    return [name for name in frame["group"].unique() if name not in seen]


def assumption_checks(report: StudyReport) -> Iterator[tuple[str, CheckResult]]:
    """Variable and check, for every check of an assumption."""
    for found in report.variables:
        yield from ((found.name, check) for check in found.checks if CHECKS[check.kind].assumption)


def sensitivity_checks(report: StudyReport) -> Iterator[tuple[str, CheckResult]]:
    """Variable and check, for every sensitivity analysis."""
    for found in report.variables:
        yield from (
            (found.name, check) for check in found.checks if not CHECKS[check.kind].assumption
        )


def methods_text(report: StudyReport) -> str:
    """A methods section with the numbers of this run, and references."""
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
    used = {method_name(name) for found in report.variables for name in found.estimates}
    kinds = {check.kind for found in report.variables for check in found.checks}
    works = {work for kind in kinds for work in CHECKS[kind].references}
    return [text for name, text in REFERENCES.items() if name in {"PURPLE", *used, *works}]


def _aim(report: StudyReport) -> str:
    sizes = []
    for found in report.variables:
        last = found.attrition.iloc[-1] if len(found.attrition) else None
        if last is None or pd.isna(last["visits"]):
            continue
        size = size_words(report.unit, last["visits"], last["patients"])
        sizes.append(f"{size} in {len(found.counts)} groups by {found.name}")
    analysed = f" We analysed {'; '.join(sizes)}." if sizes else ""
    analysed += f" Features by kind: {report.features}." if report.features else ""
    return (
        f"We estimated the relative prevalence of {report.condition} among {report.population} "
        f"({report.source}), by {_listed([found.name for found in report.variables])}.{analysed}"
    )


def size_words(unit: Unit, visits: Any, patients: Any) -> str:
    """How many were analysed, such as "1,200 visits by 900 patients" or "900 people"."""
    by = "" if pd.isna(patients) or unit == PERSON else f" by {cell(patients)} patients"
    return f"{cell(visits)} {unit.plural}{by}"


def _estimation(report: StudyReport, used: list[str]) -> str:
    words = " ".join(f"{METHODS.get(name, name)}." for name in map(method_name, used))
    if any(found.main["ci_low"].notna().any() for found in report.variables):
        words += f" Intervals are pointwise {report.level:.0%} confidence intervals (log scale)."
        if report.sampling:
            words += f" Standard errors allow for {report.sampling}."
    results = [
        f"{row['group']} versus {versus_words(row['versus'])} "
        f"{with_interval(row['estimate'], row['ci_low'], row['ci_high'])}"
        for found in report.variables for row in found.main.to_dict("records")
        if not pd.isna(row["estimate"]) and not row.get("note")
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
    """Text with its paragraphs broken into lines, for a file."""
    parts = text.strip().split("\n\n")
    return "\n\n".join(textwrap.fill(p, width, break_on_hyphens=False) for p in parts) + "\n"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _lower(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
