"""The quadratic model of one Newton step, and coordinate descent on it.

Around the current point the loss is modelled, for a step (d, db, dtheta), by

    grad . step + 1/2 step' H step,
    step' H step = sum_i k_i (v_i (x_i.d + db) + dtheta_{g_i})^2 + sum_m sign_m (u_m.step)^2.

The first sum is the Fisher information of the likelihood, k = omega kappa and
v = sigma(-z) (see `relprev.model.likelihood`). Coordinate descent keeps

    q_i = k_i v_i (v_i (x_i.d + db) + dtheta_{g_i}),    a_i = k_i v_i^2,

so that its derivative in d_j is sum_i x_ij q_i, its curvature sum_i x_ij^2 a_i, and
a move of d_j by delta adds a_i x_ij delta to q_i. The intercept and the log
diagnosis rates, which are strongly coupled, move together by a small dense
Newton step after every sweep.

The second sum corrects the first by what the last few steps taught. Observed
and Fisher curvature differ, most in the direction that trades the intercept
against a common factor of the c_g; uncorrected, steps there overshoot and
convergence is slow. Each past step e with change of gradient y gives the BFGS
update H <- H - (He)(He)'/(e'He) + y y'/(y'e), which keeps H positive definite
(y is damped after Powell where y'e is small) and makes H e = y hold.

Curvature does not need all rows. With more rows than a budget m, row i is kept
with probability pi_i = min(1, tau a_i) and enters with 1 / pi_i: unbiased, and
every kept row then carries about the same curvature. The draw uses one fixed
pseudo-random number a row, so it is reproducible. Columns whose sampled
curvature falls short of their true one get the difference added on the diagonal.
The gradient always uses all rows, so sampling affects the number of steps, not
where they lead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from relprev.design.base import Columns, FloatArray
from relprev.model.likelihood import Evaluation, Parameters, Problem
from relprev.model.vectormath import exp_negative
from relprev.parallel import BLOCK_ROWS, blocks, map_chunks

# Largest change of z in one step that a parameter may cause in a row that has a
# typical value of its feature. Far from the optimum the loss behaves like
# n exp(w) - k w, on which Newton's step from below, k / n - 1, can be absurd.
MAX_STEP = 3.0
LOCAL = 0.03  # mean squared change of log p that a step may make and still teach
BLOCK_RIDGE = 1e-9  # relative; the intercept and a common factor of c can be almost exchangeable


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
    ``aq`` has shape (m, 2) and holds a and q; ``extra`` is added on w's diagonal;
    ``size`` is the typical size of a feature's non-zero values;
    ``u`` has shape (p + 1 + n_groups, number of corrections), ``signs`` their signs.
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

    def fisher_dot(self, step: FloatArray) -> FloatArray:
        """The Fisher part of H times a step."""
        p = self.n_cols
        values = _values(self.columns)
        q = _columns_dot(self.columns.indptr, self.columns.rows, values, step[:p], len(self.k))
        q = self.k * self.v * (self.v * (q + step[p]) + step[p + 1 :][self.g])
        on_w = _columns_tdot(self.columns.indptr, self.columns.rows, values, q)
        on_theta = np.bincount(self.g, q / self.v, minlength=self.n_groups)
        return np.concatenate([on_w + self.extra * step[:p], [q.sum()], on_theta])

    def learn(self, history: Sequence[tuple[FloatArray, FloatArray]]) -> None:
        """Correct the curvature by past steps and changes of gradient, oldest first."""
        u: list[FloatArray] = []
        signs: list[float] = []
        total = float(self.k.sum())
        for step, change in history:
            product = self.fisher_dot(step)
            for vector, sign in zip(u, signs, strict=True):
                product += sign * (vector @ step) * vector
            expected, seen = float(step @ product), float(step @ change)
            if not 0 < expected <= LOCAL * total:
                continue
            y = change
            if seen < 0.2 * expected:  # Powell's damping
                share = 0.8 * expected / (expected - seen)
                y = share * change + (1 - share) * product
            u += [product / np.sqrt(expected), y / np.sqrt(float(step @ y))]
            signs += [-1.0, 1.0]
        if u:
            self.u, self.signs = np.column_stack(u), np.array(signs)
            self.diagonal = self.diagonal + (self.u[: self.n_cols] ** 2) @ self.signs


def build(problem: Problem, at: Parameters, evaluation: Evaluation, budget: int) -> Quadratic:
    """Curvature rows, columns and diagonal at the current point."""
    c = at.c
    if problem.X.n_rows <= budget:
        k, v = _fisher(evaluation.z, problem.g, problem.omega, c)
        columns, g, z, exact = problem.columns, problem.g, evaluation.z, None
    else:
        rows, k, v, exact = _sample(problem, c, evaluation, budget)
        columns, g, z = problem.X.columns(rows), problem.g[rows], evaluation.z[rows]
    aq = np.zeros((len(k), 2))
    aq[:, 0] = k * v * v
    diagonal = _columns_diagonal(columns.indptr, columns.rows, _values(columns), aq)
    extra = np.zeros_like(diagonal) if exact is None else np.maximum(exact - diagonal, 0.0)
    none = np.empty((len(diagonal) + 1 + problem.n_groups, 0))
    return Quadratic(
        columns, aq, k, v, z, g, diagonal + extra, extra, problem.feature_size, problem.n_groups,
        none, none[0],
    )  # fmt: skip


def minimise(
    model: Quadratic, at: Parameters, gradient: FloatArray, penalty: Penalty,
    free_theta: NDArray[np.bool_], tolerance: float, max_sweeps: int = 50,
) -> FloatArray:  # fmt: skip
    """Coordinate descent on the quadratic model plus the penalty, theta + dtheta <= 0.

    Sweeps run over the coordinates that
    are not zero until those are settled, then once over all candidates.
    """
    p = model.n_cols
    candidates = np.flatnonzero((at.w != 0) | (np.abs(gradient[:p]) > 0.9 * penalty.l1))
    step = np.zeros(len(gradient))
    seen = np.zeros(len(model.signs))  # u_m . step
    block = _Block(model, at, gradient, penalty, free_theta, step, seen)
    block.move()
    slope = gradient[:p] + penalty.l2 * at.w
    args = (
        model.columns.indptr, model.columns.rows, _values(model.columns), model.aq, slope, at.w,
        step, model.diagonal + penalty.l2, model.extra + penalty.l2, model.u, model.signs, seen,
        penalty.l1,
        MAX_STEP / model.size,
    )  # fmt: skip
    working, complete = candidates, True
    for sweep in range(1, max_sweeps + 1):
        worst = max(_sweep(*args, working), block.move())
        if worst <= tolerance and complete:
            break
        complete = worst <= tolerance or sweep % 10 == 0
        working = candidates if complete else candidates[(at.w + step[:p])[candidates] != 0]
    return step


class _Block:
    """Joint Newton moves of b, theta and the scale of w within the quadratic model.

    The scale is a move of d along r = w + d: it leaves signs and zeros of w + d as
    they are, so the L1 penalty changes by l1 ||r||_1 times the move. Keeps
    theta + dtheta <= 0 and the scale's move within half of r.
    """

    def __init__(
        self, model: Quadratic, at: Parameters, gradient: FloatArray, penalty: Penalty,
        free_theta: NDArray[np.bool_], step: FloatArray, seen: FloatArray,
    ) -> None:  # fmt: skip
        self.model, self.at, self.penalty = model, at, penalty
        self.gradient, self.step, self.seen = gradient, step, seen
        self.scores = model.z - at.b  # w.x of the curvature rows
        count = model.n_groups
        self.kv = model.k * model.v
        self.hessian = np.zeros((count + 2, count + 2))
        self.hessian[0, 0] = model.aq[:, 0].sum()
        self.hessian[0, 1:-1] = np.bincount(model.g, self.kv, minlength=count)
        self.hessian[range(1, count + 1), range(1, count + 1)] = np.bincount(
            model.g, model.k, minlength=count
        )
        self.hessian[:-1, :-1] += (model.u[model.n_cols :] * model.signs) @ model.u[
            model.n_cols :
        ].T
        self.free = np.concatenate([[True], free_theta, [True]])
        self.upper = np.concatenate([[MAX_STEP], np.minimum(MAX_STEP, -at.theta), [0.0]])

    def move(self) -> float:
        """Move to the block's minimum; returns the largest derivative in b and theta before."""
        model, p = self.model, self.model.n_cols
        q = model.aq[:, 1]
        r = self.at.w + self.step[:p]
        # x.d follows from q; then x.r = x.w + x.d.
        within = (q / self.kv - self.step[p + 1 :][model.g]) / model.v - self.step[p]
        along = self.scores + within
        taught = model.signs * self.seen
        slope = np.empty(model.n_groups + 2)
        slope[:-1] = self.gradient[p:] + model.u[p:] @ taught
        slope[0] += q.sum()
        slope[1:-1] += np.bincount(model.g, q / model.v, minlength=model.n_groups)
        on_r = model.u[:p].T @ r
        slope[-1] = (
            self.gradient[:p] @ r + q @ along + on_r @ taught + (model.extra * self.step[:p]) @ r
            + self.penalty.l1 * np.abs(r).sum() + (self.penalty.l2 * r) @ r
        )  # fmt: skip
        self._border(along, r, on_r)
        room = self.upper - np.concatenate([self.step[p:], [-0.5]])
        free = self.free & ((room > 0) | (slope > 0))
        free[-1] = bool(r.any())
        worst = float(np.max(np.abs(slope[:-1][free[:-1]]), initial=0.0))
        move = _bounded_newton(self.hessian, slope, room, free)
        move[:-1] = np.maximum(self.step[p:] + move[:-1], -MAX_STEP) - self.step[p:]
        move[-1] = max(move[-1], -0.5)
        self.step[p:] += move[:-1]
        self.step[:p] += move[-1] * r
        self.seen += move[:-1] @ model.u[p:] + move[-1] * on_r
        _shift(model.aq, model.k, model.v, model.g, move, along)
        return worst

    def _border(self, along: FloatArray, r: FloatArray, on_r: FloatArray) -> None:
        """Curvature between the scale and everything in the block."""
        model, h = self.model, self.hessian
        h[0, -1] = model.aq[:, 0] @ along
        h[1:-1, -1] = np.bincount(model.g, self.kv * along, minlength=model.n_groups)
        h[:-1, -1] += model.u[model.n_cols :] @ (model.signs * on_r)
        h[-1, -1] = (
            model.aq[:, 0] @ along**2
            + (model.extra + self.penalty.l2) @ r**2
            + model.signs @ on_r**2
        )
        upper = np.triu(h)
        self.hessian = upper + np.triu(h, 1).T


def _bounded_newton(
    hessian: FloatArray, slope: FloatArray, room: FloatArray, free: NDArray[np.bool_]
) -> FloatArray:
    """Minimum of slope.m + m'Hm/2 over the free entries with m <= room (bounds met stay met)."""
    move = np.zeros_like(slope)
    ridged = hessian + np.diag(BLOCK_RIDGE * np.diag(hessian))
    while free.any():
        sub = np.flatnonzero(free)
        target = _solve(ridged[np.ix_(sub, sub)], -(slope + ridged @ move)[sub])
        over = sub[target > room[sub]]
        if len(over) == 0:
            move[sub] = target
            return move
        move[over] = room[over]
        free[over] = False
    return move


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a small positive semidefinite system after scaling it to unit diagonal."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    solution, *_ = np.linalg.lstsq(matrix * np.outer(scale, scale), right * scale, rcond=1e-12)
    return solution * scale


def _sample(
    problem: Problem, c: FloatArray, evaluation: Evaluation, budget: int
) -> tuple[NDArray[np.int64], FloatArray, FloatArray, FloatArray]:
    """Rows drawn in proportion to their curvature, with their k, v, and the exact diagonal."""
    X = problem.X
    tau = budget / max(evaluation.curvature, np.finfo(float).tiny)

    def one_chunk(start: int, stop: int) -> tuple:
        diagonal = np.zeros(X.n_cols)
        h = np.empty(BLOCK_ROWS)
        picked = []
        for lo, hi in blocks(start, stop):
            span = slice(lo, hi)
            picked.append(
                _sample_block(
                    evaluation.z[span], problem.g[span], problem.omega[span], c, tau, lo, h
                )
            )
            X.add_tdot_sq(h, lo, hi, diagonal)
        return diagonal, [np.concatenate(part) for part in zip(*picked, strict=True)]

    parts = map_chunks(one_chunk, X.n_rows)
    rows, k, v = (np.concatenate([part[1][field] for part in parts]) for field in range(3))
    return rows, k, v, np.sum([part[0] for part in parts], axis=0)


_NO_VALUES = np.empty(0)


def _values(columns: Columns) -> FloatArray:
    return _NO_VALUES if columns.values is None else columns.values


@njit(nogil=True, cache=True, error_model="numpy")
def _curvature(z, omega, c):
    """(k, v) of one row."""
    e = exp_negative(-abs(z))
    larger = 1.0 / (1.0 + e)
    smaller = e * larger
    sick = larger if z >= 0.0 else smaller
    well = smaller if z >= 0.0 else larger
    return omega * c * sick / ((1.0 - c) + c * well), max(well, 1e-100)


@njit(nogil=True, cache=True, error_model="numpy")
def _fisher(z, g, omega, c):
    k = np.empty(len(z))
    v = np.empty(len(z))
    for i in range(len(z)):
        k[i], v[i] = _curvature(z[i], omega[i], c[g[i]])
    return k, v


@njit(nogil=True, cache=True, error_model="numpy")
def _uniform(i):
    """A fixed pseudo-random number in [0, 1) for row i (splitmix64)."""
    x = np.uint64(i) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((x ^ (x >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@njit(nogil=True, cache=True, error_model="numpy")
def _sample_block(z, g, omega, c, tau, offset, h):
    rows = np.empty(len(z), np.int64)
    ks = np.empty(len(z))
    vs = np.empty(len(z))
    count = 0
    for i in range(len(z)):
        k, v = _curvature(z[i], omega[i], c[g[i]])
        h[i] = k * v * v
        keep = min(1.0, tau * h[i])
        if _uniform(offset + i) < keep:
            rows[count] = offset + i
            ks[count] = k / keep
            vs[count] = v
            count += 1
    return rows[:count], ks[:count], vs[:count]


@njit(nogil=True, cache=True, error_model="numpy")
def _shift(aq, k, v, g, move, along):
    for i in range(len(k)):
        aq[i, 1] += k[i] * v[i] * (v[i] * (move[0] + move[-1] * along[i]) + move[1 + g[i]])


@njit(nogil=True, cache=True, error_model="numpy")
def _columns_diagonal(indptr, rows, values, aq):
    out = np.zeros(len(indptr) - 1)
    for j in range(len(out)):
        total = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            x = values[e] if len(values) else 1.0
            total += x * x * aq[rows[e], 0]
        out[j] = total
    return out


@njit(nogil=True, cache=True, error_model="numpy")
def _columns_dot(indptr, rows, values, w, n_rows):
    out = np.zeros(n_rows)
    for j in range(len(w)):
        if w[j] != 0.0:
            for e in range(indptr[j], indptr[j + 1]):
                out[rows[e]] += w[j] * (values[e] if len(values) else 1.0)
    return out


@njit(nogil=True, cache=True, error_model="numpy")
def _columns_tdot(indptr, rows, values, r):
    out = np.zeros(len(indptr) - 1)
    for j in range(len(out)):
        total = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            total += r[rows[e]] * (values[e] if len(values) else 1.0)
        out[j] = total
    return out


@njit(nogil=True, cache=True, error_model="numpy")
def _sweep(indptr, rows, values, aq, grad, w, d, diagonal, extra, u, signs, seen, l1, cap, working):
    """One sweep of soft-threshold updates; returns the largest KKT violation met."""
    binary = len(values) == 0
    worst = 0.0
    for j in working:
        curvature = diagonal[j]
        if curvature <= 0.0:
            continue
        slope = grad[j] + extra[j] * d[j]
        for m in range(len(signs)):
            slope += signs[m] * u[j, m] * seen[m]
        if binary:
            for e in range(indptr[j], indptr[j + 1]):
                slope += aq[rows[e], 1]
        else:
            for e in range(indptr[j], indptr[j + 1]):
                slope += values[e] * aq[rows[e], 1]
        now = w[j] + d[j]
        target = now - slope / curvature
        size = max(abs(target) - l1 / curvature, 0.0)
        new = size if target > 0.0 else -size
        delta = min(max(new, w[j] - cap[j]), w[j] + cap[j]) - now
        if delta == 0.0:
            continue
        worst = max(worst, abs(delta) * curvature)
        d[j] += delta
        for m in range(len(signs)):
            seen[m] += u[j, m] * delta
        if binary:
            for e in range(indptr[j], indptr[j + 1]):
                aq[rows[e], 1] += aq[rows[e], 0] * delta
        else:
            for e in range(indptr[j], indptr[j + 1]):
                aq[rows[e], 1] += values[e] * aq[rows[e], 0] * delta
    return worst
