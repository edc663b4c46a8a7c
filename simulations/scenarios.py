"""Populations to draw cohorts from, and their true relative prevalences.

A visit has 30 binary symptoms and, in some scenarios, a few of 1,000 rare codes, which are also
symptoms. Symptom j is present with log-odds a_j + d_gj, where d makes the groups differ;
p(y=1|x) = sigma(b + w.x + interactions); s ~ Bernoulli(c_g y). The truth is the ratio of the
groups' mean p(y=1|x) in the population, computed over twenty million visits (two million with
rare codes), because that is what the intervals claim to cover.

`WORLDS` are visits from `relprev.simulate.ed_visits`, whose codes come in presentations; there
every replicate is a different world with its own codes, groups and truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from relprev import Cohort, as_cohort

FloatArray = NDArray[np.float64]
N_SYMPTOMS = 30
TRUTH_ROWS, TRUTH_DRAWS = 1_000_000, 20
WORLD_SEED = 20


@dataclass(frozen=True)
class Scenario:
    """A population and how it is sampled.

    Parameters
    ----------
    rates : diagnosis rate c_g of each group
    shares : each group's share of visits
    n : number of visits drawn
    intercept : b in p(y=1|x)
    codes : number of rare codes, in addition to the 30 symptoms
    shift : standard deviation of d, how much the groups' symptoms differ
    interactions : strength of products of symptoms in p(y=1|x)
    visits_per_patient : mean number; above 1, a patient's visits share symptoms and condition
    strata, psus : strata, and PSUs drawn in each; PSUs differ in symptoms and groups
    drift : log of the factor by which the first group's diagnosis rate rises from the
        5th to the 95th percentile of risk (breaks the method's assumption)
    """

    rates: tuple[float, ...] = (0.2, 0.5)
    shares: tuple[float, ...] = (0.4, 0.6)
    n: int = 20_000
    intercept: float = -3.2
    codes: int = 0
    shift: float = 0.5
    interactions: float = 0.0
    visits_per_patient: float = 1.0
    strata: int = 0
    psus: int = 0
    drift: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple("abcdefgh"[: len(self.rates)])


RATES, SHARES = (0.2, 0.5, 0.35, 0.3), (0.25, 0.4, 0.2, 0.15)  # of four groups
SCENARIOS = {
    "two_groups": Scenario(),
    "four_groups": Scenario(rates=RATES, shares=SHARES),
    "repeat_patients": Scenario(visits_per_patient=2.0),
    "survey": Scenario(strata=15, psus=12),
    "few_cases": Scenario(n=4_000, intercept=-3.05),
    "interactions": Scenario(interactions=1.0),
    "strong_shift": Scenario(shift=1.0),
    "many_codes": Scenario(rates=RATES, shares=SHARES, codes=1_000),
    "many_codes_few_cases": Scenario(rates=RATES, shares=SHARES, codes=1_000, intercept=-5.8),
    "many_codes_same_in_all_groups": Scenario(rates=RATES, shares=SHARES, codes=1_000, shift=0.0),
}
WORLDS: dict[str, dict[str, Any]] = {  # arguments of `relprev.simulate.ed_visits`
    "presentations": {"n_visits": 20_000, "n_codes": 2_000, "prevalence": 0.1},
    "presentations_few_cases": {"n_visits": 20_000, "n_codes": 2_000, "prevalence": 0.02},
}
STEADY = Scenario(intercept=-2.05)  # about 2,000 diagnosed
FEWER = Scenario(intercept=-3.45)  # about 800
DRIFTS = (
    {
        f"drift_{factor:g}": replace(STEADY, drift=float(np.log(factor)))
        for factor in (0.5, 1.0, 1.25, 1.5, 2.0, 3.0)
    }
    | {"drift_1_patients": replace(STEADY, visits_per_patient=2.0)}
    | {
        f"drift_{factor:g}_fewer": replace(FEWER, drift=float(np.log(factor)))
        for factor in (0.5, 1.0, 2.0)
    }
)


@dataclass(frozen=True)
class Draw:
    """A cohort and the p(y=1|x) of its rows."""

    cohort: Cohort
    p: FloatArray


@dataclass(frozen=True)
class _World:
    frequency: FloatArray  # (K, symptoms), log-odds
    w: FloatArray
    pairs: FloatArray  # strengths of products of neighbouring symptoms
    risk_range: tuple[float, float]


@cache
def _world(scenario: Scenario) -> _World:
    """What all replicates have in common."""
    rng = np.random.default_rng(WORLD_SEED)
    base = rng.uniform(-3.5, -1.0, N_SYMPTOMS)
    w = rng.normal(0.5, 0.6, N_SYMPTOMS)
    pairs = rng.normal(0.0, 1.0, N_SYMPTOMS // 2)
    away = rng.normal(size=(8, N_SYMPTOMS))[: len(scenario.rates)]
    away[0] += 0.6 * w  # the first group has more of the symptoms that matter
    if scenario.codes:
        base = np.append(base, rng.uniform(-7.5, -4.5, scenario.codes))
        rare = rng.normal(size=(8, scenario.codes))[: len(scenario.rates)]
        w, away = np.append(w, rng.normal(0.0, 0.6, scenario.codes)), np.hstack([away, rare])
    world = _World(base + scenario.shift * away, w, scenario.interactions * pairs, (0.0, 0.0))
    if scenario.drift:
        x, _ = _symptoms(replace(scenario, n=100_000), world, np.random.default_rng(1))
        z = _log_odds(scenario, world, x)
        low, high = np.quantile(np.log(expit(z)), [0.05, 0.95])
        world = replace(world, risk_range=(float(low), float(high)))
    return world


def draw(scenario: Scenario, seed: int | np.random.SeedSequence) -> Draw:
    """One cohort from the population."""
    rng = np.random.default_rng(seed)
    world = _world(scenario)
    if scenario.strata:
        return _survey(scenario, world, rng)
    if scenario.visits_per_patient > 1:
        return _repeated(scenario, world, rng)
    x, g = _symptoms(scenario, world, rng)
    p = expit(_log_odds(scenario, world, x))
    return Draw(_cohort(scenario, world, x, g, p, rng.random(scenario.n), rng), p)


def truth(scenario: Scenario) -> FloatArray:
    """Mean p(y=1|x) of each group in the population, shape (K,), over very many visits."""
    if scenario.strata:
        return _survey_truth(scenario)
    world, chance = _world(scenario), expit(_world(scenario).frequency)
    more = 1 + scenario.codes // N_SYMPTOMS  # factor in memory and time per visit
    draws = TRUTH_DRAWS * min(more, 4)
    mean = np.zeros(len(scenario.rates))
    for number in range(draws):
        rng = np.random.default_rng([WORLD_SEED, number])
        luck = rng.random((TRUTH_ROWS // more, len(world.w)))  # the same for all groups
        for group, row in enumerate(chance):
            mean[group] += expit(_log_odds(scenario, world, luck < row)).mean() / draws
    return mean


def _survey_truth(scenario: Scenario) -> FloatArray:
    psus = scenario.psus * TRUTH_ROWS // scenario.n
    large = replace(scenario, n=TRUTH_ROWS, drift=0.0, psus=psus)
    cases, visits = np.zeros((2, len(scenario.rates)))
    for number in range(TRUTH_DRAWS):
        drawn = draw(large, np.random.SeedSequence([WORLD_SEED, number]))
        cases += np.bincount(drawn.cohort.groups, drawn.cohort.weights * drawn.p)
        visits += np.bincount(drawn.cohort.groups, drawn.cohort.weights)
    return cases / visits


def _symptoms(
    scenario: Scenario, world: _World, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    g = rng.choice(len(scenario.rates), scenario.n, p=scenario.shares)
    return rng.random((scenario.n, len(world.w))) < expit(world.frequency)[g], g


def _repeated(scenario: Scenario, world: _World, rng: np.random.Generator) -> Draw:
    """A patient's visits share the group, most symptoms and part of what determines y."""
    visits = rng.geometric(1 / scenario.visits_per_patient, scenario.n)
    count = int(np.searchsorted(np.cumsum(visits), scenario.n)) + 1
    patient = np.repeat(np.arange(count), visits[:count])[: scenario.n]
    base, group = _symptoms(replace(scenario, n=count), world, rng)
    fresh = rng.random((scenario.n, len(world.w))) < expit(world.frequency)[group[patient]]
    x = np.where(rng.random(fresh.shape) < 0.7, base[patient], fresh)
    p = expit(_log_odds(scenario, world, x))
    own = rng.random(count)[patient]  # with probability 1/2 the patient's own number determines y
    luck = np.where(rng.random(scenario.n) < 0.5, own, rng.random(scenario.n))
    return Draw(_cohort(scenario, world, x, group[patient], p, luck, rng, clusters=patient), p)


def _survey(scenario: Scenario, world: _World, rng: np.random.Generator) -> Draw:
    """PSUs differ in symptoms and mix of groups; so do strata, which also differ in weights."""
    n_psus = scenario.strata * scenario.psus
    stratum = np.repeat(np.arange(scenario.strata), scenario.psus)
    level = np.linspace(-1, 1, scenario.strata)[stratum]  # of the PSU's stratum
    psu = np.repeat(np.arange(n_psus), scenario.n // n_psus)
    tilt = 0.5 * level + 0.3 * rng.normal(size=n_psus)
    odds = scenario.shares[0] / scenario.shares[1] * np.exp(tilt[psu])
    g = (rng.random(len(psu)) > odds / (1 + odds)).astype(np.int64)
    more = 0.2 * level + 0.3 * rng.normal(size=n_psus)
    x = rng.random((len(psu), len(world.w))) < expit(world.frequency[g] + more[psu, None])
    p = expit(_log_odds(scenario, world, x))
    weight = np.exp(level)[psu]
    cohort = _cohort(
        scenario, world, x, g, p, rng.random(len(psu)), rng,
        sample_weight=weight, strata=stratum[psu], psus=psu,
    )  # fmt: skip
    return Draw(cohort, p)


def _cohort(scenario, world, x, g, p, luck, rng, **design) -> Cohort:
    y = luck < p
    rate = np.asarray(scenario.rates)[g]
    if scenario.drift:
        low, high = world.risk_range
        position = np.clip((np.log(p) - low) / (high - low), -0.5, 1.5) - 0.5
        rate = np.where(g == 0, rate * np.exp(scenario.drift * position), rate)
    s = y & (rng.random(len(y)) < rate)
    names = np.asarray(scenario.names)[g]
    return as_cohort(sp.csr_array(x), s, groups=names, **design)


def _log_odds(scenario: Scenario, world: _World, x: NDArray[np.bool_]) -> FloatArray:
    z = scenario.intercept + x @ world.w
    if scenario.interactions:
        z = z + (x[:, 0::2] & x[:, 1::2]) @ world.pairs
    return z
