"""Classifiers of the user's in place of the linear models.

Classifiers that cannot take sparse matrices (scikit-learn's tag ``input_tags.sparse`` says so) are
given arrays, fold by fold, as long as these stay below `LARGEST_ARRAY` bytes. Where a classifier
has a ``random_state`` that is None, it gets the estimator's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from relprev.arrays import FloatArray
from relprev.errors import InvalidInputError
from relprev.inference.folds import fold_of_rows

LARGEST_ARRAY = 4 * 2**30


def classifier_out_of_fold(
    classifier: Any, X: Any, target: NDArray[Any], n_classes: int, omega: FloatArray,
    folds: Sequence[NDArray[np.int64]], seed: int = 0,
) -> FloatArray:  # fmt: skip
    """Class probabilities (n, n_classes) of a scikit-learn classifier, each row's out of fold.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, g = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0, 1, 0, 1])
    >>> folds = [np.array([0, 1]), np.array([2, 3])]
    >>> classifier_out_of_fold(DecisionTreeClassifier(), X, g, 2, np.full(4, 0.25), folds)[:, 1]
    array([0., 1., 0., 1.])
    """
    for method in ("fit", "predict_proba"):
        if not hasattr(classifier, method):
            raise InvalidInputError(
                f"a classifier given as propensity or risk must have the method {method}, which "
                f"{type(classifier).__name__} has not"
            )
    dense = sp.issparse(X) and not _takes_sparse(classifier)
    size = 8 * X.shape[0] * X.shape[1]
    if dense and size > LARGEST_ARRAY:
        raise InvalidInputError(
            f"{type(classifier).__name__} does not take sparse features, and as an array these "
            f"{X.shape[0]:,} x {X.shape[1]:,} need {size / 2**30:.0f} GiB; use fewer features, a "
            "classifier that takes sparse ones, or the default"
        )
    weight, fold = omega * len(omega), fold_of_rows(folds)
    out = np.zeros((len(omega), n_classes))
    for k, rows in enumerate(folds):
        others = np.flatnonzero(fold != k)
        fitted = _seeded(classifier, seed).fit(
            _rows(X, others, dense), target[others], sample_weight=weight[others]
        )
        found = fitted.predict_proba(_rows(X, rows, dense))
        out[np.ix_(rows, fitted.classes_.astype(int))] = found
    return out


def _rows(X: Any, rows: NDArray[np.int64], dense: bool) -> Any:
    return X[rows].toarray() if dense else X[rows]


def _takes_sparse(classifier: Any) -> bool:
    try:
        return bool(get_tags(classifier).input_tags.sparse)
    except (AttributeError, TypeError):  # not of scikit-learn
        return True


def _seeded(classifier: Any, seed: int) -> Any:
    made = clone(classifier)
    names = made.get_params()
    unset = [
        name for name in names if name.split("__")[-1] == "random_state" and names[name] is None
    ]
    return made.set_params(**dict.fromkeys(unset, seed))
