"""SAR-EM (Bekker, Robberechts and Davis 2019), with one diagnosis rate per group.

The model is p(s=1|x) = c_g f(x) with f(x) = p(y=1|x). EM alternates

    E step   t_i = 1 if s_i = 1, else f_i (1 - c_g) / (1 - c_g f_i)
    M step   fit f to labels t;    c_g = sum omega s / sum omega t    in group g

and so increases the likelihood of s. Its fixed points are the stationary points of that
likelihood, so for logistic f the maximum is found directly by `relprev.model.solver`; other
classifiers use EM. As in the authors' code, logistic f has a ridge penalty ||w||^2 / (2 C) beside
the sum of the losses, with C = 1 (theirs also has the intercept in w, ours does not).

The authors let the diagnosis rate depend on chosen features. Without any
(``propensity="constant"``) each group gets its own f, whose height, and with it c, is identified
only by the shape of the curve. With the group as that feature (``propensity="group"``) all groups
share one f: this is PURPLE's likelihood, with a ridge in place of PURPLE's L1 penalty.

At the maximum the mean of f equals the mean of t, so the prevalence is the mean of f.

The public code, as it is, does neither. Its rate without features is mean(s t) = mean(s), not
normalised by the sum of t, and by default it refits f to s at the end with that rate e: diagnosed
rows enter as positives with weight 1 / e and as negatives with weight 1 - 1 / e < 0, the others as
negatives with weight 1. Taken literally these weights leave no negatives, and the prevalence is 1.
liblinear, the code's default solver, drops rows whose weight is not positive, so what remains is

    logistic regression of s with weight 1 / mean(s) for diagnosed rows and 1 for the others,

with a ridge of C = 1 on coefficients and intercept. ``compat="published"`` reproduces this.
(PURPLE's authors call it with a solver that keeps negative weights and without an intercept.)
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from relprev.arrays import FloatArray, group_sums
from relprev.baselines.base import GroupwiseBaseline
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.model.em import condition_probability, fit_em
from relprev.model.likelihood import Problem, linear_predictor
from relprev.model.path import fit_best
from relprev.model.solver import Solution, null_parameters

START_RATES = (1.0, 0.5)  # the likelihood is not convex


class SAREM(GroupwiseBaseline):
    """EM for positive-unlabeled data with a constant diagnosis rate in each group.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Model of p(y=1|x). Default: logistic, fitted directly.
    propensity : "constant" or "group"
        Fit every group by itself, or all groups together with the group as the feature on which
        the diagnosis rate depends.
    C : float
        Inverse strength of the ridge on logistic coefficients, as in scikit-learn; the authors'
        default is 1. ``np.inf`` for none.
    compat : "published", optional
        Reproduce the public code's default (:mod:`relprev.baselines.sar_em`). Logistic only.
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
        propensity: Literal["constant", "group"] = "constant",
        C: float = 1.0,
        compat: Literal["published"] | None = None,
        max_iterations: int = 500,
    ) -> None:
        self.classifier = classifier
        self.propensity = propensity
        self.C = C
        self.compat = compat
        self.max_iterations = max_iterations

    def _prevalences(self, cohort: Cohort) -> FloatArray:
        self._check()
        found = np.full(cohort.n_groups, np.nan)
        usable = self._usable_groups(cohort)
        if self.propensity == "group" and usable:
            part = cohort.take(np.flatnonzero(np.isin(cohort.groups, usable)))
            found[usable] = self._shares(_problem(part, usable), _size(part))
            return found
        for number in usable:
            found[number] = self._prevalence(cohort.take(np.flatnonzero(cohort.groups == number)))
        return found

    def _prevalence(self, group: Cohort) -> float:
        if self.compat:
            return refitted_prevalence(group, self.C)
        return float(self._shares(one_group(group), _size(group))[0])

    def _check(self) -> None:
        if self.propensity not in ("constant", "group"):
            raise InvalidInputError(
                f"propensity must be 'constant' or 'group', got {self.propensity!r}"
            )
        if not self.C > 0:
            raise InvalidInputError(f"C must be above 0, got {self.C}")
        if self.compat not in (None, "published"):
            raise InvalidInputError(f"compat must be None or 'published', got {self.compat!r}")
        if self.compat and self.classifier is not None:
            raise InvalidInputError(
                "compat='published' requires logistic p(y=1|x); leave classifier out"
            )
        if self.compat and self.propensity != "constant":
            raise InvalidInputError(
                "compat='published' reproduces the public code without propensity features; leave "
                "propensity out"
            )

    def _shares(self, problem: Problem, size: float) -> FloatArray:
        """Prevalence of every group of a problem whose rows weigh ``size`` together."""
        best = most_likely(problem, self.C * size)
        if self.classifier is None:
            return np.asarray(best.evaluation.condition / problem.group_weight)
        rows = problem.in_memory("SAREM")
        p = expit(linear_predictor(rows, best.parameters))
        em = fit_em(
            problem, self.classifier, p, best.parameters.c, max_iterations=self.max_iterations
        )
        p = condition_probability(em.learner, rows.X.to_scipy())
        return group_sums(rows.g, rows.omega * p, problem.n_groups) / problem.group_weight


def one_group(group: Cohort) -> Problem:
    """The rows as a problem with a single group."""
    return _problem(group, [int(group.groups[0])])


def _problem(cohort: Cohort, groups: list[int]) -> Problem:
    """The rows as a problem whose groups are numbered in the given order."""
    whole = Problem.from_cohort(cohort).in_memory("SAREM")
    number = np.zeros(max(groups) + 1, dtype=np.uint8)
    number[groups] = np.arange(len(groups))
    return Problem.of(whole.X, whole.s, number[cohort.groups], whole.omega, len(groups))


def _size(cohort: Cohort) -> float:
    """Number of rows, or the sum of their weights: what the ridge is weighed against."""
    return float(cohort.n if cohort.weights is None else cohort.weights.sum())


def most_likely(problem: Problem, inverse_ridge: float = np.inf) -> Solution:
    """The best fit over all starting values, with ridge ||w||^2 / (2 inverse_ridge) on the mean."""
    starts = [null_parameters(problem, rate) for rate in START_RATES]
    return fit_best(problem, 0.0, starts, l2=1 / inverse_ridge)[0]


def refitted_prevalence(group: Cohort, C: float) -> float:
    """Mean of f after the public code's refit, whose rate is the recorded share."""
    X, s = group.X.to_scipy(), group.diagnosed
    weights = np.ones(group.n) if group.weights is None else group.weights
    given = weights * np.where(s == 1, 1 / np.average(s, weights=weights), 1.0)
    model = LogisticRegression(C=C, solver="liblinear", tol=1e-8, max_iter=10_000)
    f = condition_probability(model.fit(X, s, sample_weight=given), X)
    return float(np.average(f, weights=weights))
