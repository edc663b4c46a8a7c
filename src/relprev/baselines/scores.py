"""Scores of a classifier that tells diagnosed rows from the others, out of fold.

The "non-traditional classifier" estimates p(s=1|x) within a group. Each row is
scored by a model that has not seen it, nor any other row of the same patient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from relprev.arrays import FloatArray
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.model.em import condition_probability
from relprev.model.splits import split


def default_classifier() -> LogisticRegression:
    """Logistic regression, the function class of PURPLE.

    Its ridge (C = 1) moves nothing on thousands of rows, and keeps the coefficient of
    a code never seen with a diagnosis finite.
    """
    return LogisticRegression(max_iter=1000)


def fit_classifier(classifier: Any, X: Any, label: Any, weights: FloatArray | None) -> Any:
    """A fitted copy of the classifier (or of the default one)."""
    model = default_classifier() if classifier is None else clone(classifier)
    for method in ("fit", "predict_proba"):
        if not hasattr(model, method):
            raise InvalidInputError(
                f"classifier must have {method}, {type(model).__name__} has not; give a "
                "scikit-learn classifier that predicts probabilities"
            )
    if weights is None:
        return model.fit(X, label)
    try:
        return model.fit(X, label, sample_weight=weights)
    except TypeError as error:
        raise InvalidInputError(
            f"classifier {type(model).__name__} does not take sample_weight ({error}); choose one "
            "that does, or fit without weights"
        ) from error


def out_of_fold(classifier: Any, group: Cohort, folds: int, seed: int) -> FloatArray:
    """p(s=1|x) of every row by a model fitted on the other folds, shape (n,)."""
    if folds < 2:
        raise InvalidInputError(f"folds must be at least 2, got {folds}")
    X = group.X.to_scipy()
    scores = np.empty(group.n)
    for held_out in split(group, [1.0] * folds, seed):
        rest = np.delete(np.arange(group.n), held_out)
        weights = None if group.weights is None else group.weights[rest]
        model = fit_classifier(classifier, X[rest], group.diagnosed[rest], weights)
        scores[held_out] = condition_probability(model, X[held_out])
    return scores
