"""The quadratic model as one matrix, for a moderate number of dense features.

If every row has a value of every feature, a sweep of `relprev.model.descent` costs n p
operations, and correlated features need many sweeps. With q = p + 1 + n_groups the
curvature (see `relprev.model.quadratic`) is a matrix H of shape (q, q),

    H_ww = X' diag(a) X,   H_wb = X' a,   H_wg = X' diag(k v) 1_g,
    H_bb = sum a,          H_bg = sum_{i in g} k v,             H_gg = sum_{i in g} k,

formed once per step by n p^2 / 2 multiplications, which linear algebra libraries do fastest.
After that a sweep costs q^2, whatever the number of rows: the slope

    t = gradient + H step

is maintained, and a move of one coordinate by delta adds delta times a row of H. Corrections
learned from past steps are added to H itself. Numbers in a sparse matrix, beside codes, are taken
as dense if at least a quarter of all values are there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.matrix import Dense, FloatCSR, Matrix
from relprev.model import kernels
from relprev.model.descent import MAX_STEP, bounded_newton
from relprev.model.likelihood import Parameters
from relprev.model.quadratic import LOCAL, CurvatureRows, Penalty, damped

MIN_FEATURES, MAX_FEATURES = 12, 1000  # fewer settle in a few sweeps; H of more has over 8 MB
FILLED = 0.25  # share of the values of a sparse matrix that must be there
MAX_ROUNDS = 50
SWEEPS = 20  # over w, before b, theta and the scale of w move together
ACCURACY = 0.3  # tolerance of a step, as a share of that of descent over rows


def is_suited(X: Matrix) -> bool:
    """Whether the curvature of these features is best held as one matrix."""
    return are_suited(X.n_cols, X.n_rows, held(X))


def are_suited(n_cols: int, n_rows: int, n_held: int) -> bool:
    """Whether so many features are, of which so many values are `held`."""
    moderate = MIN_FEATURES <= n_cols <= MAX_FEATURES
    return moderate and n_held >= FILLED * n_rows * n_cols


def held(X: Matrix) -> int:
    """Number of values that a matrix holds; none if they are all ones, as of codes."""
    return X.nnz if isinstance(X, Dense | FloatCSR) else 0


def _values(X: Matrix) -> FloatArray:
    """All values, less the origin, shape (n, p)."""
    if isinstance(X, Dense):
        return X.values
    assert isinstance(X, FloatCSR)
    out = np.zeros(X.shape)
    out[np.repeat(np.arange(X.n_rows), np.diff(X.indptr)), X.indices] = X.values
    return out


class GramModel:
    """Curvature at one point as a matrix; see the module.

    Parameters
    ----------
    rows : CurvatureRows
        Of a dense design matrix.
    size : array of shape (p,)
        Typical size of a feature's non-zero values.
    n_groups : int
    """

    def __init__(self, rows: CurvatureRows, size: FloatArray, n_groups: int) -> None:
        X = _values(rows.X)
        n, p = X.shape
        k, v, a = rows.kva
        beside = np.zeros((n, 1 + n_groups))  # what multiplies b and theta
        beside[:, 0] = a
        beside[np.arange(n), 1 + rows.g] = k * v
        root = np.sqrt(a)[:, None] * X
        H = np.empty((p + 1 + n_groups,) * 2)
        H[:p, :p] = root.T @ root
        if rows.exact is not None:
            short = np.maximum(rows.exact - np.diag(H)[:p], 0.0)
            H[np.arange(p), np.arange(p)] += short
        H[:p, p:] = X.T @ beside
        H[p:, :p] = H[:p, p:].T
        H[p, p:] = beside.sum(axis=0)
        H[p:, p] = H[p, p:]
        H[p + 1 :, p + 1 :] = np.diag(np.bincount(rows.g, k, n_groups))
        self.H, self.n_cols, self.size, self.total = H, p, size, float(k.sum())

    def learn(self, history: Sequence[tuple[FloatArray, FloatArray]]) -> None:
        """Correct the curvature by past steps and changes of gradient, oldest first."""
        for step, change in history:
            product = self.H @ step
            expected = float(step @ product)
            if not 0 < expected <= LOCAL * self.total:
                continue
            y = damped(step, change, product)
            self.H += np.outer(y, y / float(step @ y)) - np.outer(product, product / expected)

    def minimise(
        self, at: Parameters, gradient: FloatArray, penalty: Penalty,
        free_theta: NDArray[np.bool_], tolerance: float,
    ) -> FloatArray:  # fmt: skip
        """The step that minimises the model plus the penalty; see `relprev.model.descent`."""
        H = self.H
        step, slope = np.zeros(len(gradient)), gradient.copy()
        cap = MAX_STEP / self.size
        goal = ACCURACY * tolerance
        for _ in range(MAX_ROUNDS):
            worst = kernels.gram_sweeps(
                H, slope, at.w, step, penalty.l2, penalty.l1, cap, goal, SWEEPS
            )
            worst = max(worst, self._joint_move(at, penalty, free_theta, step, slope))
            if worst <= goal:
                break
        return step

    def _joint_move(
        self, at: Parameters, penalty: Penalty, free_theta: NDArray[np.bool_], step: FloatArray,
        slope: FloatArray,
    ) -> float:  # fmt: skip
        """Move b, theta and the scale of w together; returns the largest slope of b and theta."""
        p, q = self.n_cols, len(step)
        r = at.w + step[:p]
        basis = np.zeros((q, q - p + 1))
        basis[np.arange(p, q), np.arange(q - p)] = 1.0
        basis[:p, -1] = r
        product = self.H @ basis
        hessian, along = basis.T @ product, basis.T @ slope
        hessian[-1, -1] += penalty.l2 @ r**2
        along[-1] += penalty.l2 @ r**2 + penalty.l1 * np.abs(r).sum()
        upper = np.concatenate([[MAX_STEP], np.minimum(MAX_STEP, -at.theta)])
        high, low = np.append(upper - step[p:], 0.5), np.append(-MAX_STEP - step[p:], -0.5)
        free = np.concatenate([[True], free_theta, [bool(r.any())]])
        free &= ((high > 0) | (along > 0)) & ((low < 0) | (along < 0))
        worst = float(np.max(np.abs(along[:-1][free[:-1]]), initial=0.0))
        move = bounded_newton(hessian, along, low, high, free)
        step += basis @ move
        slope += product @ move
        return worst
