"""Are conditions that are hardly ever missed left alone by the correction?

Controls are estimated like the condition (`relprev.controls`). Where they are recorded equally
well in all groups, their corrected ratio should equal the recorded one. The check counts in how
many of K controls the interval holds that truth; by chance alone the count is binomial with the
interval's level as probability. Concern is raised where a count so low has a probability below
5%: the correction is then off by more than chance. No concern also asks that the band in
which the systematic error of a single condition lies be within the margin. Where the features
predict the condition better than the controls (`relprev.controls.likeness`), the controls cannot
tell; where they predict it less well, what controls find is no reassurance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from relprev.checks.check import Axes, Check, CheckResult, Verdict
from relprev.checks.inputs import MARGIN, CheckInputs
from relprev.controls import Calibration
from relprev.controls.calibration import LEAST_CONTROLS
from relprev.controls.likeness import BETTER, WORSE
from relprev.disclosure.columns import Column
from relprev.estimates import COMPLEMENT, versus_words
from relprev.messages import Message, Number, joined

CONDITION = "the condition itself"
COLUMNS = (
    "control", "group", "versus", "n_recorded", "observed_ratio", "effective_cases", "auc", "error",
    "ci_low", "ci_high", "predicted_low", "predicted_high", "holds", "holds_calibrated",
)  # fmt: skip


def check_controls(calibration: Calibration, *, margin: float = MARGIN) -> list[CheckResult]:
    """Compare corrected with recorded ratios of control conditions.

    Parameters
    ----------
    calibration : Calibration
        From `relprev.calibrate`.
    margin : float
        Factor either way that a systematic error may have without concern.

    Returns
    -------
    list of CheckResult
        One per contrast, with a row per control and, last, one for the condition. ``auc`` says how
        well the features predict it within groups. ``error`` is the corrected over the recorded
        ratio, ``predicted_low`` and ``predicted_high`` where the other controls expect it.

    Notes
    -----
    Formula: :mod:`relprev.checks.controls`.

    Examples
    --------
    >>> from relprev import DebiasedPURPLE, calibrate
    >>> from relprev.simulate import visits_with_controls
    >>> world = visits_with_controls(20_000, n_controls=8, n_codes=60, spread=0.5, seed=2)
    >>> fitted = DebiasedPURPLE(lambdas=1e-4, strengths=[3.0]).fit(world.cohort)
    >>> [str(one.verdict) for one in check_controls(calibrate(fitted, world.cohort))]
    ['concern']
    """
    found, controls = calibration.to_frame(), calibration.leave_one_out()
    if len(found) == 2 and set(found["versus"]) == {COMPLEMENT}:
        found = found.iloc[:1]  # the other is its inverse
    results = []
    for position, row in enumerate(found.to_dict("records")):
        same = (controls["group"] == row["group"]) & (controls["versus"] == row["versus"])
        table = pd.concat(
            [controls[same].sort_values("error"), _condition(calibration.estimates, position, row)],
            ignore_index=True,
        ).astype({"n_recorded": "Int64"})
        versus = versus_words(row["versus"])
        name = f"{CHECK.title}: {row['group']} versus {versus}"
        verdict = _verdict(row, calibration.level, margin)
        results.append(CHECK.result(verdict, _words(row, calibration.level), table, name=name))
    return results


def _condition(estimates: pd.DataFrame, position: int, row: dict[Any, Any]) -> pd.DataFrame:
    """The row of the condition, below those of the controls; its counts are with the estimates."""
    own = estimates.iloc[position]
    mean, band = row["mean_error"], row["band"]
    values = {
        "control": CONDITION, "group": row["group"], "versus": row["versus"],
        "n_recorded": pd.NA, "observed_ratio": row["observed_ratio"],
        "effective_cases": own["effective_cases"], "auc": row["auc"],
        "error": 1 / own["diagnosis_ratio"],
        "ci_low": 1 / own["diagnosis_ci_high"], "ci_high": 1 / own["diagnosis_ci_low"],
        "predicted_low": mean / band, "predicted_high": mean * band,
        "holds": pd.NA, "holds_calibrated": pd.NA,
    }  # fmt: skip
    return pd.DataFrame([values], columns=list(COLUMNS))


def _verdict(row: dict[Any, Any], level: float, margin: float) -> Verdict:
    count, held = int(row["n_controls"]), int(row["held"])
    if count < LEAST_CONTROLS or row["likeness"] == BETTER:
        return Verdict.CANNOT_TELL
    if stats.binom.cdf(held, count, level) < 0.05:
        return Verdict.CONCERN
    band = np.log(row["band"]) + abs(np.log(row["mean_error"]))
    reassuring = band <= np.log(margin) and row["likeness"] != WORSE
    return Verdict.NO_CONCERN if reassuring else Verdict.CANNOT_TELL


def _words(row: dict[Any, Any], level: float) -> Message:
    count = int(row["n_controls"])
    if count < LEAST_CONTROLS:
        return Message(
            "Too few control conditions have enough recorded cases in these groups ({count}, at "
            "least {least} are needed), so they do not show how far the correction is off.",
            count=Number(count), least=Number(LEAST_CONTROLS),
        )  # fmt: skip
    told = Message(
        "{held} of {count} control conditions have a {level} interval that holds their recorded "
        "ratio. The correction multiplies a ratio that needs none by {mean} on average; for "
        "a single condition the factor lies between {low} and {high} ({level} band).",
        held=Number(int(row["held"])), count=Number(count), level=Number(level, ".0%"),
        mean=Number(row["mean_error"], ".2f"), low=Number(row["mean_error"] / row["band"], ".2f"),
        high=Number(row["mean_error"] * row["band"], ".2f"),
    )  # fmt: skip
    if row["calibrated_withheld"]:
        why = Message("The estimate is not calibrated: {why}{auc}.",
                      why=row["calibrated_withheld"], auc=_compared(row, BETTER))  # fmt: skip
        return joined([told, why])
    calibrated = Message(
        "Predicted from the other controls, {held} of {count} are held; the calibrated estimate "
        "allows for errors of that size.",
        held=Number(int(row["held_calibrated"])), count=Number(count),
    )  # fmt: skip
    if row["likeness"] != WORSE:
        return joined([told, calibrated])
    worse = Message(
        "The features predict the condition less well than they predict the controls{auc}, so that "
        "its error may be larger than theirs.",
        auc=_compared(row, WORSE),
    )
    return joined([told, calibrated, worse])


def _compared(row: dict[Any, Any], likeness: str) -> Message | str:
    """The AUC of the condition beside those of the controls, where that is the point."""
    if row["likeness"] != likeness:
        return ""
    return Message(
        " (AUC within groups {auc}, where the controls suggest {low} to {high})",
        auc=Number(row["auc"], ".2f"), low=Number(row["auc_low"], ".2f"),
        high=Number(row["auc_high"], ".2f"),
    )  # fmt: skip


def _run(given: CheckInputs) -> list[CheckResult]:
    if given.cohort.control_names:
        return check_controls(given.calibration, margin=given.margin)
    nothing = pd.DataFrame(columns=list(COLUMNS))
    words = Message(
        "There are no control conditions in these data, so nothing shows how far the correction is "
        "off where the truth is known. Name some in [controls] of the study file."
    )
    return [CHECK.result(Verdict.CANNOT_TELL, words, nothing)]


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    if not len(table):
        return
    is_control = (table["control"] != CONDITION).to_numpy()
    condition, rows = table[~is_control].iloc[-1], table[is_control]
    position = np.arange(len(rows)) + 1.0
    if np.isfinite(condition["predicted_low"]):
        ax.axvspan(condition["predicted_low"], condition["predicted_high"], color="C0",
                   alpha=0.15, linewidth=0, label="where a condition's error may lie")  # fmt: skip
    ax.axvline(1.0, color="grey", linewidth=1)
    for some, place, marker, colour, words in (
        (rows, position, "o", "C0", "control conditions"),
        (table[~is_control], np.zeros(1), "D", "C1", "what was done to the condition"),
    ):
        value = some["error"].astype(float)
        ends = [value - some["ci_low"].astype(float), some["ci_high"].astype(float) - value]
        ax.errorbar(value, place, xerr=ends, fmt=marker, markersize=4, color=colour, label=words)
    ax.set_yticks([0.0, *position], [CONDITION, *rows["control"]])
    ax.set_xscale("log")
    ax.set_xlabel("corrected over recorded ratio")
    ax.legend()


CHECK = Check(
    kind="controls",
    title="Control conditions",
    explained=(
        "Control conditions are hardly ever missed, in any group, so their recorded ratio is the "
        "truth and whatever the correction does to them is an error. Each is estimated like the "
        "condition of the study. If their intervals often miss 1, the correction is off by more "
        "than chance, and the calibrated estimate, which allows for that, is the one to use. It "
        "rests on the condition being one of their kind: among other things, the features should "
        "predict it about as well as they predict the controls (AUC)."
    ),
    run=_run,
    needs=("debiased",),
    table=dict.fromkeys(["control", "group", "versus"], Column.NAME)
    | {"n_recorded": Column.COUNT}
    | dict.fromkeys(["observed_ratio", "effective_cases", "auc"], Column.REVEALING)
    | dict.fromkeys(COLUMNS[7:], Column.FREE),
    columns=("control", "n_recorded", "auc", "observed_ratio", "error", "ci_low", "ci_high",
             "predicted_low", "predicted_high", "holds_calibrated"),
    interval="error",
    draw=_draw,
    references=("Calibrated",),
    seconds=60.0,
)  # fmt: skip
