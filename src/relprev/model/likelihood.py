"""The likelihood of PURPLE, its gradient and its Fisher curvature.

Model, for a row with features x, group g and recorded diagnosis s:

    p(s=1 | x, g) = c_g sigma(z),    z = w.x + b,    theta_g = log c_g <= 0

The loss is the mean of the negative log-likelihood under weights omega that sum
to one. With t = 1 - c sigma(z) = (1 - c) + c sigma(-z), one row contributes

    s = 1:  -log sigma(z) - theta    d/dz = -sigma(-z)                   d/dtheta = -1
    s = 0:  -log t                   d/dz = c sigma(z) sigma(-z) / t     d/dtheta = c sigma(z) / t

Fisher information of one row: with p = c sigma(z), the derivative of p in
(z, theta) is p u, u = (sigma(-z), 1), so the information is of rank one,

    kappa u u',    kappa = p / (1 - p).

It is never negative; the observed curvature can be, for s = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import Cohort
from relprev.design.base import Columns, Design, FloatArray
from relprev.groups import group_sums
from relprev.model.kernels import loss_block
from relprev.parallel import BLOCK_ROWS, blocks, map_chunks


@dataclass(frozen=True)
class Problem:
    """Fixed inputs of a fit.

    Parameters
    ----------
    X : Design of shape (n, p)
    s : uint8 array of shape (n,)
        1 where the condition is recorded.
    g : unsigned integer array of shape (n,)
        Group numbers 0 to ``n_groups - 1``.
    omega : float array of shape (n,)
        Weights that sum to one.
    n_groups : int
    """

    X: Design
    s: NDArray[np.uint8]
    g: NDArray[np.uint8] | NDArray[np.uint16]
    omega: FloatArray
    n_groups: int

    @classmethod
    def from_cohort(cls, cohort: Cohort) -> Problem:
        """The cohort's data with weights scaled to sum to one."""
        if cohort.weights is None:
            omega = np.full(cohort.n, 1.0 / cohort.n)
        else:
            omega = cohort.weights / cohort.weights.sum()
        return cls(cohort.X, cohort.diagnosed, cohort.groups, omega, cohort.n_groups)

    @cached_property
    def group_weight(self) -> FloatArray:
        """Total weight of every group, shape (n_groups,)."""
        return group_sums(self.g, self.omega, self.n_groups)

    @cached_property
    def diagnosed_weight(self) -> FloatArray:
        """Total weight of every group's diagnosed rows, shape (n_groups,)."""
        hit = self.s == 1
        return group_sums(self.g[hit], self.omega[hit], self.n_groups)

    @property
    def diagnosed_rate(self) -> FloatArray:
        """Weighted share of diagnosed rows in every group, shape (n_groups,)."""
        return self.diagnosed_weight / np.where(self.group_weight > 0, self.group_weight, 1.0)

    @cached_property
    def feature_size(self) -> FloatArray:
        """Root mean square of every feature's non-zero values, shape (p,)."""
        return self.X.typical_size()

    @cached_property
    def columns(self) -> Columns:
        """X by columns, for coordinate descent."""
        return self.X.columns()

    def take(self, rows: NDArray[np.int64]) -> Problem:
        """The same problem on some of the rows, weights scaled to sum to one again."""
        omega = self.omega[rows]
        return Problem(
            self.X.take(rows), self.s[rows], self.g[rows], omega / omega.sum(), self.n_groups
        )


@dataclass(frozen=True)
class Parameters:
    """Coefficients w of shape (p,), intercept b, log diagnosis rates theta of shape (n_groups,)."""

    w: FloatArray
    b: float
    theta: FloatArray

    @property
    def c(self) -> FloatArray:
        """Diagnosis rates c_g = exp(theta_g)."""
        return np.exp(self.theta)


@dataclass(frozen=True)
class Evaluation:
    """Loss and derivatives at one point.

    ``condition`` is the weighted sum of sigma(z) in every group (divided by the
    groups' weights its ratios are the relative prevalences), ``curvature`` the sum
    of the Fisher weights of z, and ``z`` the linear predictor of shape (n,).
    """

    loss: float
    grad_w: FloatArray
    grad_b: float
    grad_theta: FloatArray
    condition: FloatArray
    curvature: float
    z: FloatArray


def evaluate(problem: Problem, at: Parameters, z: FloatArray | None = None) -> Evaluation:
    """One pass over the data: loss, gradient and the groups' sums of sigma(z).

    Parameters
    ----------
    problem : Problem
    at : Parameters
    z : float array of shape (n,), optional
        Memory to write the linear predictor into.
    """
    X, k, c = problem.X, problem.n_groups, at.c
    predictor = np.empty(X.n_rows) if z is None else z

    def one_chunk(start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        grad_w = np.zeros(X.n_cols)
        sums = np.zeros(3 + 2 * k)  # loss, d/db, curvature, d/dtheta, condition
        work = np.empty((4, BLOCK_ROWS))
        for lo, hi in blocks(start, stop):
            rows = slice(lo, hi)
            X.dot(at.w, lo, hi, predictor[rows])
            loss_block(
                predictor[rows], problem.s[rows], problem.g[rows], problem.omega[rows],
                at.b, c, work, sums,
            )  # fmt: skip
            X.add_tdot(work[0], lo, hi, grad_w)
        return grad_w, sums

    parts = map_chunks(one_chunk, X.n_rows)
    sums = np.sum([part[1] for part in parts], axis=0)
    has_cases = problem.diagnosed_weight > 0
    theta_term = problem.diagnosed_weight[has_cases] @ at.theta[has_cases]
    return Evaluation(
        loss=float(sums[0] - theta_term),
        grad_w=np.sum([part[0] for part in parts], axis=0),
        grad_b=float(sums[1]),
        grad_theta=sums[3 : 3 + k] - problem.diagnosed_weight,
        condition=sums[3 + k :],
        curvature=float(sums[2]),
        z=predictor,
    )
