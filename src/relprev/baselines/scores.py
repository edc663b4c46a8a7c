"""Out-of-fold scores of a classifier that separates diagnosed rows from the others.

The "non-traditional classifier" estimates p(s=1|x) within a group. Each row is scored by a
model that has seen neither it nor any other row of the same patient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from relprev.arrays import FloatArray
from relprev.baselines.base import GroupwiseBaseline
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.model.em import condition_probability
from relprev.model.splits import split


class ScoredBaseline(GroupwiseBaseline):
    """A baseline that reads a group's prevalence off the scores of its rows."""

    def __init__(self, classifier: Any = None, *, folds: int = 5, random_state: int = 0) -> None:
        self.classifier = classifier
        self.folds = folds
        self.random_state = random_state

    def _scores(self, group: Cohort, *, balanced: bool = False) -> FloatArray:
        return out_of_fold(self.classifier, group, self.folds, self.random_state, balanced=balanced)


def default_classifier() -> LogisticRegression:
    """Logistic regression, the model class of PURPLE.

    Its ridge penalty (C = 1) is negligible for thousands of rows, and keeps the coefficient of
    a code never seen with a diagnosis finite.
    """
    return LogisticRegression(max_iter=1000)


def fit_classifier(classifier: Any, X: Any, label: Any, weights: FloatArray | None) -> Any:
    """A fitted copy of the classifier, or of the default one."""
    model = default_classifier() if classifier is None else clone(classifier)
    for method in ("fit", "predict_proba"):
        if not hasattr(model, method):
            raise InvalidInputError(
                f"classifier must have the method {method}, which {type(model).__name__} lacks; "
                "use a scikit-learn classifier that predicts probabilities"
            )
    if weights is None:
        return model.fit(X, label)
    try:
        return model.fit(X, label, sample_weight=weights)
    except TypeError as error:
        raise InvalidInputError(
            f"classifier {type(model).__name__} does not accept sample_weight ({error}); use one "
            "that does, or fit without weights"
        ) from error


def out_of_fold(
    classifier: Any, group: Cohort, folds: int, seed: int, *, balanced: bool = False
) -> FloatArray:
    """p(s=1|x) of every row, from a model fitted to the other folds, shape (n,).

    ``balanced`` weights diagnosed and undiagnosed rows so that both kinds weigh the same: a
    diagnosed row by the share of undiagnosed rows, and the other way round.
    """
    if folds < 2:
        raise InvalidInputError(f"folds must be at least 2, got {folds}")
    X = group.X.to_scipy()
    scores = np.empty(group.n)
    all_weights = group.weights
    if balanced:
        share = group.diagnosed.mean()
        all_weights = np.where(group.diagnosed == 1, 1 - share, share)
    for held_out in split(group, [1.0] * folds, seed):
        rest = np.delete(np.arange(group.n), held_out)
        weights = None if all_weights is None else all_weights[rest]
        model = fit_classifier(classifier, X[rest], group.diagnosed[rest], weights)
        scores[held_out] = condition_probability(model, X[held_out])
    return scores
