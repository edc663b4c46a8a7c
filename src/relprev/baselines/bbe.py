"""BBE, best bin estimation (Garg, Wu, Smola, Balakrishnan and Lipton 2021).

Given the scores of a classifier of s, let q_P(t) and q_U(t) be the shares of diagnosed and of
undiagnosed rows that score t or more. If a share pi_U of the undiagnosed are positive,

    q_U(t) = pi_U q_P(t) + (1 - pi_U) q_N(t) >= pi_U q_P(t),

so every q_U(t) / q_P(t) is an upper bound on pi_U, and tight if all rows above t are
positive. The t chosen has the smallest upper confidence limit on the bound,

    (q_U(t) + (1 + gamma) e) / q_P(t),    e = sqrt(log(4/delta) / 2) (n_U^-1/2 + n_P^-1/2),

and the prevalence is p(s=1) + p(s=0) pi_U. If no symptoms prove the condition, the bound is
nowhere tight and the prevalence is overestimated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relprev.arrays import FloatArray
from relprev.baselines.scores import ScoredBaseline
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError


class BBE(ScoredBaseline):
    """Best bin estimation.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Default: logistic regression.
    delta : float in (0, 1)
        Error probability of the confidence limit.
    gamma : float
        Slack in the confidence limit.
    folds : int
        Number of folds; scores are out of fold.
    random_state : int
        Seed of the folds.

    Notes
    -----
    Formula: :mod:`relprev.baselines.bbe`.

    References
    ----------
    Garg, Wu, Smola, Balakrishnan and Lipton (2021), "Mixture proportion estimation and PU
    learning: a modern approach".

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.3), separable=True, seed=1)
    >>> table = BBE().fit(data.cohort).relative_prevalence(versus="b").to_frame()
    >>> truth = data.relative_prevalence("b").to_frame()
    >>> bool(abs(table.loc[0, "estimate"] / truth.loc[0, "estimate"] - 1) < 0.1)
    True
    """

    admits_weights = False
    least_cases = 10

    def __init__(
        self,
        classifier: Any = None,
        *,
        delta: float = 0.1,
        gamma: float = 0.01,
        folds: int = 5,
        random_state: int = 0,
    ) -> None:
        super().__init__(classifier, folds=folds, random_state=random_state)
        self.delta = delta
        self.gamma = gamma

    def _prevalence(self, group: Cohort) -> float:
        scores = self._scores(group)
        diagnosed = group.diagnosed == 1
        share = best_bin(scores[diagnosed], scores[~diagnosed], delta=self.delta, gamma=self.gamma)
        return float(diagnosed.mean() + (1 - diagnosed.mean()) * share)


def best_bin(
    positive: FloatArray, unlabeled: FloatArray, *, delta: float = 0.1, gamma: float = 0.01
) -> float:
    """Share of positives among the unlabeled, in [0, 1], from the scores of both.

    Examples
    --------
    >>> import numpy as np
    >>> positive = np.linspace(0.5, 1, 1000)
    >>> unlabeled = np.concatenate([np.linspace(0.5, 1, 300), np.linspace(0, 0.4, 700)])
    >>> round(best_bin(positive, unlabeled), 2)
    0.3
    """
    if not 0 < delta < 1 or gamma < 0:
        raise InvalidInputError(
            f"delta must be between 0 and 1 and gamma nonnegative, got {delta} and {gamma}"
        )
    thresholds = np.unique(np.concatenate([positive, unlabeled]))
    q_p = _share_from(positive, thresholds)
    q_u = _share_from(unlabeled, thresholds)
    seen = q_p > 0
    ratio = q_u[seen] / q_p[seen]
    noise = np.sqrt(np.log(4 / delta) / 2)
    noise *= 1 / np.sqrt(len(unlabeled)) + 1 / np.sqrt(len(positive))
    limit = ratio + (1 + gamma) * noise / q_p[seen]
    return float(min(ratio[np.argmin(limit)], 1.0))


def _share_from(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Share of the scores at or above each threshold."""
    return 1.0 - np.searchsorted(np.sort(scores), thresholds, side="left") / len(scores)
