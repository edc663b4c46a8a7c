"""Emergency-department visits with sparse, correlated diagnosis codes.

A visit belongs to a patient, who belongs to a group. It has one presentation (a kind of
complaint), which is either the patient's usual one or drawn from the group's mix. Groups have
different mixes, and that is why p(y=1|g) differs. Codes come from the presentation's own list
or, less often, from a background shared by all; their popularity follows a power law, as code
frequencies do.

    p(y=1|x) = sigma(b + w.x),    s ~ Bernoulli(c_g y)

where w is nonzero for the codes of a few presentations ("suspicious" symptoms), and the
intercept b gives the condition the requested prevalence.

Visits are simulated in blocks of patients, each with its own random stream, on all threads;
memory stays close to the size of the result. `ed_visit_parts` yields the same visits in parts,
for cohorts larger than memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from relprev.arrays import FloatArray
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.matrix import BinaryCSR
from relprev.parallel.threads import map_threads
from relprev.simulate.simulation import Simulation
from relprev.simulate.world import (
    N_PRESENTATIONS,
    N_SUSPICIOUS,
    VisitCodes,
    World,
    codes_of,
    draw_codes,
    prepared,
)

BLOCK_VISITS = 250_000
STRATA = 20
HOSPITALS = 400
TRUTH_VISITS = 250_000  # per presentation, to compute the truth
TRUTH_STREAM = 3  # random stream, distinct from those of visits and files
DEFAULT_RATES = {"Group A": 0.15, "Group B": 0.45, "Group C": 0.30, "Group D": 0.25}
DEFAULT_SHARES = (0.25, 0.45, 0.2, 0.1)


@dataclass(frozen=True)
class _Block:
    """A finished block of visits."""

    codes: VisitCodes
    p: FloatArray
    y: NDArray[np.uint8]
    s: NDArray[np.uint8]
    hospital: NDArray[np.int32]


def ed_visits(
    n_visits: int = 100_000,
    *,
    n_codes: int = 2_000,
    diagnosis_rates: Mapping[str, float] | None = None,
    group_shares: tuple[float, ...] | None = None,
    prevalence: float = 0.05,
    shift: float = 1.0,
    codes_per_visit: float = 6.0,
    visits_per_patient: float = 1.6,
    survey: bool = False,
    seed: int = 0,
) -> Simulation:
    """Simulate emergency-department visits with known p(y|x), c_g and relative prevalence.

    Parameters
    ----------
    n_visits : int
    n_codes : int
        Number of distinct diagnosis codes.
    diagnosis_rates : mapping of group name to c_g, optional
        Default: four groups with rates from 0.15 to 0.45.
    group_shares : tuple of float, optional
        Share of patients in each group.
    prevalence : float
        Approximate mean of p(y=1|x) over all visits.
    shift : float
        How much the groups' mixes of presentations differ (0: not at all).
    codes_per_visit, visits_per_patient : float
        Mean numbers.
    survey : bool
        Add weights, strata and hospitals (primary sampling units).
    seed : int

    Returns
    -------
    Simulation
        Cohort and truth.

    Notes
    -----
    Formula: :mod:`relprev.simulate.visits`.

    Examples
    --------
    >>> two = {"women": 0.2, "men": 0.4}
    >>> ed_visits(20_000, n_codes=500, diagnosis_rates=two, seed=3).cohort
    <Cohort of 20,000 visits x 500 features, groups women, men, with clusters>
    """
    return next(
        _simulated(
            n_visits, n_visits, n_codes, diagnosis_rates, group_shares, prevalence, shift,
            codes_per_visit, visits_per_patient, survey, seed,
        )
    )  # fmt: skip


def ed_visit_parts(n_visits: int, *, rows: int = 2_000_000, **options: Any) -> Iterator[Cohort]:
    """Yield the visits of ``ed_visits(n_visits, **options)`` in parts.

    Parameters
    ----------
    n_visits : int
        Total number of visits.
    rows : int
        Visits per part, rounded up to a multiple of 250,000.
    **options : object
        Other arguments of `ed_visits`.

    Returns
    -------
    iterator of Cohort
        Parts, as `relprev.cohort.write_parts` takes them.

    Notes
    -----
    Formula: :mod:`relprev.simulate.visits`.

    Examples
    --------
    >>> [part.n for part in ed_visit_parts(600_000, rows=250_000, n_codes=50)]
    [250000, 250000, 100000]
    """
    given = inspect.signature(ed_visits).bind(n_visits, **options)
    given.apply_defaults()
    return (part.cohort for part in _simulated(rows, **given.arguments))


def _simulated(
    rows: int, n_visits: int, n_codes: int, diagnosis_rates: Mapping[str, float] | None,
    group_shares: tuple[float, ...] | None, prevalence: float, shift: float,
    codes_per_visit: float, visits_per_patient: float, survey: bool, seed: int,
) -> Iterator[Simulation]:  # fmt: skip
    """Yield the visits in parts of about ``rows`` rows, made of whole blocks."""
    rates = dict(DEFAULT_RATES if diagnosis_rates is None else diagnosis_rates)
    shares = _shares(group_shares, len(rates))
    _check(n_visits, n_codes, rates, prevalence, codes_per_visit, visits_per_patient)
    seeds = np.random.SeedSequence(seed)
    world, intercept = prepared(seeds, n_codes, shares, prevalence, shift, codes_per_visit,
                                 visits_per_patient)  # fmt: skip
    block_seeds = seeds.spawn(-(-n_visits // BLOCK_VISITS))
    c = np.array(list(rates.values()), dtype=float)
    sizes = np.full(len(block_seeds), BLOCK_VISITS)
    sizes[-1] = n_visits - BLOCK_VISITS * (len(sizes) - 1)
    jobs = list(zip(block_seeds, sizes, strict=True))
    at_once, first_patient = -(-rows // BLOCK_VISITS), 0
    for start in range(0, len(jobs), at_once):
        blocks = map_threads(
            lambda job: _block(world, np.random.default_rng(job[0]), int(job[1]), intercept, c),
            jobs[start : start + at_once],
        )
        made = _assemble(blocks, world, tuple(rates), c, survey, first_patient)
        first_patient += sum(block.codes.n_patients for block in blocks)
        yield made


def _check(
    n_visits: int, n_codes: int, rates: Mapping[str, float], prevalence: float,
    codes_per_visit: float, visits_per_patient: float,
) -> None:  # fmt: skip
    if n_visits < 1:
        raise InvalidInputError(f"n_visits must be at least 1, got {n_visits}")
    if n_codes < 50:
        raise InvalidInputError(f"n_codes must be at least 50, got {n_codes}")
    if len(rates) < 2:
        raise InvalidInputError(f"diagnosis_rates must name at least two groups, got {len(rates)}")
    for name, rate in rates.items():
        if not 0 < rate <= 1:
            raise InvalidInputError(f"diagnosis_rates[{name!r}] must be in (0, 1], got {rate}")
    if not 0 < prevalence < 1:
        raise InvalidInputError(f"prevalence must be between 0 and 1, got {prevalence}")
    if codes_per_visit < 1 or visits_per_patient < 1:
        raise InvalidInputError("codes_per_visit and visits_per_patient must be at least 1")


def _shares(group_shares: tuple[float, ...] | None, count: int) -> FloatArray:
    if group_shares is None:
        group_shares = DEFAULT_SHARES if count == len(DEFAULT_SHARES) else (1.0,) * count
    shares = np.asarray(group_shares, dtype=float)
    if len(shares) != count or (shares <= 0).any():
        raise InvalidInputError(
            f"group_shares must hold {count} positive numbers, one per group, got {group_shares}"
        )
    return shares / shares.sum()


def group_prevalences(**options: Any) -> tuple[FloatArray, FloatArray]:
    """p(y=1|g) in the population of ``ed_visits(**options)``, and the groups' shares.

    Given its presentation k, a visit's codes do not depend on the group, so

        p(y=1|g) = sum_k p(k|g) E[p(y=1|x) | k].

    The means are taken over 250,000 new visits per presentation, and eight times as many for
    suspicious ones, 17 million in total. This makes ratios accurate to about a tenth of a
    percent, whatever the group sizes.

    Parameters
    ----------
    options
        As in `ed_visits`; the number of visits and ``survey`` do not matter.

    Returns
    -------
    prevalences, shares : float arrays of shape (groups,)

    Examples
    --------
    >>> prevalences, shares = group_prevalences(n_codes=50, prevalence=0.05, seed=1)
    >>> bool(abs(prevalences @ shares - 0.05) < 0.001)
    True
    """
    given = inspect.signature(ed_visits).bind(**options)
    given.apply_defaults()
    setting = given.arguments
    rates, seed = setting["diagnosis_rates"] or DEFAULT_RATES, setting["seed"]
    shares = _shares(setting["group_shares"], len(rates))
    world, intercept = prepared(
        np.random.SeedSequence(seed), setting["n_codes"], shares, setting["prevalence"],
        setting["shift"], setting["codes_per_visit"], setting["visits_per_patient"],
    )  # fmt: skip

    def mean_of(block: tuple[int, int]) -> float:
        rng = np.random.default_rng([seed, TRUTH_STREAM, *block])
        X = codes_of(world, rng, np.full(TRUTH_VISITS, block[0]))
        z = np.empty(X.n_rows)
        X.dot(world.w, 0, X.n_rows, z)
        return float(np.mean(expit(intercept + z)))

    blocks = [(k, repeat) for k in range(N_PRESENTATIONS)
              for repeat in range(8 if k < N_SUSPICIOUS else 1)]  # fmt: skip
    presentation = np.array([k for k, _ in blocks])
    means = np.bincount(presentation, map_threads(mean_of, blocks)) / np.bincount(presentation)
    return np.diff(world.presentation, axis=1, prepend=0.0) @ means, shares


def _block(
    world: World, rng: np.random.Generator, n: int, intercept: float, c: FloatArray
) -> _Block:
    codes = draw_codes(world, rng, n)
    z = np.empty(n)
    codes.X.dot(world.w, 0, n, z)
    p = expit(intercept + z)
    y = rng.random(n) < p
    s = y & (rng.random(n) < c[codes.group])
    hospital = rng.integers(0, HOSPITALS, codes.n_patients, dtype=np.int32)[codes.patient]
    return _Block(codes, p, y.astype(np.uint8), s.astype(np.uint8), hospital)


def _assemble(
    blocks: list[_Block], world: World, names: tuple[str, ...], c: FloatArray, survey: bool,
    first_patient: int,
) -> Simulation:  # fmt: skip
    def joined(field: str) -> NDArray[Any]:
        return np.concatenate([getattr(block, field) for block in blocks])

    parts = [block.codes for block in blocks]
    first = np.cumsum([first_patient] + [part.n_patients for part in parts[:-1]])
    design: dict[str, Any] = {}
    if survey:
        hospital = joined("hospital")
        strata = hospital % STRATA
        design = {"psus": hospital, "strata": strata, "weights": 1.0 + 0.25 * strata}
    cohort = Cohort.of(
        X=BinaryCSR(
            np.cumsum(np.concatenate([[0], *(np.diff(part.X.indptr) for part in parts)])),
            np.concatenate([part.X.indices for part in parts]),
            world.n_codes,
        ),
        diagnosed=joined("s"),
        groups=np.concatenate([part.group for part in parts]),
        group_names=names,
        clusters=np.concatenate(
            [part.patient + np.int32(offset) for part, offset in zip(parts, first, strict=True)]
        ),
        feature_names=tuple(f"code_{j:05d}" for j in range(world.n_codes)),
        **design,
    )
    return Simulation(cohort, joined("p"), joined("y"), c)
