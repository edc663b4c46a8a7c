"""The fitted p(y=1|x) as a function of X, by the kind of model: it can be sent to other processes.

logistic    sigma(w x + b)
expanded    sigma(w (x - o, f(x - o)) + b), f by a recipe (`relprev.model.expansion`)
learnt      a classifier's own probability
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from relprev.arrays import FloatArray
from relprev.matrix import Dense, FloatCSR, Matrix
from relprev.model.em import condition_probability
from relprev.model.expansion import Expansion

ConditionModel = Callable[[Matrix], FloatArray]  # from X to p(y=1|x), shape (n,)


def logistic_condition(w: FloatArray, b: float, X: Matrix) -> FloatArray:
    """Of a logistic model, shape (n,).

    Examples
    --------
    >>> logistic_condition(np.array([2.0]), -2.0, Dense(np.array([[1.0], [0.0]]))).round(2)
    array([0.5 , 0.12])
    """
    return 0.5 * (1.0 + np.tanh(0.5 * (X.matvec(w) + b)))


def expanded_condition(
    origin: FloatArray, recipe: Expansion, w: FloatArray, b: float, X: Matrix
) -> FloatArray:
    """Of a logistic model of features about their origin and what a recipe adds, shape (n,)."""
    if isinstance(X, Dense | FloatCSR):  # codes have no origin
        X = X.about(origin)
    return logistic_condition(w, b, recipe.matrix(X))


def condition_model(
    w: FloatArray, b: float, recipe: Expansion | None, origin: FloatArray
) -> ConditionModel:
    """A logistic model, of more features than those of X if there is a recipe for them."""
    if recipe is None:
        return partial(logistic_condition, w, b)
    return partial(expanded_condition, origin, recipe, w, b)


def learnt_condition(learner: Any, X: Matrix) -> FloatArray:
    """Of a classifier, shape (n,)."""
    return condition_probability(learner, X.to_scipy())
