"""What a row of an atlas says, in words: the answer, its checks, and what would change it.

With alpha the factor by which the condition is more common in the group at equal features, the
corrected ratio rho becomes alpha rho. The recorded ratio is right at alpha = the ratio of diagnosis
rates, and the interval of rho reaches 1 at the alpha* of `relprev.checks.sensitivity`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relprev.atlas.result import FOLLOWED
from relprev.checks.sensitivity import tipping_factor
from relprev.display import with_interval
from relprev.estimates import versus_words
from relprev.inference.intervals import FEW_CASES

ROBUST = "robust_"
Row = Mapping[Any, Any]


@dataclass(frozen=True)
class Reading:
    """A comparison of a condition in words.

    Parameters
    ----------
    pair : str
        Which groups are compared.
    answer : str
    checks, changes : list of str
        What was checked, and what it would take to change the answer; empty without an answer.
    """

    pair: str
    answer: str
    checks: list[str]
    changes: list[str]


def pair_words(row: Row) -> str:
    """Which groups a row compares."""
    return f"{row['group']} versus {versus_words(row['versus'])}"


def usual(null: Row) -> tuple[float, float]:
    """The range that, apart from chance, holds 95% of the ratios of diagnosis rates."""
    low, high = np.exp(null["centre"] + np.array([-1.96, 1.96]) * null["spread"])
    return float(low), float(high)


def null_words(null: Row) -> str:
    """What is usual among all conditions of a comparison."""
    count = f"{int(null['conditions']):,} conditions"
    if _missing(null["spread"]):
        return f"{pair_words(null)}: {count} with an answer, too few to say what is usual."
    low, high = usual(null)
    return (
        f"{pair_words(null)}: {count} with an answer. Apart from chance, the diagnosis-rate ratios "
        f"of 95% of them lie between {low:.2f} and {high:.2f}, around {np.exp(null['centre']):.2f}."
    )


def reading(row: Row, null: Row) -> Reading:
    """What a row says, given the null of its comparison."""
    pair, group, versus = pair_words(row), row["group"], versus_words(row["versus"])
    if row["withheld"]:
        return Reading(pair, f"No answer: {row['withheld']}.", [], [])
    if _missing(row["diagnosis_ratio"]):
        return Reading(pair, "The numbers are hidden.", [], [])
    prefix = ROBUST if row["method"] == FOLLOWED else ""
    ratio, estimate = row[f"{prefix}diagnosis_ratio"], row[f"{prefix}estimate"]
    answer = (
        f"Recorded {row['observed_ratio']:.2f} times as often in “{group}” as in “{versus}”. By "
        f"the other features of its cases it would be {estimate:.2f} times as common, so that a "
        f"case would be {ratio:.2f} times as likely to be recorded."
    )
    return Reading(pair, answer, _checks(row, null), _changes(row, prefix, group, versus))


def _missing(value: Any) -> bool:
    return bool(pd.isna(value))


def _checks(row: Row, null: Row) -> list[str]:
    said = []
    if not _missing(null["spread"]):
        low, high = usual(null)
        place = "inside" if low <= row["diagnosis_ratio"] <= high else "outside"
        said.append(
            "Is it unusual? Its diagnosis-rate ratio by cases alone, "
            f"{row['diagnosis_ratio']:.2f}, lies {place} of what is usual among all conditions "
            f"({low:.2f} to {high:.2f}, apart from chance)."
        )
    said.append(
        "Do the features predict it? The AUC within groups is "
        f"{with_interval(row['auc'], row['auc_low'], row['auc_high'])}; 0.5 would be not at all."
    )
    if not _missing(row["effective_cases"]):
        few = " These are few." if row["effective_cases"] < FEW_CASES else ""
        said.append(
            f"Are there enough cases? They inform as {row['effective_cases']:.0f} cases would if "
            f"all visits could belong to any group.{few}"
        )
    if row["method"] == FOLLOWED:
        ends = (row[f"{ROBUST}diagnosis_{end}"] for end in ("ratio", "ci_low", "ci_high"))
        said.append(
            "Does a risk model agree? With one (doubly robust) the diagnosis-rate ratio is "
            f"{with_interval(*ends)}; by cases alone it was {row['diagnosis_ratio']:.2f}."
        )
    else:
        said.append("Does a risk model agree? None was fitted, as it did not stand out enough.")
    return said


def _changes(row: Row, prefix: str, group: str, versus: str) -> list[str]:
    estimate, low, high = (row[f"{prefix}{name}"] for name in ("estimate", "ci_low", "ci_high"))
    said = [
        "The recorded ratio would be right if, at equal features, the condition were "
        f"{row[f'{prefix}diagnosis_ratio']:.2f} times as likely in “{group}” as in “{versus}”."
    ]
    tip = tipping_factor(estimate, low, high)
    if tip == 1.0:
        said.append("The interval of the corrected ratio holds 1 already.")
    else:
        said.append(
            f"The interval of the corrected ratio would reach 1 if it were {tip:.2f} times as "
            "likely."
        )
    return said
