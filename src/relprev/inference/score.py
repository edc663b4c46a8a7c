"""The orthogonal score for diagnosis-rate ratios.

Bayes' rule among the diagnosed gives p(g | s=1, x) proportional to pi_g(x) c_g. With
theta_g = log(c_g / c_r) for a reference group r, m(x) = p(s=1 | x, g=r) and

    pi*_g(x) = pi_g(x) e^{theta_g} / sum_h pi_h(x) e^{theta_h},

every group g other than r has the score

    U_g = [1(g_i = g) - pi*_g(x_i)] [s_i - m(x_i) e^{theta_{g_i}}].

Given x its mean at the true theta, with estimates m^ and pi^, is the product
(m - m^) T (pi* - pi^*)_g, T = sum_h pi_h e^{theta_h}: zero if either estimate is right
and of second order if both are close. With m = 0 only diagnosed rows count, and the
score is that of a multinomial logit of group on intercepts with offset log pi_g(x).
Derivative, with e = m e^{theta_{g_i}} and the residual R = s - e:

    dU_g / dtheta_h = - R pi*_g [1(g=h) - pi*_h] - e [1(g_i = g) - pi*_g] 1(g_i = h).

The U_g sum to zero over all K groups, so that of r is left out. J = - mean dU/dtheta
and the influence function of theta is J^{-1} U.

At the root, two natural estimates of the cases in group g agree: the group's diagnosed
divided by its rate, mean 1(g) s e^{-theta_g}, and the estimate that borrows the cases of
all groups, mean [1(g) m + pi_g / T (s - m e^theta)]. Their difference is e^{-theta_g}
mean U_g, so nothing is lost by using the simple one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.errors import TooFewCasesError
from relprev.inference import kernels
from relprev.messages import Message
from relprev.parallel.threads import map_chunks
from relprev.rows import Rows, one_part, total

MAX_STEPS = 100
FLAT = 1e-10  # slope of the score, per diagnosed row, below which it counts as flat


@dataclass(frozen=True, eq=False)
class ScorePart:
    """Some rows of the score with their nuisances, in memory.

    Parameters
    ----------
    g : unsigned integer array of shape (n,)
    s : float array of shape (n,)
        Recorded diagnosis (less the expected false positives, in sensitivity analyses).
    omega : float array of shape (n,), summing to one over all parts
    propensity : float array of shape (n, K)
        pi_g(x).
    risk : float array of shape (n,)
        m(x); zeros for the case-only score.
    reference : int
        Group r.
    missed : float array of shape (n,), optional
        What the risk leaves out (`relprev.inference.missed`); used for variances only.
    risk_error : float array of shape (n, K), optional
        What the risk's sampling error adds to U (`relprev.inference.risk_error`).
    """

    g: NDArray[np.uint8] | NDArray[np.uint16]
    s: FloatArray
    omega: FloatArray
    propensity: FloatArray
    risk: FloatArray
    reference: int = 0
    missed: FloatArray | None = None
    risk_error: FloatArray | None = None

    @property
    def n_groups(self) -> int:
        return int(self.propensity.shape[1])

    @property
    def free(self) -> NDArray[np.int64]:
        """The groups other than the reference."""
        return np.delete(np.arange(self.n_groups), self.reference)

    def without_risk(self) -> ScorePart:
        """The same rows for the case-only score: all of the risk is missed."""
        missed = None if self.missed is None else self.missed + self.risk
        return replace(self, risk=np.zeros_like(self.risk), missed=missed, risk_error=None)

    def with_all_risk(self) -> ScorePart:
        """The same rows with what the risk leaves out added back, for variances."""
        return self if self.missed is None else replace(self, risk=self.risk + self.missed)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""
        names = ("g", "s", "omega", "propensity", "risk", "missed", "risk_error")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def take(self, rows: NDArray[np.integer[Any]]) -> ScorePart:
        """Some of the rows."""
        return self.with_arrays({name: values[rows] for name, values in self.arrays().items()})

    def of_groups(
        self, rows: NDArray[np.integer[Any]], kept: NDArray[np.int64], reference: int
    ) -> ScorePart:
        """Some of the rows, all of these groups, as if there were no others."""
        taken = self.take(rows)
        propensity = taken.propensity[:, kept]
        propensity /= propensity.sum(axis=1, keepdims=True)
        g: Any = np.searchsorted(kept, taken.g).astype(taken.g.dtype)
        return replace(taken, g=g, reference=reference, propensity=propensity)

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> ScorePart:
        """The same rows in other memory."""
        return replace(self, **arrays)  # type: ignore[arg-type]

    @staticmethod
    def joined(parts: Sequence[ScorePart]) -> ScorePart:
        """One part with the rows of several."""
        return parts[0].with_arrays(
            {
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in parts[0].arrays()
            }
        )


@dataclass(frozen=True, eq=False)
class ScoreData(Rows[ScorePart]):
    """Rows and nuisances of the score.

    Parameters
    ----------
    backend, sizes
        As in `relprev.rows.rows.Rows`.
    n_groups : int
    reference : int
        Group r.
    """

    n_groups: int
    reference: int

    @staticmethod
    def of(
        g: NDArray[Any], s: FloatArray, omega: FloatArray, propensity: FloatArray,
        risk: FloatArray, reference: int = 0, missed: FloatArray | None = None,
    ) -> ScoreData:  # fmt: skip
        """Rows in memory; see `ScorePart`."""
        part = ScorePart(g, s, omega, propensity, risk, reference, missed)
        return ScoreData.made_of(one_part(part, len(g)), part.n_groups, reference)

    @staticmethod
    def made_of(rows: Rows[ScorePart], n_groups: int, reference: int) -> ScoreData:
        """Rows as the score's."""
        return ScoreData(rows.backend, rows.sizes, n_groups, reference)

    @property
    def free(self) -> NDArray[np.int64]:
        """The groups other than the reference."""
        return np.delete(np.arange(self.n_groups), self.reference)

    def without_risk(self) -> ScoreData:
        """The same rows for the case-only score."""
        return self.holding(self.derive(ScorePart.without_risk))


def mean_score(data: ScoreData, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean of U, shape (K,), and its derivative in theta, shape (K, K)."""
    found: tuple[FloatArray, FloatArray] = data.total(score_sums, theta)
    return found


def score_sums(data: ScorePart, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted sums of U and of its derivative over a part's rows, as in `mean_score`."""
    rate = np.exp(theta)

    def add(rows: slice, value: FloatArray, slope: FloatArray) -> None:
        kernels.score_sums(
            data.g[rows], data.s[rows], data.omega[rows], data.propensity[rows],
            data.risk[rows], rate, value, slope,
        )  # fmt: skip

    return _summed(add, data, rate.shape)


def cleaned_score_sums(
    data: ScorePart, theta: FloatArray, eps: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The same under q assumptions about false positives, in one pass over the rows.

    Parameters
    ----------
    data : ScorePart
    theta : array of shape (q, K)
        Where each assumption's score is evaluated.
    eps : array of shape (q, K)
        False positives per row of each group: U is that of s - eps_g and max(m - eps_r, 0).

    Returns
    -------
    arrays of shape (q, K) and (q, K, K)
    """
    rate = np.exp(theta)

    def add(rows: slice, value: FloatArray, slope: FloatArray) -> None:
        kernels.cleaned_score_sums(
            data.g[rows], data.s[rows], data.omega[rows], data.propensity[rows],
            data.risk[rows], data.reference, eps, rate, value, slope,
        )  # fmt: skip

    return _summed(add, data, rate.shape)


def _summed(
    add: Callable[[slice, FloatArray, FloatArray], None], data: ScorePart, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Sums of the score, of this shape, and of its derivative, to which chunks are added."""

    def one_chunk(start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        value, slope = np.zeros(shape), np.zeros((*shape, data.n_groups))
        add(slice(start, stop), value, slope)
        return value, slope

    found: tuple[FloatArray, FloatArray] = total(map_chunks(one_chunk, len(data.g)))
    return found


def row_scores(data: ScorePart, theta: FloatArray) -> FloatArray:
    """U of every row, shape (n, K), not weighted."""
    rate = np.exp(theta)
    out = np.empty((len(data.g), data.n_groups))

    def one_chunk(start: int, stop: int) -> None:
        rows = slice(start, stop)
        kernels.score_rows(
            data.g[rows], data.s[rows], data.propensity[rows], data.risk[rows], rate, out[rows]
        )

    map_chunks(one_chunk, len(data.g))
    return out


def influence_scores(data: ScorePart, theta: FloatArray) -> FloatArray:
    """U of every row for variances, shape (n, K): with all that the nuisances' errors add."""
    U = row_scores(data.with_all_risk(), theta)
    if data.risk_error is not None:
        U += data.risk_error
    return U


def tilted_propensity(propensity: FloatArray, theta: FloatArray) -> FloatArray:
    """pi*_g(x), shape (n, K): the group mix of the diagnosed at x."""
    tilted = propensity * np.exp(theta)
    return tilted / tilted.sum(axis=1, keepdims=True)


def solve_score(
    data: ScoreData, *, start: FloatArray | None = None, tolerance: float = 1e-10
) -> FloatArray:
    """The root theta, shape (K,), zero at the reference.

    The case-only score is the gradient of a concave function, so Newton's method with step
    halving finds its only root. The search for the root of the full score starts there: that
    score behaves well only near the truth, so steps must reduce its norm instead. Where a
    root of nearly the same score is known, ``start`` saves the first of the two.

    Examples
    --------
    Two groups that x does not tell apart: theta is the log of the ratio of diagnosed
    counts over the ratio of group sizes.

    >>> import numpy as np
    >>> g, s = np.array([0, 0, 0, 0, 1, 1], np.uint8), np.array([1.0, 0, 0, 0, 1, 0])
    >>> data = ScoreData.of(g, s, np.full(6, 1 / 6), np.tile([2 / 3, 1 / 3], (6, 1)), np.zeros(6))
    >>> float(np.exp(solve_score(data))[1].round(6))
    2.0
    """
    if start is None:
        start = _newton(data.without_risk(), np.zeros(data.n_groups), tolerance)
        if not any(data.map(_has_risk)):
            return start
    return _newton(data, start, tolerance)


def _has_risk(data: ScorePart) -> bool:
    return bool(data.risk.any())


def _recorded(data: ScorePart) -> float:
    return float(data.omega @ data.s)


def _unsolvable() -> TooFewCasesError:
    return TooFewCasesError(
        Message(
            "the diagnosis-rate ratios have no solution: x tells the groups (nearly) completely "
            "apart, or a group's diagnosed rows lie where other groups have none; merge "
            "groups, drop the features that name a group, or use fewer features"
        )
    )


def _newton(data: ScoreData, theta: FloatArray, tolerance: float) -> FloatArray:
    free = data.free
    scale = abs(sum(data.map(_recorded))) or 1.0
    value, slope = mean_score(data, theta)
    for _ in range(MAX_STEPS):
        size = float(np.abs(value[free]).max())
        J = -slope[np.ix_(free, free)]
        if np.linalg.svd(J, compute_uv=False).min() <= FLAT * scale:
            raise _unsolvable()
        if size <= tolerance * scale:
            return theta
        step = np.zeros_like(theta)
        step[free] = np.linalg.solve(J, value[free])
        step *= min(1.0, 2.0 / float(np.abs(step).max()))
        for _ in range(30):
            tried, tried_slope = mean_score(data, theta + step)
            if float(np.abs(tried[free]).max()) < size:
                break
            step /= 2
        else:
            if size <= 1e-6 * scale:
                return theta  # as close as floating point allows
            break
        theta, value, slope = theta + step, tried, tried_slope
    raise _unsolvable()
