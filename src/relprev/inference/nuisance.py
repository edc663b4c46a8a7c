"""Out-of-fold nuisances: propensities pi_g(x) and the risk m(x) = p(s=1 | x, g=r).

Each fold's values come from models fitted on the other folds. Their strength is the one
with the lowest out-of-fold loss, log-loss of g for pi and deviance of s for m, summed
over the folds used for tuning: as many as it takes to hold 500 rows of the scarcer
outcome (the smallest group, the diagnosed). The other folds are fitted at the chosen
strength only, starting from the first fold's fit. The ridge of pi is a prior precision and
does not depend on the number of rows, so half a million of them are enough to choose it;
the L1 penalty of m falls with that number and is chosen on all rows.

The strength with the lowest log-loss makes individual propensities most precise, but pulls the
groups together, everywhere in the same direction. In a mean over many cases noise averages
out but this pull does not: with 2,000 codes in 20,000 visits it moved ratios by
as much as their standard errors. So pi is fitted at a third of the best strength, which halves
the pull. Standard errors include the additional noise; they did not include the pull.

The risk comes from PURPLE's logistic model along its path of penalties, as
sigma(w.x + b) c_r, or from a classifier of s on x alone: since p(s=1|x) = m(x) T(x)
with T = sum_h pi_h e^{theta_h}, m = p^(s=1|x) / T with theta from the case-only score.

A penalty makes m too flat everywhere: high values are too low, low values too high. The error
that remains in the score is a product with that of m, so m is refitted on its own out-of-fold
values, as PURPLE with the single feature logit m and no penalty,

    p(s=1|x,g) = c_g sigma(a + slope logit m(x)).

A handful of numbers estimated from all rows adds no noticeable variance. The slope is above 1
where the penalty had flattened m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from relprev.arrays import FloatArray
from relprev.inference.folds import fold_of_rows
from relprev.inference.propensity import PropensityModel, PropensityProblem, fit_propensity
from relprev.inference.score import ScoreData, ScorePart
from relprev.matrix import Dense
from relprev.model.likelihood import Parameters, Problem, ProblemPart, evaluate
from relprev.model.path import RIDGE_FLOOR, ridge
from relprev.model.quadratic import Penalty
from relprev.model.solver import (
    Solution,
    SolverOptions,
    gradient_scale,
    solve,
    warn_unless_converged,
)
from relprev.parallel.threads import by_rows
from relprev.progress import Advance

SMALLEST = 1e-6  # propensities are kept this far from 0
CLEAR_RISE = 1e-5  # of the out-of-fold loss above its lowest value
ENOUGH = 500  # rows of the scarcer outcome that tell strengths apart
ACCURACY = SolverOptions(tolerance=1e-3, ratio_tolerance=1e-3)  # errors enter squared
SMALLEST_SPREAD = 1e-3  # standard deviation of logit m below which it says nothing
Positions = NDArray[np.int64]


class Learner(Protocol):
    """What cross-fitting asks of a nuisance model.

    At most ``most_rows`` are used to choose the best strength, which is then divided by
    ``relaxation``.
    """

    most_rows: ClassVar[int]
    relaxation: ClassVar[float]

    @property
    def problem(self) -> Problem:
        """All rows."""

    def scarce(self, rows: Positions) -> int:
        """Rows of the scarcer outcome among these."""

    def inputs(self, rows: Positions) -> Any:
        """The data of these rows, to fit or to evaluate on."""

    def fit(self, train: Any, strength: float, start: Any) -> Any:
        """A model, started from another model or None."""

    def loss(self, model: Any, held_out: Any) -> float:
        """The model's mean loss on such data."""

    def used(self, model: Any) -> Any:
        """What is kept of a model that is used; warns if it was not fitted well."""


@dataclass(frozen=True)
class CrossFitted:
    """One model per fold, their strength, and the out-of-fold loss of each strength tried."""

    models: list[Any]
    strength: float
    tuning: pd.DataFrame


@dataclass(frozen=True)
class RidgePropensity:
    """pi_g(x) by `relprev.inference.propensity`; ``n_units`` independent units in all.

    ``left_out`` (p,) are features that are not used.
    """

    most_rows: ClassVar[int] = 500_000
    relaxation: ClassVar[float] = 3.0
    problem: Problem
    n_units: int
    left_out: NDArray[np.bool_] | None = None

    def scarce(self, rows: Positions) -> int:
        return _smallest_group(self.problem, rows)

    def inputs(self, rows: Positions) -> PropensityProblem:
        units = max(1, round(self.n_units * len(rows) / self.problem.n))
        return PropensityProblem(self.problem.take(rows), units)

    def fit(
        self, train: PropensityProblem, strength: float, start: PropensityModel | None
    ) -> PropensityModel:
        many = train.problem.n > self.most_rows  # moves ratios by 3% of a standard error
        return fit_propensity(
            train, strength, start, left_out=self.left_out, tolerance=1e-2 if many else 1e-3
        )

    def loss(self, model: PropensityModel, held_out: PropensityProblem) -> float:
        return held_out.loss(model)[0]

    def used(self, model: PropensityModel) -> PropensityModel:
        return model


def _smallest_group(problem: Problem, rows: Positions) -> int:
    return int(problem.counts(rows)[:-1].min())


@dataclass(frozen=True)
class RiskProblem:
    """Rows for PURPLE's logistic model."""

    rows: Problem

    @cached_property
    def l2(self) -> FloatArray:
        """The small ridge that goes with every fit."""
        return ridge(self.rows, 0.0, RIDGE_FLOOR)

    @cached_property
    def scale(self) -> float:
        """What gradients are compared with."""
        return gradient_scale(self.rows)


@dataclass(frozen=True)
class PurpleRisk:
    """m(x) by PURPLE's logistic model; strengths are its L1 penalties."""

    most_rows: ClassVar[int] = 2**62
    relaxation: ClassVar[float] = 1.0
    problem: Problem
    accuracy: SolverOptions = ACCURACY

    def scarce(self, rows: Positions) -> int:
        return int(self.problem.counts(rows)[-1])

    def inputs(self, rows: Positions) -> RiskProblem:
        return RiskProblem(self.problem.take(rows))

    def fit(self, train: RiskProblem, strength: float, start: Solution | None) -> Solution:
        return solve(
            train.rows, Penalty(strength, train.l2), start.parameters if start else None,
            scale=train.scale, options=self.accuracy, warn=False,
        )  # fmt: skip

    def loss(self, model: Solution, held_out: RiskProblem) -> float:
        return evaluate(held_out.rows, model.parameters).loss

    def used(self, model: Solution) -> Parameters:
        warn_unless_converged(model, self.accuracy)
        return model.parameters


def cross_fit(
    learner: Learner, folds: Sequence[Positions], strengths: Sequence[float], *,
    tuning_folds: int | None, advance: Advance,
) -> CrossFitted:  # fmt: skip
    """Choose a strength and fit, for each fold, a model that has not seen it.

    Parameters
    ----------
    learner : Learner
    folds : sequence of row positions
    strengths : sequence of float
        Tried from the strongest to the weakest, each fit starting from the one before.
    tuning_folds : int or None
        Number of folds used to choose the strength; None: as many as needed, see the module.
    """
    grid = sorted({float(value) for value in strengths}, reverse=True)
    fold = fold_of_rows(folds)
    tuned = (tuning_folds or _enough(learner, folds)) if len(grid) > 1 else 0
    tuning, paths = _tune(learner, folds[:tuned], fold, grid, advance)
    best = int(np.argmin(tuning["loss"])) if tuned else 0
    strength = grid[best] / (learner.relaxation if tuned else 1.0)
    first = paths[0][best] if paths else None
    models = []
    for k in range(len(folds)):
        others = np.flatnonzero(fold != k)
        if k < tuned and len(others) <= learner.most_rows and strength == grid[best]:
            model = paths[k][best]
        else:
            advance(f"fold {k + 1}")
            model = learner.fit(learner.inputs(others), strength, first)
        first = model if k == 0 else first
        models.append(learner.used(model))
    return CrossFitted(models, strength, tuning)


def _enough(learner: Learner, folds: Sequence[Positions]) -> int:
    """The number of folds that hold enough rows of the scarcer outcome."""
    held = 0
    for number, rows in enumerate(folds, 1):
        held += learner.scarce(rows)
        if held >= ENOUGH:
            return number
    return len(folds)


def _tune(
    learner: Learner, tuned: Sequence[Positions], fold: NDArray[np.uint8], grid: list[float],
    advance: Advance,
) -> tuple[pd.DataFrame, list[list[Any]]]:  # fmt: skip
    """Out-of-fold loss of the strengths, and the models of each tuning fold.

    Goes from strong to weak and stops once the loss has clearly risen: weaker strengths
    would take longest to fit and only overfit.
    """
    most = learner.most_rows
    trains = [learner.inputs(_evenly(np.flatnonzero(fold != k), most)) for k in range(len(tuned))]
    judges = [learner.inputs(_evenly(rows, most)) for rows in tuned]
    weights = [learner.problem.weight(rows) for rows in tuned]
    paths: list[list[Any]] = [[] for _ in tuned]
    losses: list[float] = []
    for strength in grid if tuned else []:
        advance(f"strength {strength:g}")
        for train, path in zip(trains, paths, strict=True):
            path.append(learner.fit(train, strength, path[-1] if path else None))
        judged = zip(weights, paths, judges, strict=True)
        losses.append(sum(weight * learner.loss(path[-1], rows) for weight, path, rows in judged))
        if losses[-1] > (1 + CLEAR_RISE) * min(losses):
            break
    return pd.DataFrame({"strength": grid[: len(losses)], "loss": losses}), paths


def score_data(
    problem: Problem, folds: Sequence[Positions], propensity: list[Any] | FloatArray | None,
    risk: list[Parameters] | FloatArray | None, reference: int,
) -> ScoreData:  # fmt: skip
    """Rows with their nuisances, from one model per fold or as given.

    Parameters
    ----------
    propensity : list of models, array of shape (n, K), or None for ones
    risk : list of models, array of shape (n,), or None for zeros
        Arrays belong to rows in memory.
    """
    each = problem.cut(fold_of_rows(folds))
    rows = problem.derive(_score_part, propensity, risk, reference, each=each)
    return ScoreData.made_of(rows, problem.n_groups, reference)


def _score_part(
    part: ProblemPart, fold: NDArray[np.uint8], propensity: Any, risk: Any, reference: int
) -> ScorePart:
    by_models = isinstance(propensity, list), isinstance(risk, list)
    pi = np.ones((len(fold), part.n_groups)) if by_models[0] or propensity is None else propensity
    m = np.zeros(len(fold)) if by_models[1] or risk is None else risk
    for k in np.unique(fold) if any(by_models) else ():
        rows = np.flatnonzero(fold == k)
        X = part.X.take(rows)  # of models that have not seen this fold
        if by_models[0]:
            pi[rows] = bounded(propensity[k].probabilities(X))
        if by_models[1]:
            m[rows] = risk[k].c[reference] * expit(X.matvec(risk[k].w) + risk[k].b)
    return ScorePart(part.g, part.s.astype(float), part.omega, pi, m, reference)


@dataclass(frozen=True)
class Recalibration:
    """What makes a risk steeper: rate sigma((logit m - mean) slope + intercept)."""

    mean: float
    slope: float
    intercept: float
    rate: float

    @property
    def found(self) -> bool:
        """Whether the risk says anything that could be made steeper."""
        return self.slope > 0

    def of(self, risk: FloatArray) -> FloatArray:
        """The risk as it should be, shape (n,); itself where nothing was found."""
        if not self.found:
            return risk
        return by_rows(self._steeper, risk)

    def _steeper(self, risk: FloatArray) -> FloatArray:
        found: FloatArray = self.rate * expit(
            (_logit(risk) - self.mean) * self.slope + self.intercept
        )
        return found


def recalibration(data: ScoreData) -> Recalibration:
    """How the rows' risk is refitted on itself; see the module.

    A risk that says nothing (the same everywhere, or falling where it should rise) stays as it is.
    """
    weight, first, second = data.total(_logit_sums)
    mean = first / weight
    if np.sqrt(max(second / weight - mean**2, 0.0)) < SMALLEST_SPREAD:
        return Recalibration(mean, float("nan"), 0.0, 1.0)
    solved = solve(_logit_problem(data, mean), Penalty(0.0, np.zeros(1)), warn=False)
    found, slope = solved.parameters, float(solved.parameters.w[0])
    if not solved.certificate.converged:
        slope = min(slope, 0.0)
    return Recalibration(mean, slope, float(found.b), float(found.c[data.reference]))


def recalibrated(data: ScoreData) -> tuple[ScoreData, Recalibration]:
    """The rows with their risk refitted on itself, and how."""
    found = recalibration(data)
    return (data.holding(data.derive(_refitted, found)) if found.found else data), found


def logit(risk: FloatArray) -> FloatArray:
    """log m / (1 - m), m kept away from 0 and 1."""
    return by_rows(_logit, risk)


def _logit(risk: FloatArray) -> FloatArray:
    inside = np.clip(risk, SMALLEST, 1 - SMALLEST)
    return np.log(inside / (1 - inside))


def _logit_sums(data: ScorePart) -> tuple[float, float, float]:
    z = logit(data.risk)
    return float(len(z)), float(z.sum()), float(z @ z)


def _logit_problem(data: ScoreData, mean: float) -> Problem:
    """PURPLE with the one feature logit m, centred."""
    rows = data.derive(_logit_part, mean, each=data.first_rows)
    return Problem.made_of(rows, 1, data.n_groups)


def _logit_part(data: ScorePart, first_row: int, mean: float) -> ProblemPart:
    centred = np.ascontiguousarray((logit(data.risk) - mean)[:, None])
    s = data.s.astype(np.uint8)
    return ProblemPart(Dense(centred), s, data.g, data.omega, data.n_groups, first_row)


def _refitted(data: ScorePart, found: Recalibration) -> ScorePart:
    return replace(data, risk=found.of(data.risk))


def bounded(propensity: FloatArray) -> FloatArray:
    """Propensities kept away from zero, rows summing to one."""
    return by_rows(_bounded, propensity)


def _bounded(propensity: FloatArray) -> FloatArray:
    raised = np.maximum(propensity, SMALLEST)
    raised /= (raised @ np.ones(raised.shape[1]))[:, None]
    return raised


def _evenly(rows: Positions, most: int) -> Positions:
    """At most ``most`` of the rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]
