"""Samples whose designs can be replicated."""

import numpy as np
from scipy.linalg import hadamard

from relprev import as_cohort


def survey(n=1500, strata=6, psus=5, seed=0):
    rng = np.random.default_rng(seed)
    psu = np.repeat(np.arange(strata * psus), n // (strata * psus))
    effect = rng.normal(0, 0.4, strata * psus)[psu]
    g = rng.integers(0, 2, n)
    s = (rng.random(n) < 1 / (1 + np.exp(1 - effect - 0.5 * g))).astype(int)
    return {
        "X": rng.normal(size=(n, 2)), "s": s, "groups": np.array(["a", "b"])[g],
        "sample_weight": rng.uniform(0.5, 2, n), "strata": psu // psus, "psus": psu,
    }  # fmt: skip


def jackknife(data):
    """JK1 weights: each replicate leaves out one PSU and scales up the rest."""
    units = np.unique(data["psus"])
    keep = data["psus"][:, None] != units
    return data["sample_weight"][:, None] * keep * len(units) / (len(units) - 1)


def blocks(n=4000, count=100):
    """Two groups that differ, in many small PSUs, and their JK1 weights."""
    rng = np.random.default_rng(0)
    g, psus = rng.integers(0, 2, n), np.arange(n) % count
    x = (rng.random((n, 12)) < 0.25 + 0.1 * g[:, None]).astype(float)
    s = (rng.random(n) < 0.1 + 0.1 * x[:, :3].sum(1)) & (rng.random(n) < np.where(g, 0.4, 0.7))
    data = {"X": x, "s": s.astype(int), "groups": np.array(["a", "b"])[g], "psus": psus}
    return as_cohort(**data), jackknife(data | {"sample_weight": np.ones(n)})


def halves():
    """Two PSUs a stratum, and weights for balanced repeated replication."""
    cohort, _ = blocks(count=20)
    strata = cohort.psus // 2
    kept = (hadamard(16)[:, strata + 1] > 0) == (cohort.psus % 2 == 0)
    return cohort.with_values(strata=strata), np.where(kept, 2.0, 0.0).T
