"""Does a linear model miss something, and if so, a richer one beside it.

Both nuisances are fitted linear in x first (`relprev.inference.nuisance`). The features of
`relprev.model.expansion` are then compared with what the linear models leave over, by

    z_j = sum_i v_i r_i f_ij / sqrt(sum_i v_i^2 max(r_i^2, w_i) f_ij^2),    f_j less its mean,

with out-of-fold residuals r = 1(g) - pi_g(x) for the propensities and r = s - m(x) e^theta for the
risk, and w their variance pi (1 - pi) or m e^theta (the larger of the two sums is meant, not of
their terms). Without w, a rare feature that no diagnosed patient has would stand out: its residuals
are all small, and of the same sign. Only where the largest abs(z_j) exceeds what the largest of so
many would exceed one time in five by chance, the model is fitted again, on x and the new features.
This question is asked of each nuisance on its own, and costs one pass over the data.

Propensities of the richer model are used if they tell the groups apart better, out of fold and
beyond chance: the mean of d_i = log pi'_{g_i}(x_i) - log pi_{g_i}(x_i) must exceed two of its
standard errors, under the sampling design. Both are then mixed,

    (1 - a) pi + a pi',    0 <= a <= 1,    the a of the smallest out-of-fold log-loss.

Risks are combined as PURPLE of their own logits, with non-negative coefficients and no penalty,

    p(s=1|x,g) = c_g sigma(a + sum_k b_k logit m_k(x)),    b_k >= 0,

which is how a single one is made steeper. The richer risk is used if the likelihood ratio of this
combination to the linear risk alone, on out-of-fold values, exceeds what one more coefficient
gains by chance (4 on the scale of chi-squared). A handful of numbers estimated from all rows adds
no noticeable variance. Where the linear models are kept, the estimate is exactly theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from relprev.arrays import FloatArray, numbered
from relprev.inference.nuisance import logit
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, ScorePart
from relprev.matrix import Dense, Matrix
from relprev.model.expansion import MOST_ROWS, Expansion, basic_expansion, some_of_each
from relprev.model.likelihood import Parameters, Problem, ProblemPart, evaluate
from relprev.model.quadratic import Penalty
from relprev.model.solver import solve
from relprev.parallel.threads import by_rows

ASKING = 0.2  # chance that a linear model that misses nothing is asked to be fitted again
CLEARLY = 2.0  # standard errors of the gain at which richer propensities are used
LEAST_SHARE = 1e-3  # of a model in a mixture; less is nothing
MIXED_WELL = 1e-4  # accuracy of the share


@dataclass(frozen=True)
class Look:
    """What linear models leave over, in some of the rows.

    Parameters
    ----------
    X : Matrix of shape (n, p)
    groups : array of shape (n, K)
        v [1(g) - pi_g(x)].
    diagnoses : array of shape (n, 1)
        v [s - m(x) e^theta].
    group_weights, diagnosis_weights : arrays of the same shapes
        v pi_g (1 - pi_g) and v m(x) e^theta, the variances of the residuals.
    v : array of shape (n, 1)
        Weights.
    unit : integer array of shape (n,)
        Patient of each row.
    """

    X: Matrix
    groups: FloatArray
    diagnoses: FloatArray
    group_weights: FloatArray
    diagnosis_weights: FloatArray
    v: FloatArray
    unit: NDArray[np.int64]

    @staticmethod
    def at(
        problem: Problem, data: ScoreData, theta: FloatArray,
        patient: NDArray[np.integer[Any]] | None = None, most: int = MOST_ROWS,
    ) -> Look:  # fmt: skip
        """A look at no more than ``most`` rows with, and as many without, a diagnosis."""
        rows, share = some_of_each(data.gathered(_is_diagnosed), most)
        own = data.holding(data.pick(_taken, rows)).together()
        v = (own.omega / share)[:, None]
        groups = (own.g[:, None] == np.arange(own.n_groups)) - own.propensity
        p = (own.risk * np.exp(theta)[own.g])[:, None]
        unit = np.arange(len(rows)) if patient is None else numbered(patient[rows])[1]
        return Look(
            problem.take(rows).together().X, v * groups, v * (own.s[:, None] - p),
            v * own.propensity * (1 - own.propensity), v * p, v, unit.astype(np.int64),
        )  # fmt: skip

    def recipe(self, problem: Problem, *, risk: bool = True) -> Expansion:
        """The expansion, with products that these residuals ask for; see `with_telling_pairs`."""
        return self.with_telling_pairs(basic_expansion(problem), risk=risk)

    def take(self, rows: NDArray[np.int64]) -> Look:
        """A look at some of these rows."""
        return Look(
            self.X.take(rows), self.groups[rows], self.diagnoses[rows], self.group_weights[rows],
            self.diagnosis_weights[rows], self.v[rows], self.unit[rows],
        )  # fmt: skip

    def with_telling_pairs(self, basic: Expansion, *, risk: bool = True) -> Expansion:
        """The same recipe with the products that these residuals ask for, or all if they are few.

        Residuals of other rows are not used: a test on those stays honest. Those of the diagnoses
        count only if ``risk``: propensities must not depend on diagnoses that nothing is fitted to.
        """
        left, noise = self.groups, self.group_weights
        if risk:
            left = np.hstack([left, self.diagnoses])
            noise = np.hstack([noise, self.diagnosis_weights])
        return basic.with_telling_pairs(self.X, left, self.v * noise)

    def asks(self, recipe: Expansion) -> tuple[bool, bool]:
        """Whether the propensities, and the risk, miss something that the new features know.

        Nothing is asked where the new features are so many that the rows could not tell.
        """
        if recipe.is_too_large_for(self.X.n_rows):
            return False, False
        X = recipe.matrix(self.X)
        new = slice(recipe.n_in, None)
        return (
            _exceeds(X, self.groups, self.v * self.group_weights, new),
            _exceeds(X, self.diagnoses, self.v * self.diagnosis_weights, new),
        )

    def group_z(self) -> FloatArray:
        """z of every feature in the residuals of each group, shape (K, p)."""
        noise = (self.v * self.group_weights).T
        return np.array(
            [residual_z(self.X, *one) for one in zip(self.groups.T, noise, strict=True)]
        )


def _is_diagnosed(data: ScorePart) -> NDArray[np.bool_]:
    return data.s > 0.5


def _taken(data: ScorePart, where: tuple[NDArray[np.int64], int]) -> ScorePart:
    return data.take(where[0])


def _exceeds(X: Matrix, residuals: FloatArray, noise: FloatArray, new: slice) -> bool:
    each = zip(residuals.T, noise.T, strict=True)
    z = np.abs(np.array([residual_z(X, *one)[new] for one in each]))
    return bool(z.size) and float(z.max()) > norm.isf(ASKING / 2 / z.size)


def residual_z(X: Matrix, residual: FloatArray, noise: FloatArray) -> FloatArray:
    """z of every column, shape (p,); see the module.

    Parameters
    ----------
    X : Matrix of shape (n, p)
    residual : array of shape (n,)
        v r.
    noise : array of shape (n,)
        v^2 w, the variance of the residuals if the model is right.

    Examples
    --------
    >>> X = Dense(np.array([[1.0], [1.0], [0.0], [0.0]]))
    >>> residual_z(X, np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4))
    array([2.])
    """
    square = residual**2
    spread = max(float(square.sum()), 1e-300)
    mean = X.rmatvec(square) / spread
    top = X.rmatvec(residual) - mean * residual.sum()
    bottom = np.maximum(_spread(X, square), _spread(X, noise))
    out: FloatArray = np.where(
        bottom > 1e-9 * spread, top / np.sqrt(np.maximum(bottom, 1e-300)), 0.0
    )
    return out


def _spread(X: Matrix, weight: FloatArray) -> FloatArray:
    """sum_i weight_i f_ij^2, f_j less its weighted mean."""
    middle = X.rmatvec(weight)
    out: FloatArray = X.rmatvec_sq(weight) - middle**2 / max(float(weight.sum()), 1e-300)
    return out


# -- propensities --------------------------------------------------------------------------


def mean_gain(data: ScoreData, richer: ScoreData, design: SamplingDesign) -> tuple[float, float]:
    """Mean of log pi'_g(x) - log pi_g(x) of the rows' own groups, and its standard error."""
    mean = sum(data.map(_gain_sum, each=richer.handles))
    V = design.covariance_in_parts(data, _gain_column, mean, each=richer.handles)
    return float(mean), float(np.sqrt(max(V[0, 0], 0.0)))


def _gains(data: ScorePart, richer: ScorePart) -> FloatArray:
    return by_rows(_gain, data.g, data.propensity, richer.propensity)


def _gain(g: NDArray[Any], pi: FloatArray, richer: FloatArray) -> FloatArray:
    row = np.arange(len(g))
    gained: FloatArray = np.log(richer[row, g] / pi[row, g])
    return gained


def _gain_sum(data: ScorePart, richer: ScorePart) -> float:
    return float(data.omega @ _gains(data, richer))


def _gain_column(data: ScorePart, richer: ScorePart, mean: float) -> Iterator[FloatArray]:
    yield data.omega * (_gains(data, richer) - mean)


def mixed(first: ScoreData, other: ScoreData) -> tuple[ScoreData, FloatArray]:
    """The rows with the mixture of both models' propensities, and the weights, shape (2,).

    The mean log-likelihood of (1 - a) pi + a pi' is concave in a, so that Newton's steps, halved
    where they would leave the bracket, find its highest point in [0, 1].
    """
    ratios = first.derive(_excess, each=other.handles)
    low, high, a = 0.0, 1.0, 0.5
    for end in (0.0, 1.0):
        slope = ratios.total(_slope, end)[0]
        if slope <= 0 if end == 0.0 else slope >= 0:
            low = high = a = end
            break
    while high - low > MIXED_WELL:
        slope, curvature = ratios.total(_slope, a)
        low, high = (a, high) if slope > 0 else (low, a)
        step = a + slope / curvature
        before, a = a, step if low < step < high else (low + high) / 2
        if abs(a - before) < MIXED_WELL:
            break
    a = 0.0 if a < LEAST_SHARE else 1.0 if a > 1 - LEAST_SHARE else a
    share = np.array([1 - a, a])
    return first.holding(first.derive(_mixed, share, each=other.handles)), share


@dataclass(frozen=True)
class _Excess:
    """omega, and pi'_g(x) / pi_g(x) - 1 of each row's own group."""

    omega: FloatArray
    excess: FloatArray

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""
        return {"omega": self.omega, "excess": self.excess}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> _Excess:
        """The same rows in other memory."""
        return _Excess(**arrays)


def _excess(data: ScorePart, other: ScorePart) -> _Excess:
    return _Excess(data.omega, np.expm1(_gains(data, other)))


def _slope(rows: _Excess, a: float) -> tuple[float, float]:
    """Slope of the mean log-likelihood in a, and minus its curvature."""
    pull = rows.excess / (1 + a * rows.excess)
    return float(rows.omega @ pull), float(rows.omega @ pull**2)


def _mixed(data: ScorePart, other: ScorePart, share: FloatArray) -> ScorePart:
    def both(one: FloatArray, two: FloatArray) -> FloatArray:
        mixture: FloatArray = share[0] * one + share[1] * two
        return mixture

    return replace(data, propensity=by_rows(both, data.propensity, other.propensity))


def with_propensity_of(data: ScoreData, other: ScoreData) -> ScoreData:
    """The rows with the propensities of other rows kept in the same place."""
    return data.holding(data.derive(_own_propensity, each=other.handles))


def _own_propensity(data: ScorePart, other: ScorePart) -> ScorePart:
    return replace(data, propensity=other.propensity)


# -- risk ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class CombinedRisk:
    """Rows with the combined risk, the coefficients b of the logits, and c_r."""

    data: ScoreData
    slopes: FloatArray
    rate: float


def combined_risks(models: Sequence[ScoreData]) -> CombinedRisk | None:
    """The risks combined; None if that is not clearly better than the first alone."""
    first, others = models[0], list(zip(*(model.handles for model in models[1:]), strict=True))
    mean, squares = first.total(_logit_sums, each=others)
    rows = first.derive(_logit_part, mean, each=list(zip(others, first.first_rows, strict=True)))
    problem = Problem.made_of(rows, len(models), first.n_groups)
    alone = _solved(problem, np.arange(len(models)) == 0)
    kept = np.ones(len(models), dtype=bool)
    while True:
        found = _solved(problem, kept)
        if (found.w[kept] >= 0).all():
            break
        kept[np.argmin(found.w)] = False
        if not kept.any():
            return None
    gain = 2.0 / squares * (evaluate(problem, alone).loss - evaluate(problem, found).loss)
    if not gain > CLEARLY**2:
        return None
    rate = float(found.c[first.reference])
    made = first.derive(_combined, mean, found, each=others)
    return CombinedRisk(first.holding(made), found.w, rate)


def _solved(problem: Problem, kept: NDArray[np.bool_]) -> Parameters:
    """PURPLE of the kept logits, without a penalty; the others' coefficients are zero."""
    held = np.where(kept, 0.0, 1e9)  # a ridge that keeps them there
    found = solve(problem, Penalty(0.0, held), warn=False).parameters
    return replace(found, w=np.where(kept, found.w, 0.0))


def _logits(data: ScorePart, others: tuple[ScorePart, ...]) -> FloatArray:
    return np.column_stack([logit(one.risk) for one in (data, *others)])


def _logit_sums(data: ScorePart, others: tuple[ScorePart, ...]) -> tuple[FloatArray, float]:
    """Means of the logits, and the sum of squared weights."""
    return data.omega @ _logits(data, others), float(data.omega @ data.omega)


def _logit_part(
    data: ScorePart, own: tuple[tuple[ScorePart, ...], int], mean: FloatArray
) -> ProblemPart:
    X = Dense(_logits(data, own[0]) - mean)
    s = (data.s > 0.5).astype(np.uint8)
    return ProblemPart(X, s, data.g, data.omega, data.n_groups, own[1])


def _combined(
    data: ScorePart, others: tuple[ScorePart, ...], mean: FloatArray, at: Parameters
) -> ScorePart:
    z = (_logits(data, others) - mean) @ at.w + at.b
    return replace(data, risk=at.c[data.reference] * expit(z))
