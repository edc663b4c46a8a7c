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

Everything here is a sum over rows. A `Problem` holds rows in memory; a
`PartitionedProblem` holds such problems in parts, on disk or on other machines
(`relprev.partitions`), and adds up what they return. Whoever uses ``problem.map`` need
not know which of the two it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts, group_sums
from relprev.cohort import AnyCohort, Cohort
from relprev.cohort.summary import row_weights, total_weight
from relprev.matrix.base import Columns, Matrix, root_mean_square
from relprev.matrix.csr import stacked
from relprev.model import kernels
from relprev.parallel.threads import BLOCK_ROWS, blocks, map_chunks
from relprev.partitions import Partitions, slices, total


@dataclass(frozen=True)
class Problem:
    """Fixed inputs of a fit, in memory.

    Parameters
    ----------
    X : Matrix of shape (n, p)
    s : uint8 array of shape (n,)
        1 where the condition is recorded.
    g : unsigned integer array of shape (n,)
        Group numbers 0 to ``n_groups - 1``.
    omega : float array of shape (n,)
        Weights that sum to one (over all parts, where this is a part).
    n_groups : int
    first_row : int
        Number of the first row, where this is a part of a larger problem.
    """

    X: Matrix
    s: NDArray[np.uint8]
    g: NDArray[np.uint8] | NDArray[np.uint16]
    omega: FloatArray
    n_groups: int
    first_row: int = 0
    scratch: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_cohort(cls, cohort: Cohort) -> Problem:
        """The cohort's data with weights scaled to sum to one."""
        return _part_of_cohort(cohort, 0, total_weight(cohort))

    @property
    def n_rows(self) -> int:
        return self.X.n_rows

    @property
    def n_cols(self) -> int:
        return self.X.n_cols

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
        return _rate(self.diagnosed_weight, self.group_weight)

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
        return _taken(self, (rows, 0), self.weight(rows))

    def weight(self, rows: NDArray[np.int64]) -> float:
        """Total weight of some of the rows."""
        return _weight(self, rows)

    def counts(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of every group, and diagnosed rows of all, among some of the rows."""
        return _counts(self, rows)

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """``[function(self, *shared)]``: there is one part only."""
        return [self.derive(function, *shared, each=each)]

    def derive(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> Any:
        """``function(self, *shared)``, with the only entry of ``each`` first if it is given."""
        return function(self, *(each or ()), *shared)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of every part: there is one."""
        return (self.n_rows,)

    def collected(self) -> Problem:
        """The problem in memory: itself."""
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""
        return {**self.X.to_arrays(), "s": self.s, "g": self.g, "omega": self.omega}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Problem:
        """The same problem on other memory."""
        s, g, omega = (arrays[name] for name in ("s", "g", "omega"))
        return replace(self, X=self.X.with_arrays(arrays), s=s, g=g, omega=omega)


@dataclass(frozen=True)
class PartitionedProblem:
    """A problem whose rows are kept in parts.

    Parameters
    ----------
    parts : Partitions
        Of `Problem`.
    sizes : tuple of int
        Rows of every part.
    n_cols, n_groups : int
    """

    parts: Partitions
    sizes: tuple[int, ...]
    n_cols: int
    n_groups: int

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)

    @cached_property
    def _sums(self) -> tuple[NDArray[Any], ...]:
        return total(self.map(_problem_sums))

    @property
    def group_weight(self) -> FloatArray:
        """Total weight of every group, shape (n_groups,)."""
        return self._sums[0]

    @property
    def diagnosed_weight(self) -> FloatArray:
        """Total weight of every group's diagnosed rows, shape (n_groups,)."""
        return self._sums[1]

    @property
    def diagnosed_rate(self) -> FloatArray:
        """Weighted share of diagnosed rows in every group, shape (n_groups,)."""
        return _rate(self.diagnosed_weight, self.group_weight)

    @cached_property
    def feature_size(self) -> FloatArray:
        """Root mean square of every feature's non-zero values, shape (p,)."""
        return root_mean_square(self._sums[2], self._sums[3])

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """``function(problem, *shared)`` of every part, in order."""
        return self.parts.map(function, *shared, each=each)

    def derive(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> Partitions:
        """What ``function(problem, *shared)`` makes of every part, kept where the parts are."""
        return self.parts.derive(function, *shared, each=each)

    def weight(self, rows: NDArray[np.int64]) -> float:
        """Total weight of some of the rows (ascending)."""
        return float(sum(self.map(_weight, each=slices(rows, self.sizes))))

    def counts(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of every group, and diagnosed rows of all, among some of the rows (ascending)."""
        return np.sum(self.map(_counts, each=slices(rows, self.sizes)), axis=0)

    def take(self, rows: NDArray[np.int64]) -> PartitionedProblem:
        """The same problem on some of the rows (ascending), weights scaled to sum to one again."""
        parts, sizes = self.parts.take(_taken, rows, self.sizes, self.weight(rows))
        return replace(self, parts=parts, sizes=sizes)

    def collected(self) -> Problem:
        """All rows in memory."""
        parts = self.map(_itself)
        return Problem(
            stacked([part.X for part in parts]),
            np.concatenate([part.s for part in parts]),
            np.concatenate([part.g for part in parts]),
            np.concatenate([part.omega for part in parts]),
            self.n_groups,
        )


AnyProblem = Problem | PartitionedProblem


def problem_of(cohort: AnyCohort) -> AnyProblem:
    """The cohort's data, in memory or in parts, with weights scaled to sum to one."""
    if isinstance(cohort, Cohort):
        return Problem.from_cohort(cohort)
    weight = float(sum(cohort.map(total_weight)))
    first_rows = np.cumsum([0, *cohort.sizes[:-1]]).tolist()
    parts = cohort.parts.derive(_part_of_cohort, weight, each=first_rows)
    return PartitionedProblem(parts, cohort.sizes, cohort.n_cols, cohort.n_groups)


def _part_of_cohort(cohort: Cohort, first_row: int, weight: float) -> Problem:
    omega = row_weights(cohort) / weight
    return Problem(cohort.X, cohort.diagnosed, cohort.groups, omega, cohort.n_groups, first_row)


def _rate(diagnosed: FloatArray, weight: FloatArray) -> FloatArray:
    return diagnosed / np.where(weight > 0, weight, 1.0)


def _problem_sums(part: Problem) -> tuple[NDArray[Any], ...]:
    return part.group_weight, part.diagnosed_weight, *part.X.nonzero_squares()


def _weight(part: Problem, rows: NDArray[np.int64]) -> float:
    return float(part.omega[rows].sum())


def _counts(part: Problem, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(group_counts(part.g[rows], part.n_groups), int(part.s[rows].sum()))


def _taken(part: Problem, where: tuple[NDArray[np.int64], int], weight: float) -> Problem:
    rows, first_row = where
    return Problem(
        part.X.take(rows), part.s[rows], part.g[rows], part.omega[rows] / weight, part.n_groups,
        first_row,
    )  # fmt: skip


def _itself(part: Problem) -> Problem:
    return Problem(part.X, part.s, part.g, part.omega, part.n_groups)


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

    @cached_property
    def key(self) -> bytes:
        """Tells these parameters from all others."""
        digest = hashlib.blake2b(self.w.tobytes(), digest_size=16)
        digest.update(np.append(self.theta, self.b).tobytes())
        return digest.digest()


@dataclass(frozen=True)
class Evaluation:
    """Loss and derivatives at one point.

    ``condition`` is the weighted sum of sigma(z) in every group (divided by the
    groups' weights its ratios are the relative prevalences), and ``curvature`` the sum
    of the Fisher weights of z.
    """

    loss: float
    grad_w: FloatArray
    grad_b: float
    grad_theta: FloatArray
    condition: FloatArray
    curvature: float


def evaluate(problem: AnyProblem, at: Parameters) -> Evaluation:
    """One pass over the data: loss, gradient and the groups' sums of sigma(z)."""
    k = problem.n_groups
    grad_w, sums = total(problem.map(_pass, at))
    has_cases = problem.diagnosed_weight > 0
    theta_term = problem.diagnosed_weight[has_cases] @ at.theta[has_cases]
    return Evaluation(
        loss=float(sums[0] - theta_term),
        grad_w=grad_w,
        grad_b=float(sums[1]),
        grad_theta=sums[3 : 3 + k] - problem.diagnosed_weight,
        condition=sums[3 + k :],
        curvature=float(sums[2]),
    )


def _pass(part: Problem, at: Parameters) -> tuple[FloatArray, FloatArray]:
    """Gradient in w, and sums of loss, d/db, curvature, d/dtheta and condition."""
    X, k, c = part.X, part.n_groups, at.c
    z = part.scratch.pop("z", (None, None))[1]
    predictor = np.empty(X.n_rows) if z is None else z

    def one_chunk(start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        grad_w = np.zeros(X.n_cols)
        sums = np.zeros(3 + 2 * k)
        work = np.empty((4, BLOCK_ROWS))
        for lo, hi in blocks(start, stop):
            rows = slice(lo, hi)
            X.dot(at.w, lo, hi, predictor[rows])
            kernels.loss_block(
                predictor[rows], part.s[rows], part.g[rows], part.omega[rows], at.b, c, work, sums
            )
            X.add_tdot(work[0], lo, hi, grad_w)
        return grad_w, sums

    grad_w, sums = total(map_chunks(one_chunk, X.n_rows))
    part.scratch["z"] = (at.key, predictor)
    return grad_w, sums


def linear_predictor(part: Problem, at: Parameters) -> FloatArray:
    """z = w.x + b of every row of a problem in memory, shape (n,); not to be written to.

    The last pass's values are at hand if it was at the same parameters.
    """
    key, z = part.scratch.get("z", (None, None))
    if key == at.key:
        return z
    return np.clip(part.X.matvec(at.w) + at.b, -kernels.LARGEST_Z, kernels.LARGEST_Z)
