"""PURPLE with any classifier as p(y=1|x), by expectation-maximisation.

The condition y is the missing variable. With p_i = p(y=1|x_i):

    E step   t_i = 1 if s_i = 1, else p_i (1 - c_g) / (1 - c_g p_i)   probability of y = 1
    M step   fit the classifier to y = 1 with weight omega_i t_i and
             y = 0 with weight omega_i (1 - t_i);   c_g = sum omega s / sum omega t  in group g

The likelihood rises in every step if the classifier maximises its weighted
likelihood. The algorithm starts from the logistic PURPLE fit.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from sklearn.base import clone

from relprev.arrays import FloatArray, group_sums
from relprev.errors import ConvergenceWarning, InvalidInputError
from relprev.messages import Message, Number
from relprev.model.likelihood import Problem, ProblemPart
from relprev.progress import Advance

TINY = 1e-9


@dataclass(frozen=True)
class EMFit:
    """A fitted classifier, the diagnosis rates, and the mean loss after each step."""

    learner: Any
    c: FloatArray
    losses: tuple[float, ...]
    converged: bool


def condition_probability(learner: Any, X: Any) -> FloatArray:
    """The classifier's p(y=1|x), kept away from 0 and 1."""
    column = int(np.flatnonzero(learner.classes_ == 1)[0])
    return np.clip(learner.predict_proba(X)[:, column], TINY, 1 - TINY)


def fit_em(
    problem: Problem,
    learner: Any,
    p: FloatArray,
    c: FloatArray,
    *,
    tolerance: float = 1e-5,
    max_iterations: int = 100,
    advance: Advance = lambda step: None,
) -> EMFit:
    """Alternate E and M steps until the mean loss settles.

    Parameters
    ----------
    problem : Problem
    learner : scikit-learn classifier whose ``fit`` takes ``sample_weight``
    p, c : arrays of shape (n,) and (n_groups,)
        Starting values.
    tolerance : float
        Relative change of the mean loss at which to stop.
    """
    for method in ("fit", "predict_proba"):
        if not hasattr(learner, method):
            raise InvalidInputError(
                f"learner must have the method {method}, which {type(learner).__name__} has not"
            )
    rows = problem.in_memory("learner")
    X = rows.X.to_scipy()
    losses = [_loss(rows, p, c)]
    fitted, converged = None, False
    for step in range(max_iterations):
        advance(f"EM step {step + 1}")
        t = np.where(rows.s == 1, 1.0, p * (1 - c[rows.g]) / (1 - c[rows.g] * p))
        cases = group_sums(rows.g, rows.omega * t, problem.n_groups)
        c = problem.diagnosed_weight / np.maximum(cases, TINY)
        fitted = _fit_soft(clone(learner), X, t, rows.omega * len(t))
        p = condition_probability(fitted, X)
        losses.append(_loss(rows, p, c))
        if abs(losses[-2] - losses[-1]) <= tolerance * abs(losses[-1]):
            converged = True
            break
    if not converged:
        change = abs(losses[-2] - losses[-1]) / abs(losses[-1])
        said = Message(
            "EM did not settle within {steps} steps (last relative change of the loss {change}); "
            "raise em_iterations",
            steps=Number(max_iterations), change=Number(change, ".1e"),
        )  # fmt: skip
        warnings.warn(ConvergenceWarning(said), stacklevel=3)
    return EMFit(fitted, c, tuple(losses), converged)


def _fit_soft(learner: Any, X: Any, t: FloatArray, weight: FloatArray) -> Any:
    """Fit to labels that are 1 with probability t: each uncertain row enters twice."""
    sick, well = np.flatnonzero(t > TINY), np.flatnonzero(t < 1 - TINY)
    rows = (
        sp.vstack([X[sick], X[well]], format="csr")
        if sp.issparse(X)
        else np.vstack([X[sick], X[well]])
    )
    labels = np.repeat(np.array([1, 0]), [len(sick), len(well)])
    weights = np.concatenate([weight[sick] * t[sick], weight[well] * (1 - t[well])])
    try:
        return learner.fit(rows, labels, sample_weight=weights)
    except TypeError as error:
        raise InvalidInputError(
            f"learner {type(learner).__name__} could not be fitted with sample_weight ({error}); "
            "use a classifier that accepts sample weights and this kind of matrix"
        ) from error


def _loss(rows: ProblemPart, p: FloatArray, c: NDArray[np.float64]) -> float:
    q = np.clip(c[rows.g] * p, 1e-300, 1 - 1e-15)
    return -float(rows.omega @ np.where(rows.s == 1, np.log(q), np.log1p(-q)))
