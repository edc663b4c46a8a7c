"""Group propensities pi_g(x) by logistic regressions with an L1 penalty.

Each group k is set against the largest group r, on the rows of the two only:

    log pi_k(x) / pi_r(x) = W_k.x + b_k,    mean loss over rows of k and r + strength ||W_k||_1.

Together they estimate the same model as one multinomial regression, with little loss
(Begg and Gray 1984). One group with c = 1 held fixed makes PURPLE's likelihood that of a
logistic regression, so its solver (`relprev.model.solver`) does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relprev.arrays import FloatArray
from relprev.inference.propensity import PropensityModel
from relprev.matrix import Matrix
from relprev.model.likelihood import Parameters, Problem
from relprev.model.path import RIDGE_FLOOR, ridge
from relprev.model.quadratic import Penalty
from relprev.model.solver import SolverOptions, null_parameters, solve

L1_STRENGTHS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)


@dataclass(frozen=True)
class Comparison:
    """Rows of group ``k`` (recorded as s = 1) and of the group it is set against."""

    k: int
    problem: Problem
    l2: FloatArray


@dataclass(frozen=True)
class LassoModel:
    """Parameters of every comparison, and the propensities they make together."""

    parameters: tuple[Parameters, ...]
    propensity: PropensityModel

    def probabilities(self, X: Matrix) -> FloatArray:
        """pi_g(x), shape (n, K)."""
        return self.propensity.probabilities(X)


def comparisons(problem: Problem) -> list[Comparison]:
    """The binary problems: every group against the largest."""
    largest = int(np.argmax(problem.group_weight))
    found = []
    for k in range(problem.n_groups):
        if k == largest:
            continue
        rows = np.flatnonzero((problem.g == k) | (problem.g == largest))
        part = problem.take(rows)
        own = (part.g == k).astype(np.uint8)
        binary = Problem(part.X, own, np.zeros_like(part.g), part.omega, 1)
        found.append(Comparison(k, binary, ridge(binary, 0.0, RIDGE_FLOOR)))
    return found


def fit_lasso(
    train: Sequence[Comparison],
    strength: float,
    start: LassoModel | None = None,
    options: SolverOptions | None = None,
) -> LassoModel:
    """Fit all comparisons at one strength.

    Parameters
    ----------
    train : sequence of Comparison
    strength : float
        L1 penalty in units of the mean loss.
    start : LassoModel, optional
    options : SolverOptions, optional

    Examples
    --------
    >>> import numpy as np
    >>> from relprev.matrix import Dense
    >>> X = Dense(np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]))
    >>> g = np.array([0, 1, 0, 1, 1], np.uint8)
    >>> problem = Problem(X, g, g, np.full(5, 0.2), n_groups=2)
    >>> fit_lasso(comparisons(problem), 1.0).propensity.probabilities(X)[0].round(2)
    array([0.4, 0.6])
    """
    found = []
    for number, one in enumerate(train):
        at = null_parameters(one.problem) if start is None else start.parameters[number]
        fitted = solve(one.problem, Penalty(strength, one.l2), at, fit_rates=False, options=options)
        found.append(fitted.parameters)
    K, p = len(train) + 1, train[0].problem.X.n_cols
    coef, intercept = np.zeros((K, p)), np.zeros(K)
    for one, at in zip(train, found, strict=True):
        coef[one.k], intercept[one.k] = at.w, at.b
    coef, intercept = coef - coef.mean(axis=0), intercept - intercept.mean()
    return LassoModel(tuple(found), PropensityModel(coef[:-1].copy(), intercept[:-1].copy()))
