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


def nearest_distribution(K: FloatArray, u: FloatArray, start: Point | None = None) -> Point:
    """Where the method stops, for a kernel K of shape (n, n) and u of shape (n,).

    Parameters
    ----------
    K : array of shape (n, n)
    u : array of shape (n,)
    start : Point, optional
        Where to begin; default: the least-squares starting point.
    """
    P, q = 2.0 * K, -2.0 * (K @ u)
    v, s, y, z = _first_point(P, q) if start is None else (start.v, start.s, start.y, start.z)
    scale = max(1.0, float(np.linalg.norm(q)))
    for _ in range(MAX_STEPS):
        Pv = P @ v
        objective = float(0.5 * v @ Pv + q @ v)
        r_v, r_y, r_z = Pv + q + y - z, float(v.sum() - 1.0), s - v
        gap = float(s @ z)
        infeasible = max(abs(r_y), float(np.linalg.norm(r_z)), float(np.linalg.norm(r_v)) / scale)
        dual = objective + y * r_y + float(z @ r_z) - gap
        if infeasible <= FEASIBLE and _closed(gap, objective, dual):
            break
        factor = cho_factor(P + np.diag(z / s), lower=True, check_finite=False)
        sigma, cross = 0.0, np.zeros_like(s)
        for last in (False, True):
            r_s = sigma * gap / len(s) - s * z - cross
            dv, dy = _solve(factor, -r_v + (r_s + z * r_z) / s, -r_y)
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


def _closed(gap: float, primal: float, dual: float) -> bool:
    if gap <= GAP:
        return True
    size = -primal if primal < 0 else dual
    return size > 0 and gap / size <= RELATIVE_GAP


def _first_point(P: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray, float, FloatArray]:
    """Least squares without the sign constraints, then moved inside them."""
    v, y = _solve(cho_factor(P + np.eye(len(q)), lower=True, check_finite=False), -q, 1.0)
    return v, _inside(v), y, _inside(-v)


def _inside(values: FloatArray) -> FloatArray:
    most = float((-values).max())
    near = most >= -1e-8 * max(float(np.linalg.norm(values)), 1.0)
    return values + (1.0 + most) if near else values.copy()


def _solve(
    factor: tuple[FloatArray, bool], top: FloatArray, bottom: float
) -> tuple[FloatArray, float]:
    """Solve [H 1; 1' 0] (x, y) = (top, bottom), with H factored."""
    both = cho_solve(factor, np.column_stack([top, np.ones_like(top)]), check_finite=False)
    y = float((both[:, 0].sum() - bottom) / both[:, 1].sum())
    return both[:, 0] - y * both[:, 1], y
