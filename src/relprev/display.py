"""Format numbers and column names for readers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relprev.units import VISIT, Unit

MISSING = "–"  # hidden, or not available

HEADINGS = {
    "group": "Group",
    "versus": "Compared with",
    "observed_ratio": "Recorded ratio",
    "diagnosis_ratio": "Diagnosis-rate ratio",
    "estimate": "Corrected ratio",
    "truth": "Truth",
    "n_diagnosed": "Diagnosed",
    "n_recorded": "Recorded",
    "note": "Note",
    "error": "Corrected over recorded",
    "predicted_low": "Expected from",
    "predicted_high": "Expected to",
    "holds_calibrated": "Held",
    "p_value": "P value",
    "split_sd": "SD over splits",
    "p_adjusted": "P value, adjusted",
    "ci_low": "Interval from",
    "ci_high": "Interval to",
    "std_error": "Standard error (log)",
    "purple": "PURPLE",
    "debiased": "DebiasedPURPLE",
    "z": "z statistic",
    "fifth": "Fifth of risk",
    "predicted": "Predicted share",
    "predicted_sd": "SD of predicted",
    "recorded": "Recorded share",
    "recorded_sd": "SD of recorded",
    "drawn": "Drawn",
    "sure_share": "Certain of group",
    "exclusive_codes": "Codes no other group has",
    "diagnosed_with_exclusive_codes": "Diagnosed with such codes",
    "effective_cases": "Informative cases",
    "mixing": "Mixing",
    "predictive_value": "Diagnosed among them",
    "reach": "Share of all diagnosed",
    "where": "Where",
    "drift": "Change of ratio (factor)",
    "size": "Size",
    "estimate_low": "Ratio from",
    "estimate_high": "Ratio to",
    "auc": "AUC",
    "stratum": "Stratum",
    "unadjusted": "Unadjusted ratio",
    "rate": "Recorded rate",
    "diagnosis_rate": "Diagnosis rate",
    "prevalence": "Prevalence",
    "outside": "Outside value",
}
PERCENT = {
    "predicted", "predicted_sd", "recorded", "recorded_sd", "sure_share",
    "diagnosed_with_exclusive_codes", "predictive_value", "reach", "diagnosis_rate", "prevalence",
    "rate",
}  # fmt: skip
ROUNDED = {"effective_cases"}


def heading(column: str, unit: Unit = VISIT) -> str:
    """Heading of a column; one that counts rows is called by what a row is.

    Examples
    --------
    >>> heading("observed_ratio"), heading("held_out_loss")
    ('Recorded ratio', 'Held out loss')
    """
    if column == "n":
        return unit.plural.capitalize()
    return HEADINGS.get(column, column.replace("_", " ").capitalize())


def cell(value: Any, column: str = "") -> str:
    """A value as text; a dash where it is hidden or missing.

    Examples
    --------
    >>> cell(1234567), cell(2.414), cell(-0.05), cell(0.031, "reach"), cell(1e-5, "p_value")
    ('1,234,567', '2.41', '-0.050', '3.1%', '<0.001')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or pd.isna(value):
        return MISSING
    if column in ("p_value", "p_adjusted"):
        return "<0.001" if value < 0.001 else ">0.99" if value > 0.99 else f"{value:.3f}"
    if float(value).is_integer() and not isinstance(value, float):
        return f"{int(value):,}"
    if column in PERCENT:
        return f"{value:.1%}"
    if column in ROUNDED:
        return f"{value:,.0f}"
    if 0 < abs(value) < 0.0095:
        return f"{value:.1g}"
    return f"{value:.3f}" if 0 < abs(value) < 0.095 else f"{value:,.2f}"


def with_interval(value: Any, low: Any, high: Any, column: str = "") -> str:
    """An estimate with its interval.

    Examples
    --------
    >>> with_interval(2.414, 1.9, 3.05)
    '2.41 (1.90 to 3.05)'
    """
    if pd.isna(value) or pd.isna(low):
        return cell(value, column)
    return f"{cell(value, column)} ({cell(low, column)} to {cell(high, column)})"
