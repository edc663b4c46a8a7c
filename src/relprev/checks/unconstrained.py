"""Does a model that lets every group have its own symptoms predict diagnoses better?

PURPLE shares p(y=1|x) between groups. The unconstrained model has all interactions of
group and feature: a logistic regression of s on x within each group, L1 penalty shared
by the groups and chosen on the validation part by the same score as PURPLE's. If it
predicts held-out diagnoses better, the shared p(y=1|x) does not hold.

The interval of the mean difference over the J = 5 splits allows for their training parts
overlapping (Nadeau and Bengio 2003): variance (1 / J + n_test / n_train) * SD^2, df J - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import stats
from sklearn.base import clone
from sklearn.metrics import average_precision_score, roc_auc_score

from relprev.checks.held_out import N_SPLITS, rotations
from relprev.checks.result import CheckResult
from relprev.cohort import Cohort
from relprev.design.base import FloatArray
from relprev.model import PURPLE
from relprev.model.likelihood import Parameters, Problem
from relprev.model.path import RIDGE_FLOOR, grid, ridge
from relprev.model.quadratic import Penalty
from relprev.model.solver import solve

SCORES = {"AUC": roc_auc_score, "AUPRC": average_precision_score}


def compare_unconstrained(
    cohort: Cohort, estimator: PURPLE | None = None, *, level: float = 0.95, random_state: int = 0
) -> CheckResult:
    """PURPLE against a model with all group-feature interactions, on held-out patients.

    Parameters
    ----------
    cohort : Cohort
    estimator : PURPLE, optional
        Default: ``PURPLE(selection="auc")``, the paper's choice.
    level : float
        Of the interval of the difference.
    random_state : int
        Seed of the splits.

    Returns
    -------
    CheckResult
        Of concern if the unconstrained model predicts better.

    Notes
    -----
    Formula: :mod:`relprev.checks.unconstrained`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), n=(2000, 3000), seed=0).cohort
    >>> compare_unconstrained(cohort, PURPLE(lambdas=[1e-4])).verdict
    'no concern'
    """
    estimator = PURPLE(selection="auc") if estimator is None else estimator
    rows = []
    for number, (train, validation, test) in enumerate(rotations(cohort, random_state)):
        parts = [cohort.take(part) for part in (train, validation, test)]
        fitted = clone(estimator).fit(parts[0], validation=parts[1])
        predictions = {
            "constrained": fitted.predict_diagnosis(parts[2], parts[2].group_labels),
            "unconstrained": _unconstrained(parts, estimator),
        }
        for metric, score in SCORES.items():
            values = {
                name: score(parts[2].diagnosed, p, sample_weight=parts[2].weights)
                for name, p in predictions.items()
            }
            rows.append({"split": number, "metric": metric} | values)
    table = pd.DataFrame(rows)
    table = table.assign(difference=table["unconstrained"] - table["constrained"])
    intervals = {
        metric: _interval(part["difference"].to_numpy(), level)
        for metric, part in table.groupby("metric")
    }
    low, middle, high = intervals["AUC"]
    mean = table.pivot_table(index="metric", values=["constrained", "unconstrained"])
    one, two = mean["constrained"].to_dict(), mean["unconstrained"].to_dict()
    better = any(interval[0] > 0 for interval in intervals.values())
    return CheckResult(
        name="Constrained versus unconstrained model",
        verdict="concern" if better else "no concern",
        effect=(
            f"AUC {one['AUC']:.3f} with shared p(y|x), "
            f"{two['AUC']:.3f} without: difference {middle:+.3f} "
            f"({low:+.3f} to {high:+.3f}). AUPRC {one['AUPRC']:.3f} and "
            f"{two['AUPRC']:.3f}."
        ),
        table=table,
        draw=_draw,
        statistic=middle,
        interval=(low, high),
    )


def _interval(difference: FloatArray, level: float) -> tuple[float, float, float]:
    spread = np.sqrt((1 / N_SPLITS + 1 / 3) * difference.var(ddof=1))  # test : train = 1 : 3
    half = float(stats.t.ppf(0.5 + level / 2, N_SPLITS - 1) * spread)
    mean = float(difference.mean())
    return mean - half, mean, mean + half


def _unconstrained(parts: Sequence[Cohort], estimator: PURPLE) -> FloatArray:
    """Predictions on the test part at the penalty with the best validation score."""
    train, validation, test = parts
    lambdas = grid(estimator.lambdas, Problem.from_cohort(train))
    on_validation = np.zeros((len(lambdas), validation.n))
    on_test = np.zeros((len(lambdas), test.n))
    for group in range(train.n_groups):
        path = _group_path(train.take(train.groups == group), lambdas)
        for part, out in ((validation, on_validation), (test, on_test)):
            rows = np.flatnonzero(part.groups == group)
            X = part.X.take(rows)
            for j, at in enumerate(path):
                out[j, rows] = 0.5 * (1 + np.tanh(0.5 * (X.matvec(at.w) + at.b)))
    best = int(np.argmax([_score(validation, p, estimator.selection) for p in on_validation]))
    return on_test[best]


def _group_path(cohort: Cohort, lambdas: Sequence[float]) -> list[Parameters]:
    """L1 logistic regression within one group: PURPLE's likelihood with c = 1 held fixed."""
    whole = Problem.from_cohort(cohort)
    problem = Problem(whole.X, whole.s, np.zeros_like(whole.g), whole.omega, 1)
    if not problem.s.any():
        return [Parameters(np.zeros(problem.X.n_cols), -30.0, np.zeros(1))] * len(lambdas)
    weights = ridge(problem, 0.0, RIDGE_FLOOR)
    path: list[Parameters] = []
    for l1 in lambdas:
        start = path[-1] if path else None
        path.append(solve(problem, Penalty(l1, weights), start, fit_rates=False).parameters)
    return path


def _score(cohort: Cohort, p: FloatArray, selection: str) -> float:
    if selection == "auc":
        return float(roc_auc_score(cohort.diagnosed, p, sample_weight=cohort.weights))
    q = np.clip(p, 1e-12, 1 - 1e-12)
    loss = np.where(cohort.diagnosed == 1, np.log(q), np.log1p(-q))
    return float(np.average(loss, weights=cohort.weights))


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    names: list[Any] = list(table["metric"].unique())
    for place, metric in enumerate(names):
        part = table[table["metric"] == metric]
        ax.plot(np.full(len(part), place), part["difference"], "o", color="C0")
    ax.axhline(0.0, color="grey", linewidth=1)
    ax.set_xticks(range(len(names)), names)
    ax.set_ylabel("unconstrained less constrained, held out")
