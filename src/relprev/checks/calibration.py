"""Are the predicted diagnosis rates right within every group?

Predictions p = p(s=1|x,g) on held-out patients (`relprev.checks.held_out`) are cut into
fifths within each group; predicted and recorded rates should agree in each. The test, on
all held-out rows of a group, is of a = 0 and b = 1 in

    logit p(s=1) = a + b logit p,

by Wald's statistic with the score's variance under the sampling design: b < 1 means
predictions are too extreme, a > 0 too low. A stratum's only PSU counts by its distance from
the mean. P-values are adjusted by Holm's steps.

A failure is not always one of the assumptions. With few cases for many features and a coarse
grid of penalties PURPLE overfits, and b is below 1 by about the same in every group; under the
assumptions it tends to 1 as cases grow. Slopes that differ between groups point to the
assumptions. The words give both the worst group and the range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import stats
from sklearn.base import clone

from relprev.checks.held_out import rotations
from relprev.checks.result import CheckResult
from relprev.cohort import Cohort
from relprev.design.base import FloatArray
from relprev.inference.design import SamplingDesign
from relprev.inference.result import holm
from relprev.model import PURPLE

N_BINS = 5
MIN_ROWS = 500  # held-out rows of a group in a split, to be drawn


def check_calibration(
    cohort: Cohort, estimator: PURPLE | None = None, *, level: float = 0.95, random_state: int = 0
) -> CheckResult:
    """The paper's calibration check, and a test of slope and intercept in every group.

    Parameters
    ----------
    cohort : Cohort
    estimator : PURPLE, optional
        Fitted anew on every split's training part.
    level : float
        The test rejects below ``1 - level``.
    random_state : int
        Seed of the splits.

    Returns
    -------
    CheckResult
        Of concern if some group's predictions are too extreme, too high or too low.

    Notes
    -----
    Formula: :mod:`relprev.checks.calibration`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), n=(2000, 3000), seed=0).cohort
    >>> check_calibration(cohort, PURPLE(lambdas=[1e-4])).verdict
    'no concern'
    """
    estimator = PURPLE() if estimator is None else estimator
    predicted, split_of = _held_out(cohort, estimator, random_state)
    weight = np.ones(cohort.n) if cohort.weights is None else cohort.weights
    bins = _bins(cohort, predicted, split_of, weight)
    tests = pd.DataFrame(
        [_recalibration(cohort, predicted, weight, k) for k in range(cohort.n_groups)]
    )
    tests["p_value"] = holm(tests["p_value"].fillna(1.0).to_numpy())
    table = bins.merge(tests, on="group", how="left")
    worst = tests.iloc[int(np.argmin(tests["p_value"].to_numpy()))]
    few = sorted(table.loc[~table["drawn"], "group"].unique())
    note = f" Too few held-out rows to draw: {', '.join(few)}." if few else ""
    return CheckResult(
        name="Calibration",
        verdict="concern" if worst["p_value"] < 1 - level else "no concern",
        effect=(
            f"Least well calibrated in {worst['group']}: slope {worst['slope']:.2f} and intercept "
            f"{worst['intercept']:.2f} (1 and 0 expected).{_range_of(tests['slope'])}{note}"
        ),
        table=table,
        draw=_draw,
        statistic=float(worst["statistic"]),
        p_value=float(worst["p_value"]),
    )


def _range_of(slopes: pd.Series) -> str:
    """How far the groups' slopes are apart, and what that means."""
    known = slopes.dropna()
    if len(known) < 2:
        return ""
    return (
        f" Slopes of the groups lie between {known.min():.2f} and {known.max():.2f}: alike but "
        "away from 1, the model is too extreme or too flat; different, an assumption may fail."
    )


def _held_out(cohort: Cohort, estimator: PURPLE, seed: int) -> tuple[FloatArray, Any]:
    predicted, split_of = np.empty(cohort.n), np.empty(cohort.n, dtype=np.int64)
    for number, (train, validation, test) in enumerate(rotations(cohort, seed)):
        fitted = clone(estimator).fit(cohort.take(train), validation=cohort.take(validation))
        part = cohort.take(test)
        predicted[test] = fitted.predict_diagnosis(part, part.group_labels)
        split_of[test] = number
    return predicted, split_of


def _bins(cohort: Cohort, predicted: FloatArray, split_of: Any, weight: FloatArray) -> pd.DataFrame:
    """Mean and SD over splits of predicted and recorded rates in fifths of every group."""
    frame = pd.DataFrame(
        {"group": cohort.group_labels, "split": split_of, "p": predicted, "w": weight,
         "s": cohort.diagnosed}
    )  # fmt: skip
    by = frame.groupby(["group", "split"], sort=False)["p"]
    frame["fifth"] = np.minimum(
        (by.rank(method="first", pct=True) * N_BINS).astype(int), N_BINS - 1
    )
    frame[["wp", "ws"]] = frame[["p", "s"]].mul(frame["w"], axis=0)
    sums = frame.groupby(["group", "split", "fifth"])[["w", "wp", "ws"]].sum()
    rates = sums[["wp", "ws"]].div(sums["w"], axis=0)
    over = rates.groupby(["group", "fifth"]).agg(["mean", "std"])
    over.columns = ["predicted", "predicted_sd", "recorded", "recorded_sd"]
    over[["n", "n_diagnosed"]] = frame.groupby(["group", "fifth"])["s"].agg(["size", "sum"])
    size = frame.groupby(["group", "split"]).size().groupby("group").min()
    table = over.reset_index()
    return table.assign(fifth=table["fifth"] + 1, drawn=table["group"].map(size) >= MIN_ROWS)


def _recalibration(
    cohort: Cohort, predicted: FloatArray, weight: FloatArray, group: int
) -> dict[str, Any]:
    """Slope, intercept and the Wald test of one group."""
    rows = np.flatnonzero(cohort.groups == group)
    s, omega = cohort.diagnosed[rows].astype(float), weight[rows] / weight[rows].sum()
    head = {"group": cohort.group_names[group]}
    if not 0 < s.sum() < len(s):
        blank = dict.fromkeys(["intercept", "slope", "statistic", "p_value"], float("nan"))
        return head | blank
    p = np.clip(predicted[rows], 1e-12, 1 - 1e-12)
    A = np.column_stack([np.ones(len(rows)), np.log(p / (1 - p))])
    beta, q, H = _logistic(A, s, omega)
    influence = np.linalg.solve(H, (A * (omega * (s - q))[:, None]).T)
    design = SamplingDesign.from_cohort(cohort, "adjust").take(rows)
    V = design.covariance(design.totals(influence))
    away = beta - np.array([0.0, 1.0])
    df = design.degrees_of_freedom
    statistic = float(away @ np.linalg.solve(V, away)) * (df - 1) / (2 * df)
    found = {"intercept": beta[0], "slope": beta[1], "statistic": statistic}
    return head | found | {"p_value": float(stats.f.sf(statistic, 2, max(df - 1, 1)))}


def _logistic(
    A: FloatArray, s: FloatArray, omega: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coefficients, fitted probabilities and curvature, by Newton's method with halved steps."""

    def loss(at: FloatArray) -> float:
        z = A @ at
        return float(omega @ (np.logaddexp(0.0, z) - s * z))

    beta = np.array([0.0, 1.0])
    for _ in range(100):
        q = 0.5 * (1 + np.tanh(0.5 * (A @ beta)))
        H = (A.T * (omega * q * (1 - q))) @ A
        step = np.linalg.solve(H, A.T @ (omega * (s - q)))
        now = loss(beta)
        while loss(beta + step) > now and np.abs(step).max() > 1e-10:
            step = step / 2
        beta = beta + step
        if np.abs(step).max() < 1e-10:
            break
    return beta, q, H


def _draw(ax: Axes, table: pd.DataFrame) -> None:
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
