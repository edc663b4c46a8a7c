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

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import AnyCohort
from relprev.design.base import FloatArray
from relprev.errors import InvalidInputError
from relprev.groups import group_sums
from relprev.model.likelihood import (
    AnyProblem,
    Parameters,
    Problem,
    evaluate,
    linear_predictor,
    problem_of,
)
from relprev.model.path import PathPoint, fit_path
from relprev.model.solver import SolverOptions
from relprev.model.splits import split
from relprev.partitions import total
from relprev.progress import Advance

METHODS = ("likelihood", "auc", "cv")


@dataclass(frozen=True)
class Selection:
    """Scores of every penalty, shape (n_lambdas, n_folds), and the fits on the training part."""

    lambdas: tuple[float, ...]
    scores: NDArray[np.float64]
    path: list[PathPoint]

    @property
    def best(self) -> int:
        """Position of the highest mean score; the larger penalty wins a tie."""
        return int(np.argmax(self.scores.mean(axis=1)))


def score(problem: AnyProblem, at: Parameters, method: str) -> float:
    """Score of a fit on the given rows."""
    return auc(problem, at) if method == "auc" else -evaluate(problem, at).loss


def auc(problem: AnyProblem, at: Parameters) -> float:
    """Weighted area under the ROC curve of p(s=1|x,g).

    The diagnosed are few, so their values are collected; every part then tells how much
    weight of its other rows lies between them, and on them.
    """
    value, weight = (np.concatenate(found) for found in zip(*problem.map(_cases, at), strict=True))
    values, place = np.unique(value, return_inverse=True)
    between, tied = total(problem.map(_others, at, values))
    below = (np.cumsum(between + tied) - 0.5 * tied)[:-1]
    return float(np.bincount(place, weight) @ below / (weight.sum() * (between + tied).sum()))


def _cases(part: Problem, at: Parameters) -> tuple[FloatArray, FloatArray]:
    """p(s=1|x,g) and weight of the diagnosed."""
    hit = part.s == 1
    return _probability(part, at, hit), part.omega[hit]


def _others(part: Problem, at: Parameters, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weight of the other rows by the first of ``values`` above them; by the one they equal."""
    rest = part.s == 0
    p, omega, size = _probability(part, at, rest), part.omega[rest], len(values) + 1
    place = np.searchsorted(values, p)
    equal = np.append(values, np.nan)[place] == p
    return (
        group_sums(place, np.where(equal, 0.0, omega), size),
        group_sums(place, np.where(equal, omega, 0.0), size),
    )


def _probability(part: Problem, at: Parameters, rows: NDArray[np.bool_]) -> FloatArray:
    return at.c[part.g[rows]] / (1.0 + np.exp(-linear_predictor(part, at)[rows]))


def select(
    cohort: AnyCohort,
    lambdas: Sequence[float],
    *,
    method: str = "likelihood",
    validation: AnyCohort | None = None,
    validation_share: float = 0.25,
    folds: int = 5,
    seed: int = 0,
    l2: float,
    ridge_floor: float,
    options: SolverOptions,
    advance: Advance = lambda step: None,
) -> Selection:
    """Fit the path on training rows and score it on validation rows.

    Parameters
    ----------
    cohort : Cohort
    lambdas : sequence of float, descending
    method : "likelihood", "auc" or "cv"
    validation : Cohort, optional
        Score on these rows and train on all of ``cohort``. Otherwise ``cohort`` is
        split, patients kept together.
    validation_share : float
        Share held out for ``"likelihood"`` and ``"auc"``.
    folds : int
        Number of folds for ``"cv"``.
    """
    if method not in METHODS:
        raise InvalidInputError(f"selection must be one of {METHODS}, got {method!r}")
    whole = problem_of(cohort)
    if validation is not None:
        parts = [np.empty(0, dtype=np.int64)]
    elif method == "cv":
        parts = split(cohort, [1.0] * folds, seed)
    else:
        parts = split(cohort, [1 - validation_share, validation_share], seed)[1:]
    scores = np.empty((len(lambdas), len(parts)))
    path: list[PathPoint] = []
    for k, held_out in enumerate(parts):
        if validation is not None:
            train, judge = whole, problem_of(validation)
        else:
            rest = np.delete(np.arange(cohort.n), held_out)
            train, judge = whole.take(rest), whole.take(held_out)
        path = fit_path(
            train, lambdas, l2=l2, ridge_floor=ridge_floor, options=options, advance=advance
        )
        scores[:, k] = [score(judge, point.parameters, method) for point in path]
    return Selection(tuple(lambdas), scores, path)
