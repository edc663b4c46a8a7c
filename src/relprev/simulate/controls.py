"""Visits with control conditions, and with an assumption that is broken by a known amount.

Every condition k, the one of interest and the controls, has weights w_k of its own on the same
codes. In group g its risk at equal codes is

    p_k(y=1|x,g) = alpha_kg r sigma(b_k + w_k.x),    log alpha_kg ~ N(mean, spread^2),

1 in the last group; r = 0.4 leaves room for alpha. The method assumes alpha = 1. Controls
are recorded at the same rate in all groups, the condition of interest at rates that differ.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from relprev.arrays import FloatArray
from relprev.cohort import Cohort
from relprev.cohort.cohort import control_dtype
from relprev.errors import InvalidInputError
from relprev.simulate.simulation import Simulation
from relprev.simulate.visits import ed_visits

HIGHEST = 0.4  # r
SHARE_OF_CODES = 0.1  # that point to a condition
RATES = {"Group A": 0.25, "Group B": 0.5}
CONTROL_RATE = 0.9


def visits_with_controls(
    n_visits: int = 20_000,
    *,
    n_controls: int = 20,
    n_codes: int = 200,
    diagnosis_rates: Mapping[str, float] | None = None,
    prevalence: float = 0.01,
    mean: float = 0.0,
    spread: float = 0.0,
    seed: int = 0,
) -> Simulation:
    """Simulate visits with a condition of interest and control conditions.

    Parameters
    ----------
    n_visits, n_controls, n_codes : int
    diagnosis_rates : mapping of group name to c_g, optional
        Of the condition of interest. Default: two groups, 0.25 and 0.5.
    prevalence : float
        Of the condition of interest; those of the controls are two to eight times as large.
    mean, spread : float
        Of log alpha, by which conditions break the assumption of equal risk at equal codes.
    seed : int

    Returns
    -------
    Simulation
        Cohort with controls, and truth.

    Notes
    -----
    Formula: :mod:`relprev.simulate.controls`.

    Examples
    --------
    >>> world = visits_with_controls(5_000, n_controls=6, n_codes=50, seed=1)
    >>> world.cohort.control_names[:2], world.cohort.controls.dtype
    (('control 1', 'control 2'), dtype('uint8'))
    """
    visits = ed_visits(
        n_visits, n_codes=n_codes, diagnosis_rates=RATES if diagnosis_rates is None else
        diagnosis_rates, visits_per_patient=1.0, seed=seed,
    )  # fmt: skip
    return with_controls(
        visits.cohort, visits.diagnosis_rates, n_controls=n_controls, prevalence=prevalence,
        mean=mean, spread=spread, seed=seed,
    )  # fmt: skip


def with_controls(
    cohort: Cohort, diagnosis_rates: FloatArray, *, n_controls: int, prevalence: float,
    mean: float, spread: float, seed: int,
) -> Simulation:  # fmt: skip
    """The visits of a cohort with new conditions; see `visits_with_controls`."""
    if n_controls < 1 or not 0 < prevalence < HIGHEST / 10:
        raise InvalidInputError(
            f"n_controls must be 1 or more and prevalence between 0 and {HIGHEST / 10}, got "
            f"{n_controls} and {prevalence}"
        )
    part, rng = cohort.in_memory("with_controls"), np.random.default_rng([seed, 5])

    def risk(common: float) -> FloatArray:
        w = np.zeros(part.n_cols)
        signs = rng.choice(part.n_cols, max(1, round(SHARE_OF_CODES * part.n_cols)), replace=False)
        w[signs] = rng.normal(1.5, 0.7, len(signs))
        z = part.X.matvec(w)
        b = brentq(lambda b: HIGHEST * expit(b + z).mean() - common, -30.0, 5.0, xtol=1e-4)
        log_alpha = np.append(rng.normal(mean, spread, part.n_groups - 1), 0.0)
        return np.minimum(HIGHEST * expit(b + z) * np.exp(log_alpha)[part.groups], 1.0)

    def happened(p: FloatArray) -> NDArray[np.uint8]:
        return (rng.random(part.n) < p).astype(np.uint8)

    p = risk(prevalence)
    condition = happened(p)
    recorded = condition & happened(np.asarray(diagnosis_rates)[part.groups])
    bits = np.zeros(part.n, dtype=control_dtype(n_controls))
    for number in range(n_controls):
        common = prevalence * 2 ** rng.uniform(1, 3)
        bits |= happened(CONTROL_RATE * risk(common)).astype(bits.dtype) << number
    controlled = Cohort.of(
        X=part.X, diagnosed=recorded, groups=part.groups, group_names=part.group_names,
        feature_names=cohort.feature_names, controls=bits,
        control_names=tuple(f"control {number + 1}" for number in range(n_controls)),
    )  # fmt: skip
    return Simulation(controlled, p, condition, np.asarray(diagnosis_rates))
