"""Oracle: the estimate if the condition itself had been recorded.

    m_g = mean over group g of p(y=1|x), fitted to y in all groups together

Only simulations know y. This is the best that any method can hope for.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from relprev.baselines.base import Baseline
from relprev.baselines.scores import fit_classifier
from relprev.cohort import as_cohort
from relprev.cohort.summary import group_means
from relprev.errors import InvalidInputError
from relprev.model.em import condition_probability


class Oracle(Baseline):
    """A classifier of the true condition; for simulations only.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Default: logistic regression.

    Notes
    -----
    Formula: :mod:`relprev.baselines.oracle`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.1), seed=1)
    >>> oracle = Oracle().fit(data.cohort, condition=data.condition)
    >>> table = oracle.relative_prevalence("b").to_frame()
    >>> truth = data.relative_prevalence("b").to_frame()
    >>> bool(abs(table.loc[0, "estimate"] / truth.loc[0, "estimate"] - 1) < 0.02)
    True
    """

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def fit(
        self, X: Any, s: Any = None, *, groups: Any = None, sample_weight: Any = None,
        clusters: Any = None, condition: Any = None,
    ) -> Self:  # fmt: skip
        """Fit to the true condition.

        Parameters
        ----------
        X : array, sparse matrix, frame, `Matrix` or `Cohort`, shape (n, p)
            Symptoms. With a `Cohort`, give only ``condition``.
        s, groups, sample_weight, clusters : arrays of shape (n,)
            As in `Baseline.fit`.
        condition : array of shape (n,)
            The true y, 0 or 1.
        """
        cohort = as_cohort(X, s, groups=groups, sample_weight=sample_weight, clusters=clusters)
        if condition is None:
            raise InvalidInputError(
                "condition is required: Oracle is fitted to the true condition, which only "
                "simulations know"
            )
        y = np.asarray(condition)
        if y.shape != (cohort.n,) or not np.isin(y, (0, 1)).all() or len(np.unique(y)) < 2:
            raise InvalidInputError(
                f"condition must hold both 0s and 1s, one for each of the {cohort.n:,} rows of X, "
                f"got an array of shape {y.shape}"
            )
        X = cohort.X.to_scipy()
        model = fit_classifier(self.classifier, X, y.astype(np.uint8), cohort.weights)
        return self._remember(cohort, group_means(condition_probability(model, X), cohort))
