"""The quadratic model of the loss around a point: the curvature of one Newton step.

For a step (d, db, dtheta) the loss changes by about grad.step + 1/2 step'H step with

    step'H step = sum_i [a_i eta_i^2 + 2 k_i v_i eta_i dtheta_{g_i} + k_i dtheta_{g_i}^2]
                  + sum_m sign_m (u_m.step)^2,        eta_i = x_i.d + db.

With k = omega kappa, v = sigma(-z) and a = k v^2 the first sum is the Fisher
information of the likelihood (see `relprev.model.likelihood`), which is never
negative. For diagnosed rows the observed curvature in z is larger,

    a = omega sigma(z) sigma(-z) >= k v^2,

and is used instead; for others it is smaller and can be negative. Where sigma(z)
is small the two hardly differ. With many features and few cases, Fisher curvature
alone makes every step overshoot.

The second sum corrects the first by what the last few steps revealed. Observed
and Fisher curvature differ most in the direction that trades the intercept
against a common factor of the c_g; uncorrected, steps overshoot there and
convergence is slow. Each past step e with change of gradient y gives the BFGS
update H <- H - (He)(He)'/(e'He) + y y'/(y'e), which keeps H positive definite
(y is damped after Powell where y'e is small) and makes H e = y hold.

Curvature does not need all rows. With more rows than a budget m, row i is kept
with probability pi_i = min(1, tau a_i) and enters with 1 / pi_i: unbiased, and
every kept row then carries about the same curvature. The draw uses one fixed
pseudo-random number per row, so it is reproducible. Columns whose sampled
curvature falls short of the true one get the difference added on the diagonal.
The gradient always uses all rows, so sampling affects the number of steps, not
where they lead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_sums
from relprev.matrix.base import Columns, Matrix
from relprev.matrix.csr import stacked
from relprev.model import kernels
from relprev.model.likelihood import (
    Evaluation,
    Parameters,
    Problem,
    ProblemPart,
    linear_predictors,
)
from relprev.parallel.threads import BLOCK_ROWS, blocks, map_chunks, map_threads

WORTH_THREADS = 100_000  # entries of the columns; fewer are done before a thread has woken up
LOCAL = 0.03  # largest mean squared change of log p in a step that corrections learn from


@dataclass(frozen=True)
class Penalty:
    """l1 ||w||_1 + 1/2 sum_j l2_j w_j^2, with l2 of shape (p,)."""

    l1: float
    l2: FloatArray

    def value(self, w: FloatArray) -> float:
        return self.l1 * float(np.abs(w).sum()) + 0.5 * float(self.l2 @ w**2)


@dataclass
class Quadratic:
    """Curvature at one point, over all rows or a sample of m rows.

    A step is one vector of length p + 1 + n_groups: w, then b, then theta.
    ``aq`` has shape (m, 2): a, and q for `relprev.model.descent`; ``extra`` is added on
    w's diagonal; ``size`` is the typical size of a feature's non-zero values; ``u`` has
    shape (p + 1 + n_groups, number of corrections), ``signs`` their signs.
    """

    columns: Columns
    aq: FloatArray
    k: FloatArray
    v: FloatArray
    z: FloatArray
    g: NDArray[np.uint8] | NDArray[np.uint16]
    diagonal: FloatArray
    extra: FloatArray
    size: FloatArray
    n_groups: int
    u: FloatArray
    signs: FloatArray

    @property
    def n_cols(self) -> int:
        return len(self.diagonal)

    def rows_dot(self, step: FloatArray) -> FloatArray:
        """The part of H that comes from rows, times a step."""
        p = self.n_cols
        columns, values = self.columns, column_values(self.columns)
        eta = step[p] + kernels.columns_dot(
            columns.indptr, columns.rows, values, step[:p], len(self.k)
        )
        dtheta = step[p + 1 :][self.g]
        q = self.aq[:, 0] * eta + self.k * self.v * dtheta
        on_w = kernels.columns_tdot(columns.indptr, columns.rows, values, q)
        on_theta = group_sums(self.g, self.k * (self.v * eta + dtheta), self.n_groups)
        return np.concatenate([on_w + self.extra * step[:p], [q.sum()], on_theta])

    def learn(self, history: Sequence[tuple[FloatArray, FloatArray]]) -> None:
        """Correct the curvature by past steps and changes of gradient, oldest first."""
        u: list[FloatArray] = []
        signs: list[float] = []
        total = float(self.k.sum())
        steps = [step for step, _ in history]
        few = len(self.columns.rows) < WORTH_THREADS
        products = list(map(self.rows_dot, steps)) if few else map_threads(self.rows_dot, steps)
        for (step, change), product in zip(history, products, strict=True):
            for vector, sign in zip(u, signs, strict=True):
                product += sign * (vector @ step) * vector
            expected = float(step @ product)
            if not 0 < expected <= LOCAL * total:
                continue
            y = damped(step, change, product)
            u += [product / np.sqrt(expected), y / np.sqrt(float(step @ y))]
            signs += [-1.0, 1.0]
        if u:
            self.u, self.signs = np.column_stack(u), np.array(signs)
            self.diagonal = self.diagonal + (self.u[: self.n_cols] ** 2) @ self.signs


@dataclass(frozen=True)
class CurvatureRows:
    """The rows that curvature is taken from: all of them or a sample.

    Parameters
    ----------
    X : Matrix of shape (m, p)
    kva : array of shape (3, m)
        k, v and a; k and a are divided by the chance of being drawn.
    z : array of shape (m,)
    g : integer array of shape (m,)
    exact : array of shape (p,), optional
        Diagonal of w's curvature over all rows, if these are a sample.
    """

    X: Matrix
    kva: FloatArray
    z: FloatArray
    g: NDArray[Any]
    exact: FloatArray | None = None


def curvature_rows(
    problem: Problem, at: Parameters, evaluation: Evaluation, budget: int
) -> CurvatureRows:
    """All rows if they are within the budget, otherwise a sample."""
    of_rows = linear_predictors(problem, at) if evaluation.z is None else evaluation.z
    if problem.n <= budget:
        part, z = problem.together(), of_rows.gathered(np.asarray)
        kva = np.empty((3, problem.n))
        kernels.curvatures(z, part.s, part.g, part.omega, at.c, *kva)
        return CurvatureRows(part.X, kva, z, part.g)
    tau = budget / max(evaluation.curvature, np.finfo(float).tiny)
    samples = problem.map(_sample, at, tau, each=of_rows.handles)
    return CurvatureRows(
        stacked([sample.X for sample in samples]),
        np.concatenate([sample.kva for sample in samples], axis=1),
        np.concatenate([sample.z for sample in samples]),
        np.concatenate([sample.g for sample in samples]),
        np.sum([sample.exact for sample in samples if sample.exact is not None], axis=0),
    )


def build(problem: Problem, rows: CurvatureRows) -> Quadratic:
    """Curvature rows, columns and diagonal at the current point."""
    columns = rows.X.columns() if rows.exact is not None else problem.together().columns
    k, v, a = rows.kva
    aq = np.zeros((len(k), 2))
    aq[:, 0] = a
    diagonal = kernels.columns_diagonal(columns.indptr, columns.rows, column_values(columns), aq)
    short = np.zeros_like(diagonal) if rows.exact is None else rows.exact - diagonal
    extra = np.maximum(short, 0.0)
    none = np.empty((len(diagonal) + 1 + problem.n_groups, 0))
    return Quadratic(
        columns, aq, k, v, rows.z, rows.g, diagonal + extra, extra, problem.feature_size,
        problem.n_groups, none, none[0],
    )  # fmt: skip


def _sample(part: ProblemPart, z: FloatArray, at: Parameters, tau: float) -> CurvatureRows:
    """Rows drawn in proportion to their curvature."""
    X, c = part.X, at.c

    def one_chunk(start: int, stop: int) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
        diagonal = np.zeros(X.n_cols)
        work, kept = np.empty((3, BLOCK_ROWS)), np.empty((3, BLOCK_ROWS))
        rows = np.empty(BLOCK_ROWS, np.int64)
        picked = []
        for lo, hi in blocks(start, stop):
            span = slice(lo, hi)
            k, v, a = work[:, : hi - lo]
            kernels.curvatures(z[span], part.s[span], part.g[span], part.omega[span], c, k, v, a)
            X.add_tdot_sq(a, lo, hi, diagonal)
            count = kernels.sample_block(k, v, a, tau, part.first_row + lo, rows, kept)
            picked.append((rows[:count] - part.first_row, kept[:, :count].copy()))
        found, values = zip(*picked, strict=True)
        return np.concatenate(found), np.concatenate(values, axis=1), diagonal

    picked, kva, diagonals = zip(*map_chunks(one_chunk, X.n_rows), strict=True)
    rows = np.concatenate(picked)
    return CurvatureRows(
        X.take(rows), np.concatenate(kva, axis=1), z[rows], part.g[rows], np.sum(diagonals, axis=0)
    )


def damped(step: FloatArray, change: FloatArray, product: FloatArray) -> FloatArray:
    """The change of gradient, made to grow along the step after Powell."""
    expected, seen = float(step @ product), float(step @ change)
    if seen >= 0.2 * expected:
        return change
    share = 0.8 * expected / (expected - seen)
    return share * change + (1 - share) * product


_NO_VALUES = np.empty(0)


def column_values(columns: Columns) -> FloatArray:
    """The columns' values, empty where every stored entry is one."""
    return _NO_VALUES if columns.values is None else columns.values
