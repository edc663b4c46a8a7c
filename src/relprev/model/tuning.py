"""Choose the L1 penalty on rows that were not used for fitting.

Scores, higher is better:

``"likelihood"``  mean log-likelihood of s given x and g (default)
``"auc"``         area under the ROC curve of p(s=1|x,g), as in the paper; on rare
                  conditions it often prefers the model without features
``"cv"``          mean log-likelihood over cross-validation folds
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.model.likelihood import (
    Parameters,
    Problem,
    ProblemPart,
    evaluate,
    linear_predictor,
)
from relprev.model.path import PathPoint, fit_path
from relprev.model.ranking import ranking
from relprev.model.solver import SolverOptions
from relprev.model.splits import split
from relprev.progress import Advance

METHODS = ("likelihood", "auc", "cv")


@dataclass(frozen=True)
class Tuned:
    """Scores of each penalty, shape (n_lambdas, n_folds), and the fits on the training rows.

    ``log_likelihood`` has the same shape: that of the rows held out, as many as their weights are
    worth, 1 / sum omega^2.
    """

    lambdas: tuple[float, ...]
    scores: FloatArray
    path: list[PathPoint]
    log_likelihood: FloatArray

    @property
    def best(self) -> int:
        """Position of the highest mean score; the larger penalty wins a tie."""
        return int(np.argmax(self.scores.mean(axis=1)))


def auc(problem: Problem, at: Parameters) -> float:
    """Weighted area under the ROC curve of p(s=1|x,g)."""
    return ranking(problem, partial(_scored, at)).auc


def _scored(at: Parameters, part: ProblemPart) -> tuple[FloatArray, NDArray[Any], FloatArray]:
    """p(s=1|x,g), diagnosis and weight of each row."""
    p = at.c[part.g] / (1.0 + np.exp(-linear_predictor(part, at)))
    return p, part.s, part.omega


def tune(
    cohort: Cohort,
    problem: Problem,
    lambdas: Sequence[float],
    *,
    method: str = "likelihood",
    validation: Problem | None = None,
    fitted: list[PathPoint] | None = None,
    validation_share: float = 0.25,
    folds: int = 5,
    seed: int = 0,
    l2: float,
    ridge_floor: float,
    options: SolverOptions,
    advance: Advance = lambda step: None,
) -> Tuned:
    """Fit the path on training rows and score it on validation rows.

    Parameters
    ----------
    cohort : Cohort
        Its patients are kept together where rows are split.
    problem : Problem
        The same rows, with the features that are fitted.
    lambdas : sequence of float, descending
    method : "likelihood", "auc" or "cv"
    validation : Problem, optional
        Score on these rows and train on all others. Default: split the rows.
    fitted : list of PathPoint, optional
        The path on all rows, if it was fitted before; only with ``validation``.
    validation_share : float
        Share held out for ``"likelihood"`` and ``"auc"``.
    folds : int
        Number of folds for ``"cv"``.
    """
    if method not in METHODS:
        raise InvalidInputError(f"selection must be one of {METHODS}, got {method!r}")
    if validation is not None:
        held_out_sets = [np.empty(0, dtype=np.int64)]
    elif method == "cv":
        held_out_sets = split(cohort, [1.0] * folds, seed)
    else:
        shares = [1 - validation_share, validation_share]
        held_out_sets = split(cohort, shares, seed, in_all=False)[1:]
    scores, likelihood = np.empty((2, len(lambdas), len(held_out_sets)))
    path: list[PathPoint] = []
    for k, held_out in enumerate(held_out_sets):
        if validation is not None:
            train, judge = problem, validation
        else:
            rest = np.delete(np.arange(cohort.n), held_out)
            train, judge = problem.take(rest), problem.take(held_out)
        path = fitted or fit_path(
            train, lambdas, l2=l2, ridge_floor=ridge_floor, options=options, advance=advance
        )
        size = 1 / sum(judge.map(_sum_of_squares))
        for row, point in enumerate(path):
            mean = -evaluate(judge, point.parameters).loss
            likelihood[row, k] = size * mean
            scores[row, k] = auc(judge, point.parameters) if method == "auc" else mean
    return Tuned(tuple(lambdas), scores, path, likelihood)


def _sum_of_squares(part: ProblemPart) -> float:
    return float(part.omega @ part.omega)
