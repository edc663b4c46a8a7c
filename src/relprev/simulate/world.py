"""The world of simulated visits: groups, presentations, codes and their weights.

Presentation k of group g has the share

    p(k|g) ~ base_k exp(shift z_gk),    z_gk ~ N(0, 1),

and a list of codes of its own, of which the one of rank r is drawn with a probability that falls as
r^-0.9. Codes of the first presentations have weights w that are positive on the whole; see
`relprev.simulate.visits` for what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from relprev.arrays import FloatArray
from relprev.matrix import BinaryCSR
from relprev.simulate.kernels import codes_of_visits

N_PRESENTATIONS = 40
N_SUSPICIOUS = 4  # presentations whose codes point to the condition
MAX_CODES = 40
BACKGROUND_SHARE = 0.3
POWER = 0.9  # exponent of the power law by which popularity falls with rank
USUAL_SHARE = 0.5  # share of visits with the patient's usual presentation


@dataclass(frozen=True)
class World:
    """What all visits are drawn from."""

    n_codes: int
    group_of_patient: FloatArray  # cumulative shares
    presentation: FloatArray  # (groups, presentations), cumulative
    own_codes: NDArray[np.int32]  # (presentations, list length)
    own_popularity: FloatArray  # cumulative, (list length,)
    w: FloatArray
    codes_per_visit: float
    visits_per_patient: float


@dataclass(frozen=True)
class VisitCodes:
    """Patient, group and codes of a block of visits."""

    patient: NDArray[np.int32]
    group: NDArray[np.uint8]
    X: BinaryCSR

    @property
    def n_patients(self) -> int:
        """Number of patients, who are numbered from 0."""
        return int(self.patient[-1]) + 1


def prepared(
    seeds: np.random.SeedSequence, n_codes: int, shares: FloatArray, prevalence: float,
    shift: float, codes_per_visit: float, visits_per_patient: float,
) -> tuple[World, float]:  # fmt: skip
    """The world, and the intercept b of its p(y=1|x)."""
    world_seed, pilot_seed = seeds.spawn(2)
    rng = np.random.default_rng(world_seed)
    world = _made(rng, n_codes, shares, shift, codes_per_visit, visits_per_patient)
    pilot = draw_codes(world, np.random.default_rng(pilot_seed), 50_000)
    return world, _intercept(pilot.X.matvec(world.w), prevalence)


def _made(
    rng: np.random.Generator, n_codes: int, shares: FloatArray, shift: float,
    codes_per_visit: float, visits_per_patient: float,
) -> World:  # fmt: skip
    k = N_PRESENTATIONS
    base = rng.dirichlet(np.full(k, 3.0))
    mix = base * np.exp(shift * rng.normal(size=(len(shares), k)))
    length = max(10, min(n_codes // 4, 400))
    rank = np.arange(1, length + 1)
    own = np.stack([rng.choice(n_codes, length, replace=False) for _ in range(k)])
    w = np.zeros(n_codes)
    for presentation in range(N_SUSPICIOUS):
        w[own[presentation, : length // 2]] += rng.normal(0.9, 0.5, length // 2)
    protective = rng.choice(n_codes, n_codes // 20, replace=False)
    w[protective] += rng.normal(-0.4, 0.2, len(protective))
    return World(
        n_codes=n_codes,
        group_of_patient=np.cumsum(shares),
        presentation=np.cumsum(mix / mix.sum(axis=1, keepdims=True), axis=1),
        own_codes=own.astype(np.int32),
        own_popularity=np.cumsum(rank**-POWER / np.sum(rank**-POWER)),
        w=w,
        codes_per_visit=codes_per_visit,
        visits_per_patient=visits_per_patient,
    )


def draw_codes(world: World, rng: np.random.Generator, n: int) -> VisitCodes:
    """Draw patients, groups and codes for one block of n visits."""
    mean = world.visits_per_patient
    visits = rng.geometric(1 / mean, int(n / mean + 10 * np.sqrt(mean * n)) + 50)
    patient = np.repeat(np.arange(len(visits), dtype=np.int32), visits)[:n]
    n_patients = int(patient[-1]) + 1
    group = np.searchsorted(world.group_of_patient[:-1], rng.random(n_patients)).astype(np.uint8)
    usual = _pick(world.presentation[group], rng.random(n_patients))
    fresh = _pick(world.presentation[group[patient]], rng.random(n))
    kind = np.where(rng.random(n) < USUAL_SHARE, usual[patient], fresh)
    return VisitCodes(patient, group[patient], codes_of(world, rng, kind))


def codes_of(world: World, rng: np.random.Generator, kind: NDArray[np.int64]) -> BinaryCSR:
    """Draw the codes of visits with the given presentations."""
    # Codes drawn twice are kept once, so slightly more are drawn than requested.
    wanted = np.minimum(1 + rng.poisson(1.06 * (world.codes_per_visit - 1), len(kind)), MAX_CODES)
    indptr, indices = codes_of_visits(
        kind, wanted, rng.random((int(wanted.sum()), 2)), world.own_codes, world.own_popularity,
        POWER, world.n_codes, BACKGROUND_SHARE,
    )  # fmt: skip
    return BinaryCSR(indptr, indices, world.n_codes)


def _pick(cumulative: FloatArray, u: FloatArray) -> NDArray[np.int64]:
    """One draw per row from rows of cumulative probabilities."""
    return np.minimum((cumulative < u[:, None]).sum(axis=1), cumulative.shape[1] - 1)


def _intercept(scores: FloatArray, prevalence: float) -> float:
    """The b at which the mean of sigma(b + score) equals the prevalence, by bisection."""
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        mean = np.mean(expit(middle + scores))
        low, high = (middle, high) if mean < prevalence else (low, middle)
    return 0.5 * (low + high)
