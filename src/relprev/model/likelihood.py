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

Everything here is a sum over rows, which may be kept in parts (`relprev.rows.rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts, group_sums
from relprev.cohort import Cohort, CohortPart
from relprev.matrix.base import Columns, Matrix, root_mean_square
from relprev.matrix.csr import stacked
from relprev.model import kernels
from relprev.parallel.threads import BLOCK_ROWS, blocks, map_chunks
from relprev.rows import Rows, one_part, total


@dataclass(frozen=True, eq=False)
class ProblemPart:
    """Some rows of the fixed inputs of a fit, in memory.

    Parameters
    ----------
    X : Matrix of shape (n, p)
    s : uint8 array of shape (n,)
        1 where the condition is recorded.
    g : unsigned integer array of shape (n,)
        Group numbers 0 to ``n_groups - 1``.
    omega : float array of shape (n,)
        Weights that sum to one over all parts.
    n_groups : int
    first_row : int
        Number of the first row among the rows of all parts.
    """

    X: Matrix
    s: NDArray[np.uint8]
    g: NDArray[np.uint8] | NDArray[np.uint16]
    omega: FloatArray
    n_groups: int
    first_row: int = 0

    @cached_property
    def columns(self) -> Columns:
        """X by columns, for coordinate descent."""
        return self.X.columns()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""
        return {**self.X.to_arrays(), "s": self.s, "g": self.g, "omega": self.omega}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> ProblemPart:
        """The same rows in other memory."""
        s, g, omega = (arrays[name] for name in ("s", "g", "omega"))
        return replace(self, X=self.X.with_arrays(arrays), s=s, g=g, omega=omega)

    @staticmethod
    def joined(parts: Sequence[ProblemPart]) -> ProblemPart:
        """One part with the rows of several."""
        s, g, omega = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("s", "g", "omega")
        )
        return ProblemPart(stacked([part.X for part in parts]), s, g, omega, parts[0].n_groups)


@dataclass(frozen=True, eq=False)
class Problem(Rows[ProblemPart]):
    """Fixed inputs of a fit.

    Parameters
    ----------
    backend, sizes
        As in `relprev.rows.rows.Rows`.
    n_cols, n_groups : int
    """

    n_cols: int
    n_groups: int

    @staticmethod
    def of(
        X: Matrix, s: NDArray[np.uint8], g: NDArray[Any], omega: FloatArray, n_groups: int
    ) -> Problem:
        """A problem in memory; see `ProblemPart`."""
        return Problem.made_of(
            one_part(ProblemPart(X, s, g, omega, n_groups), X.n_rows), X.n_cols, n_groups
        )

    @staticmethod
    def made_of(rows: Rows[ProblemPart], n_cols: int, n_groups: int) -> Problem:
        """A problem with these rows."""
        return Problem(rows.backend, rows.sizes, n_cols, n_groups)

    @staticmethod
    def from_cohort(cohort: Cohort) -> Problem:
        """The cohort's data with weights scaled to sum to one."""
        weight = float(sum(cohort.map(_total_weight)))
        rows = cohort.derive(_scaled, weight, each=cohort.first_rows)
        return Problem.made_of(rows, cohort.n_cols, cohort.n_groups)

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        found: tuple[FloatArray, FloatArray] = self.total(_group_sums)
        return found

    @property
    def group_weight(self) -> FloatArray:
        """Total weight of each group, shape (n_groups,)."""
        return self._sums[0]

    @property
    def diagnosed_weight(self) -> FloatArray:
        """Total weight of the diagnosed rows of each group, shape (n_groups,)."""
        return self._sums[1]

    @property
    def diagnosed_rate(self) -> FloatArray:
        """Weighted share of diagnosed rows in each group, shape (n_groups,)."""
        return self.diagnosed_weight / np.where(self.group_weight > 0, self.group_weight, 1.0)

    @cached_property
    def feature_size(self) -> FloatArray:
        """Root mean square of the non-zero values of each feature, shape (p,)."""
        return root_mean_square(*self.total(_size_sums))

    def weight(self, rows: NDArray[np.int64]) -> float:
        """Total weight of some of the rows (ascending)."""
        return float(sum(self.map(_weight, each=self.cut_positions(rows)[0])))

    def counts(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows per group, and diagnosed rows in all, among some of the rows (ascending)."""
        found: NDArray[np.int64] = np.sum(
            self.map(_counts, each=self.cut_positions(rows)[0]), axis=0
        )
        return found

    def take(self, rows: NDArray[np.int64]) -> Problem:
        """The same problem on some of the rows (ascending), weights scaled to sum to one again."""
        return self.holding(self.pick(_taken, rows, self.weight(rows)))


def _total_weight(part: CohortPart) -> float:
    return float(part.row_weights.sum())


def _scaled(part: CohortPart, first_row: int, weight: float) -> ProblemPart:
    omega = part.row_weights / weight
    return ProblemPart(part.X, part.diagnosed, part.groups, omega, part.n_groups, first_row)


def _group_sums(part: ProblemPart) -> tuple[FloatArray, FloatArray]:
    """Weight of each group, and of its diagnosed."""
    hit, k = part.s == 1, part.n_groups
    return group_sums(part.g, part.omega, k), group_sums(part.g[hit], part.omega[hit], k)


def _size_sums(part: ProblemPart) -> tuple[FloatArray, NDArray[Any]]:
    return part.X.size_sums()


def _weight(part: ProblemPart, rows: NDArray[np.int64]) -> float:
    return float(part.omega[rows].sum())


def _counts(part: ProblemPart, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(group_counts(part.g[rows], part.n_groups), int(part.s[rows].sum()))


def _taken(part: ProblemPart, where: tuple[NDArray[np.int64], int], weight: float) -> ProblemPart:
    rows, first_row = where
    return ProblemPart(
        part.X.take(rows), part.s[rows], part.g[rows], part.omega[rows] / weight, part.n_groups,
        first_row,
    )  # fmt: skip


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


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Loss and derivatives at one point.

    ``condition`` is the weighted sum of sigma(z) in each group (divided by the groups' weights,
    its ratios are the relative prevalences), ``curvature`` the sum of the Fisher weights of z.
    ``z`` is the linear predictor of each row, kept with the rows, if requested.
    """

    loss: float
    grad_w: FloatArray
    grad_b: float
    grad_theta: FloatArray
    condition: FloatArray
    curvature: float
    z: Rows[FloatArray] | None = None


def evaluate(problem: Problem, at: Parameters, *, keep_z: bool = False) -> Evaluation:
    """One pass over the data: loss, gradient and the groups' sums of sigma(z)."""
    k, z = problem.n_groups, None
    if keep_z:
        results, z = problem.keep(_pass_with_z, at)
        grad_w, sums = total(results)
    else:
        grad_w, sums = problem.total(_pass, at)
    has_cases = problem.diagnosed_weight > 0
    theta_term = problem.diagnosed_weight[has_cases] @ at.theta[has_cases]
    return Evaluation(
        loss=float(sums[0] - theta_term),
        grad_w=grad_w,
        grad_b=float(sums[1]),
        grad_theta=sums[3 : 3 + k] - problem.diagnosed_weight,
        condition=sums[3 + k :],
        curvature=float(sums[2]),
        z=z,
    )


Sums = tuple[FloatArray, FloatArray]


def _pass_with_z(part: ProblemPart, at: Parameters) -> tuple[Sums, FloatArray]:
    z = np.empty(part.X.n_rows)
    return _pass(part, at, z), z


def _pass(part: ProblemPart, at: Parameters, z: FloatArray | None = None) -> Sums:
    """Gradient in w, and sums of loss, d/db, curvature, d/dtheta and condition; z is filled."""
    X, k, c = part.X, part.n_groups, at.c

    def one_chunk(start: int, stop: int) -> Sums:
        grad_w = np.zeros(X.n_cols)
        sums = np.zeros(3 + 2 * k)
        work, own_z = np.empty((4, BLOCK_ROWS)), np.empty(BLOCK_ROWS)
        for lo, hi in blocks(start, stop):
            rows = slice(lo, hi)
            z_rows = own_z[: hi - lo] if z is None else z[rows]
            X.dot(at.w, lo, hi, z_rows)
            kernels.loss_block(
                z_rows, part.s[rows], part.g[rows], part.omega[rows], at.b, c, work, sums
            )
            X.add_tdot(work[0], lo, hi, grad_w)
        return grad_w, sums

    found: Sums = total(map_chunks(one_chunk, X.n_rows))
    return found


def linear_predictor(part: ProblemPart, at: Parameters) -> FloatArray:
    """z = w.x + b of each row of a part, shape (n,)."""
    return np.clip(part.X.matvec(at.w) + at.b, -kernels.LARGEST_Z, kernels.LARGEST_Z)


def linear_predictors(problem: Problem, at: Parameters) -> Rows[FloatArray]:
    """z of each row, kept with the rows."""
    return problem.keep(_only_z, at)[1]


def _only_z(part: ProblemPart, at: Parameters) -> tuple[None, FloatArray]:
    return None, linear_predictor(part, at)
