"""Are the predicted diagnosis rates right within every group?

Predictions p = p(s=1|x,g) for held-out patients (`relprev.checks.held_out`) are divided into
fifths within each group (`relprev.checks.fifths`), where predicted and recorded rates should
agree. On all held-out rows of group g,

    logit p(s=1) = a_g + b_g logit p,

where b < 1 means that predictions are too extreme, and a > 0 that they are too low. With the
covariance V of the influence functions under the sampling design (where a stratum's only PSU
contributes its distance from the mean), Wald's statistic answers two questions:

- Do the slopes differ? H: all b_g are equal. The verdict rests on this, because under the
  assumptions all groups share one p(y=1|x). (Intercepts say little: c_g is fitted to each
  group's recorded share, and if all slopes are off, intercepts vary with that share.)
  The violation is what a difference of slopes amounts to: with R the distance between the 5th
  and the 95th percentile of logit p among expected cases and r the group with most diagnosed
  rows, the odds of a diagnosis change by the factor exp((b_g - b_r) R) more in g than in r from
  low to high risk. No concern if the intervals of all groups' factors lie within the margin; a
  concern if one does not and is found, by Holm's adjustment for the number of groups.
- Is any group miscalibrated? H: a_g = 0 and b_g = 1, with p-values adjusted by Holm's method.
  With few cases for many features and a coarse grid of penalties, PURPLE overfits and b is
  below 1 in all groups, even if the assumptions hold; it tends to 1 as cases increase. The
  finding says so.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

from relprev.arrays import FloatArray
from relprev.checks.check import NAN, Axes, Check, CheckResult, Verdict, decisive, margin_words
from relprev.checks.fifths import logit, rates_by_fifth
from relprev.checks.held_out import (
    HeldOut,
    SplitFits,
    diagnosis_by,
    predicted_by_split,
    rotations,
)
from relprev.checks.inputs import MARGIN
from relprev.checks.quantiles import weighted_quantiles
from relprev.checks.recalibration import recalibration
from relprev.cohort import Cohort
from relprev.disclosure.columns import Column
from relprev.inference.intervals import holm
from relprev.messages import Message, Number, joined
from relprev.model import PURPLE
from relprev.rows import Rows

RISK_RANGE = (0.05, 0.95)  # quantiles of the expected cases' logit p


def check_calibration(
    cohort: Cohort, estimator: PURPLE | None = None, *, level: float = 0.95,
    margin: float = MARGIN, random_state: int = 0, fits: SplitFits | None = None,
) -> CheckResult:  # fmt: skip
    """The paper's calibration check, with tests of each group's slope and intercept.

    Parameters
    ----------
    cohort : Cohort
        Every row is held out once.
    estimator : PURPLE, optional
        Refitted to the training part of every split.
    level : float
        Confidence level of the intervals; tests reject below ``1 - level``.
    margin : float
        A difference between groups of less than this factor, over the range of risk, is no
        concern.
    random_state : int
        Seed of the splits.
    fits : SplitFits, optional
        Fits to the same cohort that another check has made, and may use.

    Returns
    -------
    CheckResult
        A concern if the groups' slopes differ; ``effect`` also says if all are off.
        ``interval`` is that of the factor the verdict rests on. ``table`` counts rows and, if the
        cohort identifies them, patients.

    Notes
    -----
    Formula: :mod:`relprev.checks.calibration`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), n=(2000, 3000), seed=0).cohort
    >>> print(check_calibration(cohort, PURPLE(lambdas=[1e-4])).verdict)  # too few cases
    cannot tell
    """
    estimator = PURPLE() if estimator is None else estimator
    rows = _held_out(cohort, estimator, random_state, SplitFits() if fits is None else fits)
    tests, statistic, p_value = recalibration(rows, cohort)
    tests, verdict, worst = _judged(rows, tests, p_value, level, margin)
    table = rates_by_fifth(rows, cohort).merge(tests, on="group", how="left")
    said = _effect(tests, 1 - level, p_value == p_value)
    interval = (NAN, NAN)
    if worst is not None:
        interval = float(worst["factor_low"]), float(worst["factor_high"])
        said += [_factor_words(worst), *margin_words(verdict, *interval, margin)]
    few = sorted(table.loc[~table["drawn"], "group"].unique())
    if few:
        said.append(Message("Too few held-out rows to draw: {groups}.", groups=few))
    return CHECK.result(
        verdict, joined(said), table, statistic=statistic, p_value=p_value, interval=interval
    )


def _judged(
    rows: Rows[HeldOut], tests: pd.DataFrame, p_value: float, level: float, margin: float
) -> tuple[pd.DataFrame, Verdict, pd.Series | None]:
    """Tests with the groups' factors, the verdict, and the row that it rests on."""
    reach = float(np.ptp(weighted_quantiles(rows, _log_odds, RISK_RANGE)))
    away, error = tests["apart"] * reach, tests["apart_error"] * reach
    freedom = tests["freedom"]
    half = stats.t.ppf(0.5 + level / 2, freedom) * error
    factors = {"factor": np.exp(away), "factor_low": np.exp(away - half),
               "factor_high": np.exp(away + half)}  # fmt: skip
    out = tests.drop(columns=["apart", "apart_error", "freedom"]).assign(**factors)
    known = out["factor"].notna()
    if p_value != p_value or not known.any():
        return out, Verdict.CANNOT_TELL, None
    seen = holm(2 * stats.t.sf(np.abs(away / error), freedom)[known]) < 1 - level
    some = out[known]
    verdicts = [
        Verdict.of_interval(low, high, margin, found=bool(one))
        for low, high, one in zip(some["factor_low"], some["factor_high"], seen, strict=True)
    ]
    verdict, which = decisive(verdicts, away[known])
    return out, verdict, some.iloc[which]


def _log_odds(rows: HeldOut) -> tuple[FloatArray, FloatArray]:
    """logit p, and the expected cases."""
    return logit(rows.p), rows.weight * rows.p


def _factor_words(row: pd.Series) -> Message:
    cells = (("n_diagnosed", row["group"]),)
    factor, low, high = (
        Number(row[name], ".2f", cells) for name in ("factor", "factor_low", "factor_high")
    )
    return Message(
        "From low to high risk, odds change by a factor of {factor} ({low} to {high}) more in "
        "{group} than in the group with most cases.",
        factor=factor, low=low, high=high, group=row["group"],
    )  # fmt: skip


def _effect(tests: pd.DataFrame, alpha: float, judged: bool) -> list[Message]:
    """How far apart the groups' slopes are, and whether all are off in the same direction."""
    known = tests.dropna(subset=["slope"])
    if known.empty:
        return [
            Message(
                "Calibration cannot be judged: every group has too few diagnosed patients or the "
                "same prediction for all, or there are too few sampling units."
            )
        ]
    ends = known.sort_values("slope").iloc[[0, -1]], known.sort_values("intercept").iloc[[0, -1]]
    low, high, least, most = (
        Number(row[column], ".2f", (("n_diagnosed", row["group"]),))
        for column, rows in zip(("slope", "intercept"), ends, strict=True)
        for _, row in rows.iterrows()
    )
    said = [
        Message(
            "The groups' slopes range from {low} to {high}, their intercepts from {least} to "
            "{most} (expected: 1 and 0).",
            low=low, high=high, least=least, most=most,
        )
    ]  # fmt: skip
    if not judged:
        said.append(
            Message("Whether slopes differ cannot be judged: too few groups or sampling units.")
        )
    if (known["p_value"] < alpha).any() and (low.value > 1 or high.value < 1):
        extreme = high.value < 1
        said.append(
            Message(
                "Predictions are {much} in every group: PURPLE is {why}. More cases or a finer "
                "grid of penalties (lambdas='log') would help; DebiasedPURPLE depends on this "
                "only a little.",
                much="too extreme" if extreme else "too flat",
                why="overfitted" if extreme else "underfitted",
            )
        )
    return said


def _held_out(cohort: Cohort, estimator: PURPLE, seed: int, fits: SplitFits) -> Rows[HeldOut]:
    models, split_of = [], np.empty(cohort.n, dtype=np.uint8)
    for number, (train, validation, test) in enumerate(rotations(cohort, seed)):
        fitted = fits.fit(estimator, cohort, train, validation)
        models.append(partial(diagnosis_by, fitted))
        split_of[test] = number
    return cohort.derive(predicted_by_split, models, each=cohort.cut(split_of))


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    known = table["recorded"].notna()
    if not known.all():  # some are hidden: skip groups without any point
        table = table[table["drawn"] & known.groupby(table["group"]).transform("any")]
        if table.empty:
            return
    for name, part in table[table["drawn"]].groupby("group", sort=False):
        ax.errorbar(
            part["predicted"], part["recorded"], xerr=part["predicted_sd"],
            yerr=part["recorded_sd"], marker="o", label=str(name),
        )  # fmt: skip
    top = float(table[["predicted", "recorded"]].max().max())
    ax.plot([0, top], [0, top], color="grey", linewidth=1)
    ax.set_xlabel("predicted share diagnosed")
    ax.set_ylabel("recorded share diagnosed")
    if table["drawn"].any():
        ax.legend()


CHECK = Check(
    kind="calibration",
    title="Calibration",
    explained=(
        "Compares predicted and recorded diagnosis rates of patients the model has not seen, in "
        "fifths of each group by predicted risk. Points on the diagonal are well calibrated."
    ),
    run=lambda given: [check_calibration(given.cohort, **given.splitting)],
    table=dict.fromkeys(["group", "fifth"], Column.NAME)
    | {"drawn": Column.FREE, "recorded": Column.SHARE}
    | dict.fromkeys(["n", "n_diagnosed", "patients", "patients_diagnosed"], Column.COUNT)
    | dict.fromkeys(["predicted", "predicted_sd", "recorded_sd"], Column.REVEALING)
    | dict.fromkeys(["intercept", "slope", "statistic", "p_value"], Column.REVEALING)
    | dict.fromkeys(["factor", "factor_low", "factor_high"], Column.REVEALING),
    columns=("group", "fifth", "n", "n_diagnosed", "predicted", "recorded", "slope", "p_value"),
    draw=_draw,
    references=("holm",),
    by_symptoms=True,
    refits=True,
    seconds=30.0,
)
