"""Worlds in which a linear model is wrong: of the groups, of the risk, or of both.

All of the method's assumptions hold in every one of them: p(s=1|x,g) = p(y=1|x) c_g. A world draws
symptoms x, groups g and the risk p(y=1|x) of as many visits as asked. The truth is the ratio of
the groups' mean risk in the population, taken over ten million visits.

The first six were found to break, or to strain, an estimator whose two models are linear in x
(`WORLDS_FOUND`); with them the models' defaults were chosen. The others (`WORLDS_HELD_BACK`) were
drawn up before anything was fitted to them and only confirm the choice. In `WORLDS_LINEAR` both
models are right, so that nothing should be found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, softmax

from relprev import Cohort, as_cohort

FloatArray = NDArray[np.float64]
Drawn = tuple[Any, NDArray[np.int64], FloatArray]  # x, g, p(y=1|x)
TRUTH_ROWS, TRUTH_DRAWS = 100_000, 100
TRUTH_STREAM = 20


@dataclass(frozen=True)
class World:
    """A population and how it is sampled.

    Parameters
    ----------
    words : what it is, for people to read
    draw : function of a random generator and a number of visits
        Returns x, g and p(y=1|x).
    n : number of visits drawn
    rates : diagnosis rate c_g of each group
    """

    words: str
    draw: Callable[[np.random.Generator, int], Drawn]
    n: int = 10_000
    rates: tuple[float, ...] = (0.3, 0.6)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple("abcdefgh"[: len(self.rates)])

    def cohort(self, seed: int | np.random.SeedSequence) -> Cohort:
        """One cohort from the population."""
        rng = np.random.default_rng(seed)
        x, g, p = self.draw(rng, self.n)
        s = rng.random(self.n) < p * np.asarray(self.rates)[g]
        return as_cohort(x, s, groups=np.asarray(self.names)[g])

    def truth(self) -> FloatArray:
        """Mean p(y=1|x) of each group in the population, shape (K,)."""
        cases, visits = np.zeros((2, len(self.rates)))
        for number in range(TRUTH_DRAWS):
            rng = np.random.default_rng([TRUTH_STREAM, number])
            _, g, p = self.draw(rng, TRUTH_ROWS)
            cases += np.bincount(g, p, len(cases))
            visits += np.bincount(g, minlength=len(cases))
        return cases / visits


def _groups(rng: np.random.Generator, log_odds: FloatArray) -> NDArray[np.int64]:
    """Groups drawn given x; log-odds of shape (n,) for two of them, else (n, K)."""
    if log_odds.ndim == 1:
        return (rng.random(len(log_odds)) > expit(log_odds)).astype(np.int64)
    chance = np.cumsum(softmax(log_odds, axis=1), axis=1)
    return np.minimum((rng.random(len(chance))[:, None] > chance).sum(1), chance.shape[1] - 1)


# -- the six that were found ---------------------------------------------------------------


def _covariance(strength: float, intercept: float) -> Callable[..., Drawn]:
    """Groups with the same means but other variances and correlations of 6 numbers."""

    def draw(rng: np.random.Generator, n: int) -> Drawn:
        g = (rng.random(n) > 0.4).astype(np.int64)
        z = rng.normal(size=(n, 6))
        first = z * np.sqrt([1.8, 1.6, 1.0, 1.0, 1.0, 0.7])
        first[:, 3] = 0.7 * first[:, 2] + np.sqrt(0.51) * z[:, 3]
        z[:, 3] = -0.3 * z[:, 2] + np.sqrt(0.91) * z[:, 3]
        z = np.where(g[:, None] == 0, first, z)
        often = np.array([[0.3, 0.2, 0.4, 0.1, 0.25, 0.15], [0.2, 0.3, 0.35, 0.15, 0.2, 0.2]])
        codes = (rng.random((n, 6)) < often[g]).astype(float)
        bent = 0.5 * z[:, 0] ** 2 + 0.4 * z[:, 1] ** 2 + 0.8 * z[:, 2] * z[:, 3]
        bent -= 0.4 * z[:, 4] * z[:, 5]
        line = 0.4 * z[:, 0] + 0.3 * z[:, 4] + codes @ [0.8, -0.4, 0.3, 0.6, 0.0, -0.2]
        return np.hstack([z, codes]), g, expit(intercept + line + strength * bent)

    return draw


def _logistic_risk(rng: np.random.Generator, n: int) -> Drawn:
    """The risk is what the model says; the groups depend on squares and products."""
    x = rng.normal(size=(n, 8))
    f = 0.8 * (x[:, 0] ** 2 - 1) + x[:, 1] * x[:, 2] - 0.6 * (x[:, 3] ** 2 - 1) + 0.4 * x[:, 4]
    p = expit(-3.0 + x @ [0.9, 0.7, 0.7, 0.5, 0.4, -0.3, 0.0, 0.0])
    return x, _groups(rng, f - 0.3), p


@cache
def _code_tables() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log-odds of 60 codes, how much more often group a has them, and their effect on the risk."""
    rng = np.random.default_rng(60)
    base, w = rng.uniform(-4.0, -1.5, 60), rng.normal(0.3, 0.6, 60)
    return base, 0.5 * w + rng.normal(0.0, 0.4, 60), w


def _no_code(rng: np.random.Generator, n: int) -> Drawn:
    """40% of the visits have no code at all, more of them in group a, and a risk of their own."""
    base, away, w = _code_tables()
    g = (rng.random(n) > 0.4).astype(np.int64)
    empty = rng.random(n) < np.where(g == 0, 0.48, 0.35)
    x = rng.random((n, 60)) < expit(base + np.where(g[:, None] == 0, away, 0.0))
    x[np.arange(n), rng.integers(0, 60, n)] = True
    x[empty] = False
    z = np.where(empty, -2.8, -4.4 + x @ w)
    return sp.csr_array(x), g, expit(z)


def _many_numbers(rng: np.random.Generator, n: int) -> Drawn:
    """300 numeric features and 2,000 visits; linear models are right but hard to estimate."""
    x = rng.normal(size=(n, 300))
    f = x[:, :20] @ np.full(20, 0.15)
    return x, _groups(rng, f), expit(-1.2 + x[:, 5:25] @ np.full(20, 0.2))


@cache
def _presentation_tables() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mixes of 12 presentations in four groups, their 100 codes' frequencies, and effects."""
    rng = np.random.default_rng(100)
    mix = rng.dirichlet(np.full(12, 3.0)) * np.exp(rng.normal(size=(4, 12)))
    often = np.clip(0.005 + 0.25 * rng.random((12, 100)) * (rng.random((12, 100)) < 0.2), 0, 1)
    w = np.where(rng.random(100) < 0.3, rng.normal(0.8, 0.5, 100), 0.0)
    return mix / mix.sum(axis=1, keepdims=True), often, w


def _presentations(rng: np.random.Generator, n: int) -> Drawn:
    """100 codes that come in presentations, four groups."""
    mix, often, w = _presentation_tables()
    g = rng.choice(4, n, p=[0.25, 0.45, 0.2, 0.1])
    kind = (rng.random(n)[:, None] > np.cumsum(mix, axis=1)[g]).sum(axis=1).clip(max=11)
    x = rng.random((n, 100)) < often[kind]
    return sp.csr_array(x), g, expit(-2.6 + x @ w)


@cache
def _plain_tables() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log-odds of 60 codes, what groups add to them, and their effect on the risk."""
    rng = np.random.default_rng(5)
    return rng.uniform(-4, -1.5, 60), rng.normal(0, 0.4, (3, 60)), rng.normal(0.3, 0.6, 60)


def _plain_codes(rng: np.random.Generator, n: int) -> Drawn:
    """60 independent codes in three groups; both models are linear."""
    base, away, w = _plain_tables()
    g = rng.choice(3, n, p=[0.3, 0.5, 0.2])
    x = rng.random((n, 60)) < expit(base + away[g])
    return sp.csr_array(x), g, expit(-2.4 + x @ w)


def _plain_numbers(rng: np.random.Generator, n: int) -> Drawn:
    """Six numbers and six codes in two groups; both models are linear."""
    g = (rng.random(n) > 0.4).astype(np.int64)
    x = rng.normal(size=(n, 6)) + np.where(g[:, None] == 0, 0.35, 0.0)
    codes = rng.random((n, 6)) < np.where(g[:, None] == 0, 0.3, 0.2)
    z = -1.8 + x @ [0.5, 0.4, -0.3, 0.2, 0.0, 0.0] + codes @ [0.8, 0.5, 0.0, 0.0, -0.4, 0.2]
    return np.hstack([x, codes]), g, expit(z)


# -- the five that were held back ----------------------------------------------------------


def _ages(rng: np.random.Generator, n: int) -> Drawn:
    """Age in years, with thresholds and a valley, and ten symptoms."""
    age = rng.uniform(18, 95, n)
    x = rng.random((n, 10)) < 0.2
    f = np.where(age < 30, 1.2, np.where(age < 65, -0.6, 0.9)) + x[:, :3] @ [0.5, -0.5, 0.3]
    z = -3.6 + 2.0 * (np.abs(age - 50) / 45) ** 2 * 2 + x[:, 2:8] @ np.full(6, 0.5)
    return np.column_stack([age, x]), _groups(rng, f), expit(z)


def _pairs(rng: np.random.Generator, n: int) -> Drawn:
    """30 binary symptoms of which pairs matter, for the groups and for the risk."""
    x = rng.random((n, 30)) < np.linspace(0.1, 0.5, 30)
    both = x[:, 20:29] & x[:, 21:30]
    f = 1.6 * both[:, ::2].sum(axis=1) - 1.5 * x[:, 20:30:2].mean(axis=1) - 1.0
    z = -3.7 + 1.3 * both[:, ::2].sum(axis=1) + 0.4 * x[:, :8].sum(axis=1) - 0.5 * x[:, 25]
    return sp.csr_array(x), _groups(rng, f), expit(z)


def _laboratory(rng: np.random.Generator, n: int) -> Drawn:
    """Five skewed laboratory values that act through their logarithms, and eight symptoms."""
    level = rng.normal(size=(n, 5))
    level[:, 1] = 0.6 * level[:, 0] + 0.8 * level[:, 1]
    x = rng.random((n, 8)) < 0.25
    f = 0.9 * np.tanh(2 * level[:, 0]) + 0.7 * level[:, 1] - 0.5 * level[:, 2] + 0.4 * x[:, 0]
    z = -3.4 + 0.9 * level[:, 0] + 0.7 * np.maximum(level[:, 2], 0) ** 2 + x[:, :4] @ np.ones(4)
    return np.column_stack([np.exp(1.2 * level), x]), _groups(rng, f - 0.3), expit(z)


def _burden(rng: np.random.Generator, n: int) -> Drawn:
    """120 codes in three groups; how many there are matters beyond which, and in a curve."""
    burden = rng.gamma(1.2, 1.0, n)
    base = np.random.default_rng(120).uniform(-5.0, -2.5, 120)
    x = rng.random((n, 120)) < expit(base + 0.9 * np.log(burden + 1e-3)[:, None])
    count = x.sum(axis=1)
    w = np.random.default_rng(121).normal(0.0, 0.5, 120)
    bow = 1.2 * np.exp(-((count - 3) ** 2) / 4)
    log_odds = np.column_stack([0.8 * bow + x[:, :60] @ w[:60], np.zeros(n), -0.15 * count])
    z = -3.3 + 1.5 * bow - 0.8 * (count == 0) + x @ w
    return sp.csr_array(x), _groups(rng, log_odds), expit(z)


def _regions(rng: np.random.Generator, n: int) -> Drawn:
    """Boxes and a ring in four numbers, the ground of trees, and six numbers without meaning."""
    x = rng.normal(size=(n, 10))
    box = (x[:, 0] > 0) & (x[:, 1] > 0.3) | (x[:, 0] < -0.7) & (x[:, 1] < 0)
    ring = np.abs(np.hypot(x[:, 2], x[:, 3]) - 1.5) < 0.5
    f = 1.6 * box + 0.9 * ring - 1.1 + 0.3 * x[:, 4]
    return x, _groups(rng, f), expit(-3.4 + 1.5 * box + 1.0 * ring + 0.5 * x[:, 4])


WORLDS_FOUND = {
    "covariance": World("groups differ in variances, risk in squares", _covariance(0.8, -4.1)),
    "covariance_mild": World("the same, mild", _covariance(0.2, -2.8)),
    "logistic_risk": World("risk as modelled, groups by squares and products", _logistic_risk),
    "no_code": World("40% of visits without a code", _no_code, n=20_000),
    "many_numbers": World("300 numeric features, 2,000 visits", _many_numbers, n=2_000),
    "presentations_100": World(
        "100 codes in presentations", _presentations, n=20_000, rates=(0.15, 0.45, 0.3, 0.25)
    ),
}
WORLDS_HELD_BACK = {
    "ages": World("age with thresholds and a valley", _ages, n=20_000),
    "pairs": World("pairs of 30 symptoms", _pairs, n=20_000),
    "laboratory": World("skewed laboratory values", _laboratory),
    "burden": World("number of 120 codes, three groups", _burden, n=20_000, rates=(0.2, 0.5, 0.4)),
    "regions": World("boxes and a ring", _regions, n=20_000),
}
WORLDS_LINEAR = {
    "plain_numbers": World(
        "both models linear: numbers and codes", _plain_numbers, n=5_000, rates=(0.4, 0.7)
    ),
    "plain_codes": World(
        "both models linear: 60 codes", _plain_codes, n=6_000, rates=(0.3, 0.6, 0.4)
    ),
}
NONLINEAR = WORLDS_FOUND | WORLDS_HELD_BACK | WORLDS_LINEAR
