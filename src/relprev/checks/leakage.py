"""Does a feature record the diagnosis under another name?

A symptom raises the chance of a diagnosis; a synonym of the diagnosis all but implies it.
For every feature: n rows with it, k of them diagnosed, the predictive value k / n with
Wilson's interval, and the reach (share of all diagnosed rows that have it). A feature
whose interval lies above one half is suspicious: even certain cases are rarely diagnosed
that often when a condition is underreported.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import stats

from relprev.arrays import FloatArray
from relprev.checks.check import CheckResult
from relprev.checks.feature_counts import feature_counts, feature_labels
from relprev.cohort import Cohort, CohortPart
from relprev.errors import InvalidInputError

SHOWN = 20


def check_leakage(
    cohort: Cohort, *, threshold: float = 0.5, min_rows: int = 10, level: float = 0.95
) -> CheckResult:
    """Features that nearly determine the diagnosis.

    Parameters
    ----------
    cohort : Cohort
    threshold : float
        Predictive value that a symptom should not reach.
    min_rows : int
        Features with fewer rows are left out.
    level : float
        Of the intervals.

    Returns
    -------
    CheckResult
        Of concern if some feature all but implies the diagnosis.

    Notes
    -----
    Formula: :mod:`relprev.checks.leakage`.

    Examples
    --------
    >>> from relprev.simulate import ed_visits
    >>> check_leakage(ed_visits(20_000, n_codes=200, seed=0).cohort).verdict
    'no concern'
    """
    if not 0 < threshold < 1:
        raise InvalidInputError(f"threshold must be between 0 and 1, got {threshold}")
    rows, diagnosed, n_diagnosed = cohort.total(_counts)
    low, high = wilson(diagnosed, rows, level)
    table = pd.DataFrame(
        {
            "feature": feature_labels(cohort),
            "n": rows.astype(int),
            "n_diagnosed": diagnosed.astype(int),
            "predictive_value": diagnosed / np.maximum(rows, 1),
            "ci_low": low,
            "ci_high": high,
            "reach": diagnosed / n_diagnosed,
        }
    )
    table = table[table["n"] >= min_rows].sort_values("ci_low", ascending=False, kind="stable")
    table = table.assign(suspicious=table["ci_low"] > threshold).reset_index(drop=True)
    found = int(table["suspicious"].sum())
    shown = table.head(max(SHOWN, found))
    return CheckResult(
        name="Leakage of the diagnosis into the features",
        verdict="concern" if found else "no concern",
        effect=_words(shown, found, threshold),
        table=shown,
        draw=_draw,
    )


def _counts(cohort: CohortPart) -> tuple[FloatArray, FloatArray, int]:
    """Rows, and diagnosed rows, with each feature; and diagnosed rows in all."""
    rows = feature_counts(cohort, np.ones(cohort.n))
    return rows, feature_counts(cohort, cohort.diagnosed), int(cohort.diagnosed.sum())


def wilson(
    successes: FloatArray, trials: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval of a share; (0, 1) without trials."""
    z = float(stats.norm.ppf(0.5 + level / 2))
    n = np.maximum(trials, 1e-12)
    share = successes / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    low, high = np.minimum(middle - half, share), np.maximum(middle + half, share)  # but rounding
    empty = trials == 0
    return np.where(empty, 0.0, low), np.where(empty, 1.0, high)


def _words(table: pd.DataFrame, found: int, threshold: float) -> str:
    if table.empty:
        return "No feature occurs often enough to judge."
    if not found:
        top = table.iloc[0]
        return (
            f"No feature implies the diagnosis: the highest predictive value is "
            f"{top['predictive_value']:.0%} ({top['feature']})."
        )
    names = ", ".join(table["feature"].head(min(found, 5)))
    return (
        f"{found} features imply the diagnosis in more than {threshold:.0%} of their rows, first "
        f"{names}; remove them from X if they record the condition in another way."
    )


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    shown = table.head(SHOWN).iloc[::-1]
    value = shown["predictive_value"]
    error = [value - shown["ci_low"], shown["ci_high"] - value]
    ax.errorbar(value, np.arange(len(shown)), xerr=error, fmt="o", color="C0")
    ax.set_yticks(np.arange(len(shown)), shown["feature"])
    ax.set_xlim(0, 1)
    ax.set_xlabel("share diagnosed among rows with the feature")
