"""Does a feature record the diagnosis under another name?

A symptom raises the chance of a diagnosis; a synonym of the diagnosis all but implies it. If n rows
have a feature and k of them are diagnosed, its predictive value is k / n, with Wilson's interval,
and its reach is the share of all diagnosed rows that have it. Of a number, its highest and its
lowest twentieth are features (`relprev.checks.tails`). A feature whose interval lies above one half
is suspicious: if a condition is underreported, even certain cases are rarely diagnosed that often.

One suspicious feature is a concern, whatever its reach: it can be removed. A feature whose interval
holds one half is undecided. With u the joint reach of all undecided features (at most the sum of
theirs), leaving their cases out would change the recorded cases by the factor 1 / (1 - u) at
most. There is no concern if that is within the margin, and otherwise the check cannot tell.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from relprev.arrays import FloatArray
from relprev.checks.check import Axes, Check, CheckResult, Verdict
from relprev.checks.feature_counts import feature_counts, feature_labels, patient_counts
from relprev.checks.inputs import MARGIN
from relprev.checks.tails import with_tails
from relprev.cohort import Cohort, CohortPart
from relprev.disclosure.columns import Column
from relprev.errors import InvalidInputError
from relprev.messages import Message, Number

SHOWN = 20
NAMED = 5  # features in a sentence


def check_leakage(
    cohort: Cohort, *, threshold: float = 0.5, min_rows: int = 11, level: float = 0.95,
    margin: float = MARGIN,
) -> CheckResult:  # fmt: skip
    """Features that nearly determine the diagnosis.

    Parameters
    ----------
    cohort : Cohort
        Features are named by ``feature_names``, or by column number.
    threshold : float
        Predictive value that no symptom should reach.
    min_rows : int
        Features with fewer diagnosed rows are ignored: what is listed, and how high, must not
        depend on counts that a report hides.
    level : float
        Confidence level of the intervals.
    margin : float
        Factor by which the recorded cases may rest on features that are undecided.

    Returns
    -------
    CheckResult
        A concern if some feature all but implies the diagnosis. ``table`` counts rows and, if
        the cohort identifies them, patients.

    Notes
    -----
    Formula: :mod:`relprev.checks.leakage`.

    Examples
    --------
    >>> from relprev.simulate import ed_visits
    >>> print(check_leakage(ed_visits(20_000, n_codes=200, seed=0).cohort).verdict)
    no concern
    """
    if not 0 < threshold < 1:
        raise InvalidInputError(f"threshold must be between 0 and 1, got {threshold}")
    cohort = with_tails(cohort)
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
    table = table[table["n_diagnosed"] >= min_rows]
    table = table.sort_values("ci_low", ascending=False, kind="stable")
    table = table.assign(suspicious=table["ci_low"] > threshold)
    undecided = (table["ci_low"] <= threshold) & (table["ci_high"] > threshold)
    rests = 1 / max(1 - float(table.loc[undecided, "reach"].sum()), 1e-12)
    table = table.head(max(SHOWN, int(table["suspicious"].sum())))
    table = table.assign(**patient_counts(cohort, table.index.to_numpy())).reset_index(drop=True)
    return CHECK.result(*_found(table, threshold, rests > margin), table)


def _counts(cohort: CohortPart) -> tuple[FloatArray, FloatArray, int]:
    """Rows and diagnosed rows with each feature, and the total number of diagnosed rows."""
    rows = feature_counts(cohort, np.ones(cohort.n))
    return rows, feature_counts(cohort, cohort.diagnosed), int(cohort.diagnosed.sum())


def wilson(
    successes: FloatArray, trials: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval for a share; (0, 1) without trials."""
    z = float(stats.norm.ppf(0.5 + level / 2))
    n = np.maximum(trials, 1e-12)
    share = successes / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    low, high = np.minimum(middle - half, share), np.maximum(middle + half, share)  # rounding
    empty = trials == 0
    return np.where(empty, 0.0, low), np.where(empty, 1.0, high)


def _found(table: pd.DataFrame, threshold: float, undecided: bool) -> tuple[Verdict, Message]:
    """The verdict and finding, worded so that no order reveals features of few people."""
    if table.empty:
        return Verdict.CANNOT_TELL, Message("No feature occurs often enough to judge.")
    names = sorted(table.loc[table["suspicious"], "feature"])
    if not names:
        top = table.iloc[0]
        cells = (("n", top["feature"]), ("n_diagnosed", top["feature"]))
        if undecided:
            return Verdict.CANNOT_TELL, Message(
                "No feature is found to imply the diagnosis, but many recorded cases have features "
                "too rare to exclude it."
            )
        return Verdict.NO_CONCERN, Message(
            "No feature implies the diagnosis: {share} of the rows with the most telling one are "
            "diagnosed.",
            share=Number(top["predictive_value"], ".0%", cells),
        )
    return Verdict.CONCERN, Message(
        "Features that imply the diagnosis in more than {threshold} of their rows: {number}, "
        "{among}{names}. Remove them from X if they record the condition under another name.",
        threshold=Number(threshold, ".0%"), number=Number(len(names)),
        among="among them " if len(names) > NAMED else "", names=names[:NAMED],
    )  # fmt: skip


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    shown = table[table["predictive_value"].notna()].head(SHOWN).iloc[::-1]
    if shown.empty:
        return
    value = shown["predictive_value"]
    error = [value - shown["ci_low"], shown["ci_high"] - value]
    ax.errorbar(value, np.arange(len(shown)), xerr=error, fmt="o", color="C0")
    ax.set_yticks(np.arange(len(shown)), shown["feature"])
    ax.set_xlim(0, 1)
    ax.set_xlabel("share diagnosed among rows with the feature")


CHECK = Check(
    kind="leakage",
    title="Leakage of the diagnosis into the features",
    explained=(
        "Looks for features that all but imply the diagnosis, and so may record it under another "
        "name. Such features should be removed."
    ),
    run=lambda given: [check_leakage(given.cohort, level=given.level, margin=given.margin)],
    table={"feature": Column.NAME, "suspicious": Column.FREE}
    | dict.fromkeys(["n", "n_diagnosed", "patients", "patients_diagnosed"], Column.COUNT)
    | dict.fromkeys(["predictive_value", "reach"], Column.SHARE)
    | dict.fromkeys(["ci_low", "ci_high"], Column.REVEALING),
    columns=("feature", "n", "n_diagnosed", "predictive_value", "reach", "suspicious"),
    interval="predictive_value",
    draw=_draw,
    seconds=0.5,
)
