"""Out-of-fold nuisances: propensities pi_g(x) and the risk m(x) = p(s=1 | x, g=r).

Each fold's values come from models fitted on the other folds. Their strength is the one
with the best out-of-fold score, log-loss of g for pi and deviance of s for m, summed
over the folds used for tuning: as many as it takes to hold 500 rows of the scarcer
outcome (the smallest group, the diagnosed). The other folds are fitted at the chosen
strength only, started from the first fold's fit. The ridge of pi is a prior precision and
does not depend on the number of rows, so half a million of them are enough to choose it;
the L1 penalty of m falls with that number and is chosen on all rows.

The risk comes from PURPLE's logistic model along its path of penalties, as
sigma(w.x + b) c_r, or from a classifier of s on x alone: since p(s=1|x) = m(x) T(x)
with T = sum_h pi_h e^{theta_h}, m = p^(s=1|x) / T with theta from the case-only score.

A penalty makes m too flat, everywhere in the same way: what is high is too low, what is
low too high. The error left in the score is a product with that of m, so m is refitted on
its own out-of-fold values, as PURPLE with the one feature logit m and no penalty,

    p(s=1|x,g) = c_g sigma(a + slope logit m(x)).

A handful of numbers estimated from all rows cost nothing that shows in the variance; slope
is above 1 where the penalty had flattened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from relprev.design import Dense
from relprev.design.base import FloatArray
from relprev.errors import InvalidInputError
from relprev.inference.lasso import Comparison, LassoModel, comparisons, fit_lasso
from relprev.inference.propensity import PropensityModel, PropensityProblem, fit_propensity
from relprev.model.likelihood import Parameters, Problem, evaluate
from relprev.model.path import RIDGE_FLOOR, ridge
from relprev.model.quadratic import Penalty
from relprev.model.solver import SolverOptions, solve
from relprev.progress import Advance

SMALLEST = 1e-6  # propensities are kept this far from 0
CLEAR_RISE = 1e-5  # of the out-of-fold loss above its lowest value
ENOUGH = 500  # rows of the scarcer outcome that tell strengths apart
ACCURACY = SolverOptions(tolerance=1e-3, ratio_tolerance=1e-3)  # errors enter squared
SMALLEST_SPREAD = 1e-3  # standard deviation of logit m below which it says nothing
Rows = NDArray[np.int64]


class Learner(Protocol):
    """What cross-fitting asks of a nuisance model; ``most_rows`` are used to choose strengths."""

    most_rows: ClassVar[int]

    def scarce(self, rows: Rows) -> int:
        """Rows of the scarcer outcome among these."""

    def inputs(self, rows: Rows) -> Any:
        """The training data made of these rows."""

    def fit(self, train: Any, strength: float, start: Any) -> Any:
        """A model, started from another model or None."""

    def judge(self, model: Any, rows: Rows) -> tuple[FloatArray, float]:
        """The model's values on these rows, and its loss summed over them."""


@dataclass(frozen=True)
class OutOfFold:
    """Values for every row, the strength chosen, and the out-of-fold loss of all strengths."""

    values: FloatArray
    chosen: float
    tuning: pd.DataFrame


@dataclass(frozen=True)
class RidgePropensity:
    """pi_g(x) by `relprev.inference.propensity`; ``n_units`` independent units in all."""

    most_rows: ClassVar[int] = 500_000
    problem: Problem
    n_units: int

    def scarce(self, rows: Rows) -> int:
        return _smallest_group(self.problem, rows)

    def inputs(self, rows: Rows) -> PropensityProblem:
        part = self.problem.take(rows)
        units = max(1, round(self.n_units * len(rows) / len(self.problem.s)))
        return PropensityProblem(part.X, part.g, part.omega, part.n_groups, units)

    def fit(
        self, train: PropensityProblem, strength: float, start: PropensityModel | None
    ) -> PropensityModel:
        many = len(train.g) > self.most_rows  # close to what so many rows can tell at all
        return fit_propensity(train, strength, start, tolerance=3e-3 if many else 1e-3)

    def judge(self, model: PropensityModel, rows: Rows) -> tuple[FloatArray, float]:
        return _judged(model, self.problem, rows)


@dataclass(frozen=True)
class LassoPropensity:
    """pi_g(x) by `relprev.inference.lasso`."""

    most_rows: ClassVar[int] = 2**62
    problem: Problem

    def scarce(self, rows: Rows) -> int:
        return _smallest_group(self.problem, rows)

    def inputs(self, rows: Rows) -> list[Comparison]:
        return comparisons(self.problem.take(rows))

    def fit(self, train: list[Comparison], strength: float, start: LassoModel | None) -> LassoModel:
        return fit_lasso(train, strength, start, ACCURACY)

    def judge(self, model: LassoModel, rows: Rows) -> tuple[FloatArray, float]:
        return _judged(model.propensity, self.problem, rows)


def _smallest_group(problem: Problem, rows: Rows) -> int:
    return int(np.bincount(problem.g[rows], minlength=problem.n_groups).min())


def _judged(model: PropensityModel, problem: Problem, rows: Rows) -> tuple[FloatArray, float]:
    """Propensities of the rows, and their log-loss."""
    values = bounded(model.probabilities(problem.X.take(rows)))
    chance = values[np.arange(len(rows)), problem.g[rows]]
    return values, float(-(problem.omega[rows] @ np.log(chance)))


@dataclass(frozen=True)
class PurpleRisk:
    """m(x) by PURPLE's logistic model; strengths are its L1 penalties."""

    most_rows: ClassVar[int] = 2**62
    problem: Problem
    reference: int

    def scarce(self, rows: Rows) -> int:
        return int(self.problem.s[rows].sum())

    def inputs(self, rows: Rows) -> tuple[Problem, FloatArray]:
        train = self.problem.take(rows)
        return train, ridge(train, 0.0, RIDGE_FLOOR)

    def fit(
        self, train: tuple[Problem, FloatArray], strength: float, start: Parameters | None
    ) -> Parameters:
        problem, l2 = train
        return solve(problem, Penalty(strength, l2), start, options=ACCURACY).parameters

    def judge(self, model: Parameters, rows: Rows) -> tuple[FloatArray, float]:
        evaluation = evaluate(self.problem.take(rows), model)
        sick = 0.5 * (1.0 + np.tanh(0.5 * evaluation.z))
        loss = evaluation.loss * float(self.problem.omega[rows].sum())
        return model.c[self.reference] * sick, loss


def cross_fit(
    learner: Learner, folds: Sequence[Rows], strengths: Sequence[float], *,
    tuning_folds: int | None, advance: Advance,
) -> OutOfFold:  # fmt: skip
    """Choose a strength and predict every row by a model that has not seen its fold.

    Parameters
    ----------
    learner : Learner
    folds : sequence of row positions
    strengths : sequence of float
        Tried from the strongest to the weakest, each started from the one before.
    tuning_folds : int or None
        How many folds choose the strength; None: as many as needed, see the module.
    """
    grid = sorted({float(value) for value in strengths}, reverse=True)
    tuned = (tuning_folds or _enough(learner, folds)) if len(grid) > 1 else 0
    tuning, paths = _tune(learner, folds[:tuned], folds, grid, advance)
    best = int(np.argmin(tuning["loss"])) if tuned else 0
    first = paths[0][best] if paths else None
    parts = []
    for k, rows in enumerate(folds):
        others = _others(folds, k)
        if k < tuned and len(others) <= learner.most_rows:
            model = paths[k][best]
        else:
            advance(f"fold {k + 1}")
            model = learner.fit(learner.inputs(others), grid[best], first)
        first = model if k == 0 else first
        parts.append(learner.judge(model, rows)[0])
    return OutOfFold(_assembled(parts, folds), grid[best], tuning)


def _enough(learner: Learner, folds: Sequence[Rows]) -> int:
    """The number of folds that hold enough rows of the scarcer outcome."""
    held = np.cumsum([learner.scarce(rows) for rows in folds])
    return min(int(np.searchsorted(held, ENOUGH)) + 1, len(folds))


def _tune(
    learner: Learner, tuned: Sequence[Rows], folds: Sequence[Rows], grid: list[float],
    advance: Advance,
) -> tuple[pd.DataFrame, list[list[Any]]]:  # fmt: skip
    """Out-of-fold loss of the strengths, and every tuning fold's models.

    Goes from strong to weak and stops once the loss has clearly risen: the weakest
    strengths take longest to fit and only overfit then.
    """
    most = learner.most_rows
    trains = [learner.inputs(_evenly(_others(folds, k), most)) for k in range(len(tuned))]
    judges = [_evenly(rows, most) for rows in tuned]
    paths: list[list[Any]] = [[] for _ in tuned]
    losses: list[float] = []
    for strength in grid if tuned else []:
        advance(f"strength {strength:g}")
        for train, path in zip(trains, paths, strict=True):
            path.append(learner.fit(train, strength, path[-1] if path else None))
        judged = zip(paths, judges, strict=True)
        losses.append(sum(learner.judge(path[-1], rows)[1] for path, rows in judged))
        if losses[-1] > (1 + CLEAR_RISE) * min(losses):
            break
    return pd.DataFrame({"strength": grid[: len(losses)], "loss": losses}), paths


def classifier_out_of_fold(
    classifier: Any, X: Any, target: NDArray[Any], n_classes: int, omega: FloatArray,
    folds: Sequence[Rows],
) -> FloatArray:  # fmt: skip
    """Class probabilities (n, n_classes) of a scikit-learn classifier."""
    for method in ("fit", "predict_proba"):
        if not hasattr(classifier, method):
            raise InvalidInputError(
                f"propensity and m must be classifiers with {method}, "
                f"{type(classifier).__name__} has not"
            )
    weight = omega * len(omega)
    parts = []
    for k, rows in enumerate(folds):
        others = _others(folds, k)
        fitted = clone(classifier).fit(X[others], target[others], sample_weight=weight[others])
        part = np.zeros((len(rows), n_classes))
        part[:, fitted.classes_.astype(int)] = fitted.predict_proba(X[rows])
        parts.append(part)
    return _assembled(parts, folds)


def recalibrated(problem: Problem, reference: int, risk: FloatArray) -> tuple[FloatArray, float]:
    """The risk refitted on its own out-of-fold values, and the slope; see the module.

    Values that say nothing (all the same, or less risk where they are higher) are
    returned as they are.
    """
    inside = np.clip(risk, SMALLEST, 1 - SMALLEST)
    z = np.log(inside / (1 - inside))
    if z.std() < SMALLEST_SPREAD:
        return risk, float("nan")
    centred = np.ascontiguousarray((z - z.mean())[:, None])
    one = Problem(Dense(centred), problem.s, problem.g, problem.omega, problem.n_groups)
    found = solve(one, Penalty(0.0, np.zeros(1))).parameters
    slope = float(found.w[0])
    if slope <= 0:
        return risk, slope
    sick = 0.5 * (1.0 + np.tanh(0.5 * (centred[:, 0] * slope + found.b)))
    return found.c[reference] * sick, slope


def bounded(propensity: FloatArray) -> FloatArray:
    """Propensities kept away from zero, rows summing to one."""
    raised = np.maximum(propensity, SMALLEST)
    return raised / raised.sum(axis=1, keepdims=True)


def _others(folds: Sequence[Rows], k: int) -> Rows:
    return np.sort(np.concatenate([rows for j, rows in enumerate(folds) if j != k]))


def _evenly(rows: Rows, most: int) -> Rows:
    """At most so many of the rows, spread evenly."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def _assembled(parts: list[FloatArray], folds: Sequence[Rows]) -> FloatArray:
    """Values in the order of the rows."""
    out = np.empty((sum(map(len, folds)), *parts[0].shape[1:]))
    for part, rows in zip(parts, folds, strict=True):
        out[rows] = part
    return out
