"""Visits with hundreds of conditions, some of which are recorded at different rates.

Every condition k has weights w_k of its own on the same codes. At equal codes x it is recorded
with probability

    p_k(s=1|x,g) = a_kg c_kg r sigma(b_k + w_k.x),    log a_kg ~ N(mean, spread^2),

a and c/c_last are 1 in the last group; r = 0.3 leaves room for them. The method takes a = 1
for granted. Of most conditions c does not depend on the group either; of some of them it
differs by a given factor, up or down. Recorded conditions are features, in blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from relprev.arrays import FloatArray
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.matrix import BinaryCSR
from relprev.simulate.visits import ed_visits

HIGHEST = 0.3  # r
SHARE_OF_CODES = 0.1  # that point to a condition
PREVALENCES = (0.004, 0.06)  # of what is recorded, log-uniform between
RATES = {"Group A": 0.5, "Group B": 0.5}
STEPS, ROWS = 40, 5_000  # of a bisection


@dataclass(frozen=True, eq=False)
class ManyConditions:
    """A cohort of many conditions and the truth about each.

    Parameters
    ----------
    cohort : Cohort
        Codes, then conditions, as features; diagnoses mean nothing.
    names : tuple of str
        The conditions' features.
    log_diagnosis_ratio : array of shape (conditions, groups - 1)
        Log ratio of diagnosis rates, every group versus the last.
    log_alpha : array of shape (conditions, groups - 1)
        By how much the assumption is broken.

    Notes
    -----
    Formula: :mod:`relprev.simulate.conditions`.

    Examples
    --------
    >>> world = visits_with_conditions(2_000, n_conditions=20, n_codes=50, factors=[2.0], seed=1)
    >>> len(world.names), world.log_alpha.shape, int((world.log_diagnosis_ratio != 0).sum())
    (20, (20, 1), 1)
    """

    cohort: Cohort
    names: tuple[str, ...]
    log_diagnosis_ratio: FloatArray
    log_alpha: FloatArray


def visits_with_conditions(
    n_visits: int = 30_000,
    *,
    n_conditions: int = 300,
    n_codes: int = 150,
    n_blocks: int = 10,
    factors: Sequence[float] = (),
    mean: float = 0.0,
    spread: float = 0.0,
    seed: int = 0,
) -> ManyConditions:
    """Simulate visits with many conditions.

    Parameters
    ----------
    n_visits, n_conditions, n_codes, n_blocks : int
    factors : sequence of float
        By how much diagnosis rates of the first conditions differ between the groups, each up or
        down at random; the others do not differ.
    mean, spread : float
        Of log alpha, by which all conditions break the assumption of equal risk at equal codes.
    seed : int

    Returns
    -------
    ManyConditions
        Cohort and truth.

    Notes
    -----
    Formula: :mod:`relprev.simulate.conditions`.

    Examples
    --------
    >>> visits_with_conditions(2_000, n_conditions=20, n_codes=50).names[:2]
    ('CONDITION1:1', 'CONDITION2:2')
    """
    if not 0 < n_blocks <= n_conditions or len(factors) > n_conditions:
        raise InvalidInputError(
            f"n_conditions must be at least n_blocks ({n_blocks}) and as many as there are factors "
            f"({len(factors)}), got {n_conditions}"
        )
    visits = ed_visits(n_visits, n_codes=n_codes, diagnosis_rates=RATES, visits_per_patient=1.0,
                       seed=seed).cohort  # fmt: skip
    part, rng = visits.in_memory("visits_with_conditions"), np.random.default_rng([seed, 6])
    W = np.zeros((n_codes, n_conditions))
    signs = max(1, round(SHARE_OF_CODES * n_codes))
    for k in range(n_conditions):
        W[rng.choice(n_codes, signs, replace=False), k] = rng.normal(1.5, 0.7, signs)
    X = sparse.csr_array(part.X.to_scipy())
    lowest, highest = np.log(PREVALENCES)
    common = np.exp(rng.uniform(lowest, highest, n_conditions))
    log_alpha = rng.normal(mean, spread, (n_conditions, part.n_groups - 1))
    effect = np.zeros((n_conditions, part.n_groups - 1))
    up = rng.choice([-1.0, 1.0], (len(factors), part.n_groups - 1))
    effect[: len(factors)] = up * np.log(np.asarray(factors, dtype=float))[:, None]
    factor = np.exp(np.column_stack([log_alpha + effect, np.zeros(n_conditions)]))
    recorded = [
        np.flatnonzero(rng.random(part.n) < _risk(X @ W[:, k], common[k]) * factor[k][part.groups])
        for k in range(n_conditions)
    ]
    names = tuple(f"CONDITION{k % n_blocks + 1}:{k + 1}" for k in range(n_conditions))
    lengths = np.cumsum([0, *map(len, recorded)])
    shape = (part.n, n_conditions)
    added = sparse.csc_array((np.ones(lengths[-1]), np.concatenate(recorded), lengths), shape=shape)
    both = sparse.hstack([X, added]).tocsr()
    both.sort_indices()
    cohort = Cohort.of(
        X=BinaryCSR(both.indptr, both.indices, both.shape[1]), diagnosed=part.diagnosed,
        groups=part.groups, group_names=part.group_names,
        feature_names=(*(visits.feature_names or ()), *names),
    )  # fmt: skip
    return ManyConditions(cohort, names, effect, log_alpha)


def _risk(z: FloatArray, common: float) -> FloatArray:
    """r sigma(b + z) with the b at which its mean, over some rows, is ``common``, by bisection."""
    low, high = -30.0, 5.0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = HIGHEST * expit(middle + z[:ROWS]).mean() > common
        low, high = (low, middle) if above else (middle, high)
    risk: FloatArray = HIGHEST * expit(low + z)
    return risk
