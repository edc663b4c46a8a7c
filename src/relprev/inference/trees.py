"""Gradient-boosted trees, for what neither a linear model nor its expansion can say.

Trees are slow and, with few cases, coarse, so they are fitted only where the linear model misses
something (`relprev.inference.adaptive`) and, after that, a small forest still finds something in
the residuals r of the models at hand: fitted to r in one half of (at most 10,000)
rows, its predictions h are compared with r in the other half, and the other way round,

    z = sum_i r_i h_i / sqrt(sum_i r_i^2 h_i^2),

which is standard normal if nothing is left to find. The mean of the two is at most as spread out
as one of them: both are nearly the same sum over pairs of rows, so they do not count twice. Trees
see at most `MOST_COLUMNS` features: all numeric ones, if they are not more, and those that are
related to the residuals most closely. A feature with more than `MOST_VALUES` values is replaced by
the number of its quantiles below: trees only cut, so they lose nothing, and scikit-learn takes a
second per fit to find quantiles of its own where rows have weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from relprev.arrays import FloatArray
from relprev.inference.folds import fold_of_rows
from relprev.matrix import Dense, Matrix
from relprev.model.expansion import evenly
from relprev.model.likelihood import Problem

MOST_COLUMNS = 60
PROBE_ROWS = 10_000
MOST_ROWS = 500_000  # to fit trees to
FEW_ROWS = 100_000  # with fewer, threads mostly wait for each other
MOST_VALUES = 255  # of a feature, which scikit-learn's trees tell apart
CUT_ROWS = 50_000  # to find quantiles in
CLEARLY = 1.8  # z above which trees are fitted: one time in 25 or fewer by chance
PROBE = {"max_iter": 10, "max_leaf_nodes": 8, "learning_rate": 0.2, "early_stopping": False}
TREES = {"max_iter": 100, "max_leaf_nodes": 12, "learning_rate": 0.12, "l2_regularization": 5.0}


@dataclass(frozen=True)
class TreesModel:
    """Class probabilities from some columns of X, cut at ``cuts``."""

    columns: NDArray[np.int64]
    cuts: Sequence[FloatArray | None]
    classifier: Any
    n_classes: int

    def probabilities(self, X: Matrix) -> FloatArray:
        """Shape (n, n_classes)."""
        out = np.zeros((X.n_rows, self.n_classes))
        if X.n_rows:
            values = _cut(columns_of(X, self.columns), self.cuts)
            with _threads_for(X.n_rows):
                found = self.classifier.predict_proba(values)
            out[:, self.classifier.classes_.astype(int)] = found
        return out


def columns_of(X: Matrix, columns: NDArray[np.int64]) -> FloatArray:
    """Some columns as an array, shape (n, q)."""
    if isinstance(X, Dense):
        return X.values[:, columns]
    chosen: FloatArray = X.to_scipy()[:, columns].toarray()
    return chosen


def compact(z: FloatArray, numeric: NDArray[np.int64]) -> NDArray[np.int64]:
    """Columns for trees: the numeric ones, and those with the largest |z| of any residual.

    Parameters
    ----------
    z : array of shape (residuals, p)
    numeric : integer array
    """
    size = np.abs(z).max(axis=0)
    if len(numeric) <= MOST_COLUMNS:
        size[numeric] = np.inf
    return np.sort(np.argsort(-size, kind="stable")[:MOST_COLUMNS])


def probe(X: Matrix, columns: NDArray[np.int64], residuals: FloatArray, seed: int) -> float:
    """The largest z of the residuals, shape (n, q), by a small forest; see the module."""
    rows = evenly(X.n_rows, PROBE_ROWS)
    values, left = columns_of(X.take(rows), columns), residuals[rows]
    half = np.random.default_rng(seed).random(len(rows)) < 0.5
    with _threads_for(len(rows)):
        return max(_two_halves(values, residual, half, seed) for residual in left.T)


def _two_halves(
    values: FloatArray, residual: FloatArray, half: NDArray[np.bool_], seed: int
) -> float:
    z, r = 0.0, residual / (float(np.sqrt(np.mean(residual**2))) or 1.0)
    for train in (half, ~half):
        forest = HistGradientBoostingRegressor(**PROBE, random_state=seed)
        h = forest.fit(values[train], r[train]).predict(values[~train])
        z += float(r[~train] @ h) / float(np.sqrt(max(r[~train] ** 2 @ h**2, 1e-300)))
    return z / 2


def fit_trees(
    problem: Problem, folds: Sequence[NDArray[np.int64]], columns: NDArray[np.int64],
    target: str, seed: int,
) -> list[TreesModel]:  # fmt: skip
    """One model per fold of the rows' ``target``, "g" or "s", fitted without that fold."""
    fold = fold_of_rows(folds)
    n_classes = problem.n_groups if target == "g" else 2
    models = []
    for k in range(len(folds)):
        others = np.flatnonzero(fold != k)
        part = problem.take(others[evenly(len(others), MOST_ROWS)]).together()
        classifier = HistGradientBoostingClassifier(
            **TREES, early_stopping=True, validation_fraction=0.15, random_state=seed
        )
        values = columns_of(part.X, columns)
        cuts = _cuts(values)
        with _threads_for(len(values)):
            classifier.fit(
                _cut(values, cuts), getattr(part, target), sample_weight=part.omega * len(part.g)
            )
        models.append(TreesModel(columns, cuts, classifier, n_classes))
    return models


def _threads_for(n_rows: int) -> threadpool_limits:
    """One thread for scikit-learn's trees on few rows."""
    return threadpool_limits(1 if n_rows < FEW_ROWS else None, user_api="openmp")


def _cuts(values: FloatArray) -> list[FloatArray | None]:
    """Quantiles of the columns of shape (n, q) that have many values; None for the others."""
    some = values[evenly(len(values), CUT_ROWS)]
    share = np.linspace(0, 1, MOST_VALUES + 1)[1:-1]
    few = [len(np.unique(column)) <= MOST_VALUES for column in some.T]
    return [
        None if is_few else np.unique(np.quantile(column, share))
        for column, is_few in zip(some.T, few, strict=True)
    ]


def _cut(values: FloatArray, cuts: Sequence[FloatArray | None]) -> FloatArray:
    """The columns, those with many values as numbers of quantiles below them."""
    pairs = zip(values.T, cuts, strict=True)
    return np.column_stack([c if at is None else np.searchsorted(at, c) for c, at in pairs])
