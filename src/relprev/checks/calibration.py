"""Are the predicted diagnosis rates right within every group?

Predictions p = p(s=1|x,g) on held-out patients (`relprev.checks.held_out`) are cut into
fifths within each group; predicted and recorded rates should agree in each. Fifths are cut
at a 4,096th of the range of logit p, and equal predictions stay together, so that a fifth
can be larger than another, or empty. On all held-out rows of group g,

    logit p(s=1) = a_g + b_g logit p,

where b < 1 means that predictions are too extreme, a > 0 that they are too low. With the
influence functions' covariance V under the sampling design (a stratum's only PSU counts by
its distance from the mean), two things are asked by Wald's statistic:

- Do the slopes differ? H: all b_g are the same. The verdict rests on this, for under the
  assumptions one p(y=1|x) serves every group. (Intercepts say little: c_g is fitted to
  each group's recorded share, and where all slopes are off, they differ with that share.)
- Is a group off at all? H: a_g = 0 and b_g = 1, p-values adjusted by Holm's steps. With few
  cases for many features and a coarse grid of penalties PURPLE overfits, and b is below 1 in
  all groups alike, also where the assumptions hold; it tends to 1 as cases grow. The words
  say so.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import clone

from relprev.checks.check import Axes, Check, CheckResult, Verdict
from relprev.checks.fifths import rates_by_fifth
from relprev.checks.held_out import HeldOut, diagnosis_by, predicted_by_split, rotations
from relprev.checks.recalibration import recalibration
from relprev.cohort import Cohort
from relprev.disclosure.columns import Column
from relprev.messages import Message, Number, joined
from relprev.model import PURPLE
from relprev.rows import Rows


def check_calibration(
    cohort: Cohort, estimator: PURPLE | None = None, *, level: float = 0.95, random_state: int = 0
) -> CheckResult:
    """The paper's calibration check, and tests of every group's slope and intercept.

    Parameters
    ----------
    cohort : Cohort
        Every row is held out once.
    estimator : PURPLE, optional
        Fitted anew on every split's training part.
    level : float
        The test rejects below ``1 - level``.
    random_state : int
        Seed of the splits.

    Returns
    -------
    CheckResult
        Of concern if the groups' slopes differ; the words also say if all are off. ``table``
        counts rows and, where the cohort knows them, patients.

    Notes
    -----
    Formula: :mod:`relprev.checks.calibration`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), n=(2000, 3000), seed=0).cohort
    >>> print(check_calibration(cohort, PURPLE(lambdas=[1e-4])).verdict)
    no concern
    """
    estimator = PURPLE() if estimator is None else estimator
    rows = _held_out(cohort, estimator, random_state)
    tests, statistic, p_value = recalibration(rows, cohort)
    table = rates_by_fifth(rows, cohort).merge(tests, on="group", how="left")
    said = _effect(tests, 1 - level, p_value == p_value)
    few = sorted(table.loc[~table["drawn"], "group"].unique())
    if few:
        said.append(Message("Too few held-out rows to draw: {groups}.", groups=few))
    return CHECK.result(
        Verdict.of_test(p_value, level), joined(said), table, statistic=statistic, p_value=p_value
    )


def _effect(tests: pd.DataFrame, alpha: float, judged: bool) -> list[Message]:
    """How far the groups' slopes are apart, and whether all are off alike."""
    known = tests.dropna(subset=["slope"])
    if known.empty:
        return [
            Message(
                "Calibration cannot be judged: in every group too few are diagnosed or predictions "
                "are the same for all, or there are too few sampling units."
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
            "Slopes of the groups lie between {low} and {high}, intercepts between {least} and "
            "{most} (1 and 0 expected).",
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
                "Predictions are {much} in every group: PURPLE is {why}, which more cases or a "
                "finer grid of penalties (lambdas='log') would help; DebiasedPURPLE leans on it "
                "little.",
                much="too extreme" if extreme else "too flat",
                why="overfitted" if extreme else "underfitted",
            )
        )
    return said


def _held_out(cohort: Cohort, estimator: PURPLE, seed: int) -> Rows[HeldOut]:
    models, split_of = [], np.empty(cohort.n, dtype=np.uint8)
    for number, (train, validation, test) in enumerate(rotations(cohort, seed)):
        fitted = clone(estimator).fit(cohort.take(train), validation=cohort.take(validation))
        models.append(partial(diagnosis_by, fitted))
        split_of[test] = number
    return cohort.derive(predicted_by_split, models, each=cohort.cut(split_of))


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    known = table["recorded"].notna()
    if not known.all():  # some are hidden: nothing is drawn of a group without any point
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
        "Compares predicted and recorded shares of diagnosed patients, in fifths of every group by "
        "predicted risk, among patients the model has not seen. Points on the diagonal are right."
    ),
    run=lambda given: [check_calibration(given.cohort, level=given.level, random_state=given.seed)],
    table=dict.fromkeys(["group", "fifth"], Column.NAME)
    | {"drawn": Column.FREE, "recorded": Column.SHARE}
    | dict.fromkeys(["n", "n_diagnosed", "patients", "patients_diagnosed"], Column.COUNT)
    | dict.fromkeys(["predicted", "predicted_sd", "recorded_sd"], Column.REVEALING)
    | dict.fromkeys(["intercept", "slope", "statistic", "p_value"], Column.REVEALING),
    columns=("group", "fifth", "n", "n_diagnosed", "predicted", "recorded", "slope", "p_value"),
    draw=_draw,
    references=("holm",),
    refits=True,
    seconds=30.0,
)
