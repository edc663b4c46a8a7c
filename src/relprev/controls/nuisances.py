"""The risk m(x) of a control condition, from its cases and a sample of the other visits.

The propensities are those of the target condition: they do not depend on the diagnosis. What is
left to fit for a control is its risk, and errors in that enter the score only as a product with
those of the propensities. So it is fitted on the control's cases and a few times as many other
visits, drawn at random and weighted up, which costs the same in ten million visits as in one: by
PURPLE's logistic model out of fold, of the features that the target's models use (also those of
`relprev.model.expansion`, if they do), at the target's penalty scaled to the control's noise,

    lambda_k = lambda (p_k / p) sqrt(D (1 / D_k + 1 / O_k)),

where p is the share of the diagnosed, D their number, and D_k and O_k the numbers of cases and of
others that were drawn: a gradient's noise is p / sqrt(D). It is then refitted on itself
(`relprev.inference.nuisance`). What it misses, which standard errors have to
count, comes from the same visits (`relprev.inference.missed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from relprev.arrays import FloatArray
from relprev.inference.discrimination import discrimination
from relprev.inference.missed import missed_coefficients, of_own_fold
from relprev.inference.nuisance import (
    PurpleRisk,
    Recalibration,
    cross_fit,
    recalibrated,
    score_data,
)
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, ScorePart, solve_score
from relprev.model.likelihood import Problem, ProblemPart
from relprev.model.solver import SolverOptions

MOST_CASES = 2_000  # of a control, to fit its risk on
OTHERS_PER_CASE = 5
FEWEST_OTHERS = 5_000
ACCURACY = SolverOptions(tolerance=1e-2, ratio_tolerance=1e-2)  # errors enter as a product


@dataclass(frozen=True)
class Sample:
    """Visits to fit a control's risk on.

    Parameters
    ----------
    rows : integer array of shape (m,)
        Ascending positions.
    recorded : uint8 array of shape (m,)
        1 where the control is recorded.
    scale : array of shape (m,)
        How many visits each stands for.
    """

    rows: NDArray[np.int64]
    recorded: NDArray[np.uint8]
    scale: FloatArray

    @property
    def noise(self) -> float:
        """Of a gradient over the sample: p_k sqrt(1 / D_k + 1 / O_k)."""
        cases = float(self.recorded.sum())
        share = float(self.scale @ self.recorded / self.scale.sum())
        return share * np.sqrt(1 / cases + 1 / (len(self.rows) - cases))

    @staticmethod
    def of(recorded: NDArray[np.uint8], rng: np.random.Generator) -> Sample:
        """Draw the sample from all visits; ``recorded`` has shape (n,)."""
        scale = np.zeros(len(recorded))
        cases, others = np.flatnonzero(recorded), np.flatnonzero(recorded == 0)
        n_cases = min(len(cases), MOST_CASES)
        n_others = min(len(others), max(OTHERS_PER_CASE * n_cases, FEWEST_OTHERS))
        for among, count in ((cases, n_cases), (others, n_others)):
            drawn = among if count == len(among) else rng.choice(among, count, replace=False)
            scale[drawn] = len(among) / max(count, 1)
        rows = np.flatnonzero(scale)
        return Sample(rows, recorded[rows], scale[rows])


@dataclass(frozen=True)
class ControlRisk:
    """Risk of a control and what it misses, as models of every fold.

    Parameters
    ----------
    risk, missed : arrays of shape (n_folds, p + 1)
        Coefficients, the intercept last.
    rates : array of shape (n_folds,)
        c of the reference group.
    refit : Recalibration
    theta : array of shape (K,)
        Root of the sample's score, near that of all visits.
    auc : (float, float)
        Within groups, of the sample's out-of-fold risks, and its standard error.
    """

    risk: FloatArray
    missed: FloatArray
    rates: FloatArray
    refit: Recalibration
    theta: FloatArray
    auc: tuple[float, float]


def control_risk(
    problem: Problem, data: ScoreData, fold: NDArray[Any], sample: Sample,
    penalties: Sequence[float], strength: float, n_units: int, design: SamplingDesign,
) -> ControlRisk:  # fmt: skip
    """Fit a control's risk.

    Parameters
    ----------
    problem : Problem
        Symptoms of all rows.
    data : ScoreData
        Propensities of the same rows.
    fold : integer array of shape (n,)
    sample : Sample
        Of the same rows.
    penalties : sequence of float
        lambda_k; of several, the one with the lowest out-of-fold deviance.
    strength : float
        Of the propensities' ridge.
    n_units : int
        Independent units (patients) among all rows.
    design : SamplingDesign
        Of all rows.
    """
    rows = problem.take(sample.rows).together()
    omega = rows.omega * sample.scale
    small = Problem.of(rows.X, sample.recorded, rows.g, omega / omega.sum(), rows.n_groups)
    folds = [np.flatnonzero(fold[sample.rows] == k) for k in range(int(fold.max()) + 1)]
    models = cross_fit(
        PurpleRisk(small, ACCURACY), folds, penalties, tuning_folds=None, advance=lambda _: None
    ).models
    propensity = data.holding(data.pick(_taken, sample.rows)).together().propensity
    fitted = score_data(small, folds, propensity, models, data.reference)
    fitted, refit = recalibrated(fitted)
    ranked = discrimination(fitted, fold[sample.rows], design.take(sample.rows))
    theta = solve_score(fitted)
    missed = missed_coefficients(fitted, small, theta, folds, strength, n_units)
    return ControlRisk(
        risk=np.array([np.append(model.w, model.b) for model in models]),
        missed=missed,
        rates=np.array([model.c[data.reference] for model in models]),
        refit=refit,
        theta=theta,
        auc=(float(ranked.auc[0]), float(ranked.std_error[0])),
    )


def _taken(part: ScorePart, where: tuple[NDArray[np.int64], int]) -> ScorePart:
    return part.take(where[0])


def with_risk(
    part: ProblemPart, own: tuple[NDArray[Any], NDArray[np.uint8], ScorePart], model: ControlRisk
) -> ScorePart:
    """A part of the score with a control's records, its risk and what that misses.

    ``own``: the rows' folds (n,), records of the control (n,) and score of the condition.
    """
    fold, recorded, data = own
    risk = model.rates[fold] * expit(of_own_fold(part.X, fold, model.risk))
    return ScorePart(
        data.g, recorded.astype(float), data.omega, data.propensity, model.refit.of(risk),
        data.reference, of_own_fold(part.X, fold, model.missed),
    )  # fmt: skip
