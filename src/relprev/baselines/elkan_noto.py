"""Elkan and Noto's estimator e1 (2008): the mean score of the diagnosed is the diagnosis rate.

If everybody with the condition is certain to have it given x, p(s=1|x) = c wherever a diagnosed
row can be, so

    c = mean of p(s=1|x) over the diagnosed rows,    m_g = p(s=1|g) / c

within each group, with scores out of fold. Where the condition is not certain, p(s=1|x) is below
c at many diagnosed rows, c comes out too low and the prevalence too high.
"""

from __future__ import annotations

import numpy as np

from relprev.baselines.scores import ScoredBaseline
from relprev.cohort import Cohort


class ElkanNoto(ScoredBaseline):
    """Recorded share over the mean score of the diagnosed rows.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Default: logistic regression.
    folds : int
        Number of folds; scores are out of fold.
    random_state : int
        Seed of the folds.

    Notes
    -----
    Formula: :mod:`relprev.baselines.elkan_noto`.

    References
    ----------
    Elkan and Noto (2008), "Learning classifiers from only positive and unlabeled data".

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.3), separable=True, seed=1)
    >>> table = ElkanNoto().fit(data.cohort).relative_prevalence(versus="b").to_frame()
    >>> truth = data.relative_prevalence("b").to_frame()
    >>> bool(abs(table.loc[0, "estimate"] / truth.loc[0, "estimate"] - 1) < 0.1)
    True
    """

    least_cases = 5

    def _prevalence(self, group: Cohort) -> float:
        scores = self._scores(group)
        weights = np.ones(group.n) if group.weights is None else group.weights
        return recorded_over_rate(scores, group.diagnosed, weights)


def recorded_over_rate(scores: np.ndarray, diagnosed: np.ndarray, weights: np.ndarray) -> float:
    """p(s=1) / e1, from scores p(s=1|x), s and weights, each of shape (n,)."""
    rate = np.average(scores, weights=weights * diagnosed)
    return float(np.average(diagnosed, weights=weights) / rate)
