"""Words that every room of a report uses: names of methods, assumptions, glossary, lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from relprev.display import cell
from relprev.units import PERSON, Unit

ASSUMPTIONS = (
    "Nobody is diagnosed wrongly: whoever has the recorded diagnosis has the condition.",
    "Within a group, diagnosis is random among cases: it may depend on the group, not on symptoms.",
    "The same symptoms mean the same risk in every group.",
)
PAPER = "PURPLE, the paper's protocol"
METHOD_NAMES = {  # names in study files and findings
    "calibrated": "Calibrated", "debiased": "DebiasedPURPLE", "purple": "PURPLE",
    "paper": PAPER,
}  # fmt: skip
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


def method_name(name: str) -> str:
    """The name of an estimator for readers."""
    return METHOD_NAMES.get(name, name)


def size_words(unit: Unit, visits: Any, patients: Any) -> str:
    """How many were analysed, such as "1,200 visits by 900 patients" or "900 people"."""
    by = "" if pd.isna(patients) or unit == PERSON else f" by {cell(patients)} patients"
    return f"{cell(visits)} {unit.plural}{by}"


def listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def lower_first(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def feature_words(feature: str, description: str) -> str:
    """A feature's code and, where there is one, its description."""
    return f"{feature}: {description}" if description and description != feature else feature


def symptom_words(row: Mapping[Any, Any]) -> str:
    """The words for a feature in a row of a table of symptoms."""
    words = row.get("description")
    return feature_words(str(row["feature"]), words if isinstance(words, str) else "")
