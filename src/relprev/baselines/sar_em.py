"""SAR-EM (Bekker, Robberechts and Davis 2019), with one diagnosis rate per group.

Within a group, p(s=1|x) = c f(x) with f(x) = p(y=1|x). EM alternates

    E step   t_i = 1 if s_i = 1, else f_i (1 - c) / (1 - c f_i)
    M step   fit f to labels t;    c = sum omega s / sum omega t

and so increases the likelihood of s. Its fixed points are the stationary points of that
likelihood, so for logistic f the maximum is found directly by `relprev.model.solver`; other
classifiers use EM. In each group the height of f, and with it c, is identified only by the
shape of the curve.

At the maximum the mean of f equals the mean of t, so the prevalence is the mean of f, which
equals p(s=1) / c.

In the public code the rate without features is mean(s t) = mean(s), not normalised by the sum
of t; ``compat="published"`` fits f with c fixed at that value.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize

from relprev.arrays import FloatArray
from relprev.baselines.base import GroupwiseBaseline
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.model.em import condition_probability, fit_em
from relprev.model.likelihood import Parameters, Problem, evaluate, linear_predictor
from relprev.model.path import RIDGE_FLOOR, fit_best, ridge
from relprev.model.solver import Solution, null_parameters

START_RATES = (1.0, 0.5)  # the likelihood is not convex


class SAREM(GroupwiseBaseline):
    """EM for positive-unlabeled data with a constant diagnosis rate in each group.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Model of p(y=1|x). Default: logistic, fitted directly.
    compat : "published", optional
        Reproduce the public code's diagnosis rate (:mod:`relprev.baselines.sar_em`). Logistic only.
    max_iterations : int
        EM steps with a ``classifier``.

    Notes
    -----
    Formula: :mod:`relprev.baselines.sar_em`.

    References
    ----------
    Bekker, Robberechts and Davis (2019), "Beyond the selected completely at random assumption for
    learning from positive and unlabeled data".

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.3), seed=1)
    >>> table = SAREM().fit(data.cohort).relative_prevalence(versus="b").to_frame()
    >>> truth = data.relative_prevalence("b").to_frame()
    >>> bool(abs(table.loc[0, "estimate"] / truth.loc[0, "estimate"] - 1) < 0.1)
    True
    """

    least_cases = 2

    def __init__(
        self,
        classifier: Any = None,
        *,
        compat: Literal["published"] | None = None,
        max_iterations: int = 500,
    ) -> None:
        self.classifier = classifier
        self.compat = compat
        self.max_iterations = max_iterations

    def _prevalence(self, group: Cohort) -> float:
        if self.compat not in (None, "published"):
            raise InvalidInputError(f"compat must be None or 'published', got {self.compat!r}")
        if self.compat and self.classifier is not None:
            raise InvalidInputError(
                "compat='published' requires logistic p(y=1|x); leave classifier out"
            )
        problem = one_group(group)
        if self.compat:
            return fixed_rate_prevalence(problem, float(problem.diagnosed_rate[0]))
        best = most_likely(problem)
        if self.classifier is None:
            return float(best.evaluation.condition[0])
        rows = problem.in_memory("SAREM")
        p = 0.5 * (1.0 + np.tanh(0.5 * linear_predictor(rows, best.parameters)))
        found = fit_em(
            problem, self.classifier, p, best.parameters.c, max_iterations=self.max_iterations
        )
        return float(rows.omega @ condition_probability(found.learner, rows.X.to_scipy()))


def one_group(group: Cohort) -> Problem:
    """The rows as a problem with a single group."""
    whole = Problem.from_cohort(group).in_memory("SAREM")
    return Problem.of(whole.X, whole.s, np.zeros(group.n, dtype=np.uint8), whole.omega, 1)


def most_likely(problem: Problem) -> Solution:
    """The best fit over all starting values."""
    return fit_best(problem, 0.0, [null_parameters(problem, rate) for rate in START_RATES])[0]


def fixed_rate_prevalence(problem: Problem, rate: float) -> float:
    """Mean of f at the maximum of the likelihood with c fixed at ``rate``."""
    theta = np.log([rate])
    l2 = ridge(problem, 0.0, RIDGE_FLOOR)

    def objective(v: FloatArray) -> tuple[float, FloatArray]:
        at = evaluate(problem, Parameters(v[:-1], float(v[-1]), theta))
        value = at.loss + 0.5 * float(l2 @ v[:-1] ** 2)
        return value, np.append(at.grad_w + l2 * v[:-1], at.grad_b)

    start = np.zeros(problem.n_cols + 1)
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-9}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    return float(evaluate(problem, Parameters(found[:-1], float(found[-1]), theta)).condition[0])
