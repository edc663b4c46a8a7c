"""A methods section to be pasted into a paper, with citations that match its list of works."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd

from relprev.checks.registry import CHECKS
from relprev.display import cell, with_interval
from relprev.estimates import versus_words
from relprev.report.findings import StudyReport
from relprev.report.sentences.answers import checks_of, trust
from relprev.report.sentences.words import (
    ASSUMPTIONS,
    PAPER,
    listed,
    lower_first,
    method_name,
    size_words,
)

METHODS = {
    "Calibrated": (
        "Calibrated estimates are those of DebiasedPURPLE corrected by control conditions, which "
        "are hardly ever missed in any group: the mean of the controls' errors is taken off, and "
        "the prediction interval allows for their spread from condition to condition"
    ),
    "DebiasedPURPLE": (
        "DebiasedPURPLE estimates the ratio of diagnosis rates from the diagnosed by a doubly "
        "robust score and divides the recorded ratio by it; group propensities and risk are fitted "
        "out of fold, by models that are linear in the features unless richer ones (curves, "
        "products, trees) predict better; standard errors come from the influence function, in "
        "which the part of the risk that the model leaves out is counted"
    ),
    "PURPLE": (
        "PURPLE fits p(diagnosed | symptoms, group) = p(condition | symptoms) × diagnosis rate of "
        "the group by L1-penalised maximum likelihood and compares the groups' mean "
        "p(condition | symptoms); it gives no interval"
    ),
    PAPER: (
        "By the protocol of the paper that introduced PURPLE, patients were split at random, five "
        "times, into parts of 60, 20 and 20%, the model was fitted to the first, its penalty "
        "chosen on the second by AUC, and the ratio estimated on the third; given are mean and "
        "standard deviation over the splits"
    ),
}
REFERENCES = {
    "PURPLE": (
        "Shanmugam D, Hou K, Pierson E. Quantifying disparities in intimate partner violence: a "
        "machine learning method to correct for underreporting. npj Women's Health 2024;2:15."
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

NOT = "not: "  # begins a rule on who is left out


def methods_text(report: StudyReport) -> str:
    """A methods section with the numbers of this run, and references."""
    numbers = {name: k for k, name in enumerate(_works(report), 1)}
    paragraphs = [
        _aim(report),
        _definitions(report),
        "The ratio of recorded rates misleads if groups are diagnosed at different rates. "
        f"Relative prevalence{_cited(['PURPLE'], numbers)} corrects for this under three "
        "assumptions: "
        + " ".join(f"({k}) {text[0].lower()}{text[1:-1]}{';' if k < 3 else '.'}"
                   for k, text in enumerate(ASSUMPTIONS, 1)),
        _estimation(report, numbers),
        _further(report),
        _checking(report, numbers),
        _software(report),
    ]  # fmt: skip
    paragraphs += [f"{k}. {REFERENCES[name]}" for name, k in numbers.items()]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def _works(report: StudyReport) -> list[str]:
    """Keys of the works to cite for this run, in the order of the list."""
    kinds = {check.kind for found in report.variables for check in found.checks}
    works = {work for kind in kinds for work in CHECKS[kind].references}
    return [name for name in REFERENCES if name in {"PURPLE", *_used(report), *works}]


def _used(report: StudyReport) -> list[str]:
    """Names of the methods used, for readers, each once."""
    names = (method_name(name) for found in report.variables for name in found.estimates)
    return list(dict.fromkeys(names))


def _cited(works: list[str], numbers: Mapping[str, int]) -> str:
    """A citation such as " [1, 3]"; empty if no work is in the list."""
    found = sorted(numbers[work] for work in works if work in numbers)
    return f" [{', '.join(map(str, found))}]" if found else ""


def _aim(report: StudyReport) -> str:
    sizes = []
    for found in report.variables:
        last = found.attrition.iloc[-1] if len(found.attrition) else None
        if last is None or pd.isna(last["visits"]):
            continue
        size = size_words(report.unit, last["visits"], last["patients"])
        sizes.append(f"{size} in {len(found.counts)} groups by {found.name}")
    analysed = f" We analysed {'; '.join(sizes)}." if sizes else ""
    return (
        f"We estimated the relative prevalence of {report.condition} among {report.population} "
        f"({report.source}), by {listed([found.name for found in report.variables])}.{analysed}"
    )


def _definitions(report: StudyReport) -> str:
    """Who was included, what counts as the condition and as a symptom, and the weights."""
    words = []
    kept = [rule for rule in report.rules if not rule.startswith(NOT)]
    left = [rule.removeprefix(NOT) for rule in report.rules if rule.startswith(NOT)]
    if kept:
        words.append(f"Included were {report.unit.plural} with {listed(kept)}.")
    if left:
        words.append(f"Left out were {report.unit.plural} with {' or '.join(left)}.")
    if report.condition_codes:
        by = f"by {report.case}; the codes are" if report.case else "with one of the codes"
        codes = ", ".join(report.condition_codes)
        codes += " (an asterisk stands for any ending)" if "*" in codes else ""
        words.append(f"A {report.unit.noun} counted as diagnosed {by} {codes}.")
    if report.features:
        words.append(
            "What else was recorded served as symptoms, without the condition's own codes: "
            f"{report.features}."
        )
    if words:
        weighted = "Sampling weights were used" if report.weighted else "No weights were used"
        words.append(f"{weighted}.")
    return " ".join(words)


def _estimation(report: StudyReport, numbers: Mapping[str, int]) -> str:
    words = " ".join(
        f"{METHODS.get(name, name)}{_cited([name], numbers)}." for name in _used(report)
    )
    if any(found.main["ci_low"].notna().any() for found in report.variables):
        words += f" Intervals are pointwise {report.level:.0%} confidence intervals (log scale)."
        if report.sampling:
            words += f" Standard errors allow for {report.sampling}."
    results = [
        f"{row['group']} versus {versus_words(row['versus'])} "
        f"{with_interval(row['estimate'], row['ci_low'], row['ci_high'])}{_over_splits(row)}"
        for found in report.variables for row in found.main.to_dict("records")
        if not pd.isna(row["estimate"]) and not row.get("note")
    ]  # fmt: skip
    return f"{words} Estimates: {'; '.join(results)}." if results else words


def _over_splits(row: Mapping[Any, Any]) -> str:
    """The standard deviation of the paper's protocol, if that was followed."""
    spread = row.get("split_sd")
    return "" if spread is None or pd.isna(spread) else f" ± {cell(spread)}"


def _further(report: StudyReport) -> str:
    """Analyses besides the main one: strata, a standard, absolute rates; each said once."""
    by: dict[str, list[str]] = {}  # what was done, and the variables
    for found in report.variables:
        for one in found.analyses:
            if one.kind == "recorded":
                continue
            said = " and ".join(map(str, one.words))
            if one.kind == "strata":
                trend = ", and a trend," if " per unit of " in said else ""
                what = (
                    f"groups were also compared within strata of {one.name}, each estimated on its "
                    f"own; whether strata differ{trend} was tested"
                )
            elif one.kind == "standardised":
                what = f"relative prevalences were also {said}"
            else:
                what = f"absolute rates rest on an {said}"
            by.setdefault(what, []).append(found.name)
    words = [f"By {listed(names)}, {what}." for what, names in by.items()]
    return " ".join(words)


def _checking(report: StudyReport, numbers: Mapping[str, int]) -> str:
    made = {check.name: check.kind for _, check in checks_of(report, assumption=True)}
    words = ""
    if made:
        names = [
            lower_first(name) + _cited(list(CHECKS[kind].references), numbers)
            for name, kind in made.items()
        ]
        words = f"Assumptions were checked: {listed(names)}. {trust(report).heading}. "
    asked = dict.fromkeys(check.kind for _, check in checks_of(report, assumption=False))
    if asked:
        works = [work for kind in asked for work in CHECKS[kind].references]
        words += (
            f"Sensitivity analyses{_cited(works, numbers)} varied the assumptions and give the "
            "point at which an interval reaches 1. "
        )
    if report.unchecked:
        left = listed([lower_first(name) for name in report.unchecked])
        words += f"Not made: {left}. "
    return words + report.rule.words


def _software(report: StudyReport) -> str:
    versions = report.manifest.get("versions", {})
    named = versions if isinstance(versions, Mapping) else {}
    together = ", ".join(f"{name} {value}" for name, value in named.items())
    seed = report.manifest.get("seed")
    words = f"Software: {together}." if together else "Software: relprev."
    return words if seed is None else f"{words} Seed {seed}."


def wrapped(text: str, width: int = 90) -> str:
    """Text with its paragraphs broken into lines, for a file."""
    parts = text.strip().split("\n\n")
    return "\n\n".join(textwrap.fill(p, width, break_on_hyphens=False) for p in parts) + "\n"
