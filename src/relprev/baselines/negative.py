"""Negative: a classifier of the recorded diagnosis that takes everyone else as healthy.

    m_g = mean over group g of p(s=1|x, g), fitted within the group

Its predictions average to about the recorded share, so it has the same bias as `Observed`. The
paper speaks of no regularisation; the published code fits it with scikit-learn's default ridge and
without an intercept, as ``LogisticRegression(C=1, fit_intercept=False)`` does.
"""

from __future__ import annotations

import numpy as np

from relprev.baselines.scores import ScoredBaseline
from relprev.cohort import Cohort


class Negative(ScoredBaseline):
    """Mean prediction of a classifier of s, out of fold.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Default: logistic regression.
    folds : int
    random_state : int
        Seed of the folds.

    Notes
    -----
    Formula: :mod:`relprev.baselines.negative`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.1), seed=1)
    >>> table = Negative().fit(data.cohort).relative_prevalence(versus="b").to_frame()
    >>> bool(table.loc[0, "estimate"] > 2)  # the truth is 0.6
    True
    """

    least_cases = 5

    def _prevalence(self, group: Cohort) -> float:
        scores = self._scores(group)
        return float(np.average(scores, weights=group.weights))
