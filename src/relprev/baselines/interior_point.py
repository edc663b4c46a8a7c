"""A primal-dual interior-point method that stops early, as the solver of KM2's authors does.

The authors of KM2 find the distribution v nearest to u by the quadratic programme

    minimise v'Kv - 2 u'Kv    subject to    v >= 0,  sum v = 1

with the path-following method of Andersen, Dahl and Vandenberghe ("Interior-point methods for
large-scale cone programming", 2011), which has Mehrotra's correction and stops as soon as residuals
and duality gap are below 1e-7 (or the gap below 1e-6 of the objective). The squared distance is a
difference of numbers near one, so a distance that should be 0 comes out near 3e-4, and estimates
that rest on its slope change with the tolerance. This module follows their description of the
method with their tolerances; the optimum itself is found in `relprev.baselines.km2`.

With slacks s = v and multipliers z of v >= 0, y of sum v = 1, every step solves

    [2K + diag(z / s)   1] [dv]   [-r_v + r_s / s]
    [1'                 0] [dy] = [-r_y          ]

once with r_s = -s z (the affine step, whose length sets the centring sigma) and once with
r_s = -s z - ds dz + sigma mu.

Equal rows (a component that is part of the mixture has many) have equal iterates, so matrices hold
each distinct row once. If row i stands for t_i equal ones, the sum t_i dv_i over them solves the
same system with z / (t s) on the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from relprev.arrays import FloatArray

FEASIBLE, GAP, RELATIVE_GAP = 1e-7, 1e-7, 1e-6
STEP = 0.99  # share of the way to the boundary
MAX_STEPS = 100


@dataclass(frozen=True)
class Point:
    """An iterate: v and its slacks s, multipliers y and z, and the objective."""

    v: FloatArray
    s: FloatArray
    y: float
    z: FloatArray
    objective: float


class NearestDistribution:
    """Where the method stops, for one kernel and any number of u.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix; 1 where two rows are equal.
    """

    def __init__(self, K: FloatArray) -> None:
        self._matrix = _Matrix(2.0 * K)
        self._first = self._matrix.plus(np.ones(len(K)))  # the same for every u

    def __call__(self, u: FloatArray, start: Point | None = None) -> Point:
        """The last iterate for u of shape (n,), begun at ``start`` or a least-squares point."""
        q = -self._matrix.times(u)
        v, s, y, z = self._begin(q) if start is None else (start.v, start.s, start.y, start.z)
        scale = max(1.0, float(np.linalg.norm(q)))
        for _ in range(MAX_STEPS):
            Pv = self._matrix.times(v)
            objective = float(0.5 * v @ Pv + q @ v)
            r_v, r_y, r_z = Pv + q + y - z, float(v.sum() - 1.0), s - v
            gap = float(s @ z)
            infeasible = max(
                abs(r_y), float(np.linalg.norm(r_z)), float(np.linalg.norm(r_v)) / scale
            )
            dual = objective + y * r_y + float(z @ r_z) - gap
            if infeasible <= FEASIBLE and _closed(gap, objective, dual):
                break
            system = self._matrix.plus(z / s)
            sigma, cross = 0.0, np.zeros_like(s)
            for last in (False, True):
                r_s = sigma * gap / len(s) - s * z - cross
                dv, dy = system.solve(-r_v + (r_s + z * r_z) / s, -r_y)
                ds = dv - r_z
                dz = (r_s - z * ds) / s
                most = max(0.0, float((-ds / s).max()), float((-dz / z).max()))
                step = 1.0 if most == 0 else min(1.0, (STEP if last else 1.0) / most)
                cross = ds * dz
                if not last:
                    left = 1.0 - step + float(cross.sum()) / gap * step**2
                    sigma = min(1.0, max(0.0, left)) ** 3
            v, y, s, z = v + step * dv, y + step * dy, s + step * ds, z + step * dz
        return Point(v, s, y, z, objective)

    def _begin(self, q: FloatArray) -> tuple[FloatArray, FloatArray, float, FloatArray]:
        """Least squares without the sign constraints, then moved inside them."""
        v, y = self._first.solve(-q, 1.0)
        return v, _inside(v), y, _inside(-v)


class _Matrix:
    """A symmetric matrix P with equal rows, of which each is kept once.

    Vectors have an element for every row, equal for equal rows (u alone may differ).
    """

    def __init__(self, P: FloatArray) -> None:
        same = P.diagonal() == P  # a kernel is largest between equal rows
        self.rows, self.place, self.count = np.unique(
            same.argmax(axis=1), return_inverse=True, return_counts=True
        )
        self.P = np.asfortranarray(P[np.ix_(self.rows, self.rows)])
        self.diagonal = np.diag_indices(len(self.rows))

    def times(self, v: FloatArray) -> FloatArray:
        """P v."""
        product: FloatArray = self.P @ np.bincount(self.place, v)
        return product[self.place]

    def plus(self, diagonal: FloatArray) -> _System:
        """The system whose matrix is P plus a diagonal."""
        H = self.P.copy(order="F")
        H[self.diagonal] += diagonal[self.rows] / self.count
        return _System(self, cho_factor(H, lower=True, overwrite_a=True, check_finite=False))


class _System:
    """[H 1; 1' 0] (x, y) = (top, bottom), with H factored."""

    def __init__(self, matrix: _Matrix, factor: tuple[FloatArray, bool]) -> None:
        self.matrix, self.factor = matrix, factor
        self.ones = self._solved(np.ones(len(matrix.place)))

    def solve(self, top: FloatArray, bottom: float) -> tuple[FloatArray, float]:
        """x and y."""
        x = self._solved(top)
        y = float((x.sum() - bottom) / self.ones.sum())
        return x - y * self.ones, y

    def _solved(self, top: FloatArray) -> FloatArray:
        sums = cho_solve(self.factor, top[self.matrix.rows], check_finite=False)
        each: FloatArray = sums / self.matrix.count
        return each[self.matrix.place]


def _closed(gap: float, primal: float, dual: float) -> bool:
    if gap <= GAP:
        return True
    size = -primal if primal < 0 else dual
    return size > 0 and gap / size <= RELATIVE_GAP


def _inside(values: FloatArray) -> FloatArray:
    most = float((-values).max())
    near = most >= -1e-8 * max(float(np.linalg.norm(values)), 1.0)
    return values + (1.0 + most) if near else values.copy()
