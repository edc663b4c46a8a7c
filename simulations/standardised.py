"""Coverage of intervals of the standardised relative prevalence.

Two groups differ in age, symptoms become commoner with age, and group a has more symptoms than b at
the same age. The truth is that of the population: mean p(y|x) by group and stratum, from many
draws, weighted by the standard.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev import DebiasedPURPLE
from relprev.cohort import Cohort, as_cohort
from relprev.inference import standardise
from simulations.replicates import Job
from simulations.study import Study

STRATA = np.array(["young", "middle", "old"])
SHARES = {"a": (0.55, 0.3, 0.15), "b": (0.25, 0.35, 0.4)}  # of the strata in each group
STANDARDS: dict[str, Any] = {"pooled": "pooled", "given": {"young": 0.4, "middle": 0.4, "old": 0.2}}
SCENARIO = "two_groups"
SHARE_A, RATES, N_FEATURES, VISITS = 0.4, (0.3, 0.6), 12, 8000
TRUTH_VISITS = 4_000_000


@dataclass(frozen=True)
class Drawn:
    """A cohort, the stratum of each of its rows, and p(y|x)."""

    cohort: Cohort
    strata: NDArray[Any]
    risk: NDArray[np.float64]


def draw(seed: int, n: int = VISITS) -> Drawn:
    """A cohort of n visits."""
    rng = np.random.default_rng([seed, 22])
    g, k, X, risk = _people(rng, n)
    y = rng.random(n) < risk
    s = y & (rng.random(n) < np.array(RATES)[g])
    cohort = as_cohort(X, s.astype(int), groups=np.array(["a", "b"])[g])
    return Drawn(cohort, STRATA[k], risk)


def _people(rng: np.random.Generator, n: int) -> tuple[NDArray[Any], ...]:
    """Group, stratum, symptoms and p(y|x)."""
    g = (rng.random(n) >= SHARE_A).astype(int)
    edges = np.cumsum(np.array([SHARES["a"], SHARES["b"]]), axis=1)[g]
    k = np.minimum((rng.random(n)[:, None] > edges).sum(axis=1), 2)
    often = 0.08 + 0.08 * k + 0.05 * (g == 0)
    X = (rng.random((n, N_FEATURES)) < often[:, None]).astype(float)
    weight = np.where(np.arange(N_FEATURES) < 4, 1.3, 0.0)
    return g, k, X, 1 / (1 + np.exp(3.0 - X @ weight))


@cache
def truth(standard: str) -> float:
    """The standardised relative prevalence of a versus b."""
    g, k, _, risk = _people(np.random.default_rng(99), TRUTH_VISITS)
    given = STANDARDS[standard]
    if isinstance(given, str):
        w = np.bincount(k, minlength=3) / len(k)
    else:
        w = np.array([given[name] for name in STRATA])
    a, b = (sum(w[j] * risk[(g == h) & (k == j)].mean() for j in range(3)) for h in (0, 1))
    return float(a / b)


def replicate(job: Job) -> list[dict[str, Any]]:
    """Estimates of one cohort by every standard."""
    drawn = draw(job[1])
    fitted = DebiasedPURPLE().fit(drawn.cohort)
    kept = ("estimate", "ci_low", "ci_high", "std_error", "unadjusted", "observed_ratio")
    rows = []
    for name, standard in STANDARDS.items():
        row = standardise(fitted, drawn.strata, "b", standard=standard).iloc[0]
        head = {"scenario": job[0], "replicate": job[1], "standard": name}
        rows.append(head | {key: row[key] for key in kept})
    return rows


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Coverage and bias by standard."""
    rows = []
    for standard, part in table.groupby("standard"):
        true = truth(str(standard))
        error = np.log(part["estimate"] / true)
        rows.append({
            "standard": standard, "replicates": len(part), "truth": true,
            "unadjusted": part["unadjusted"].median(), "recorded": part["observed_ratio"].median(),
            "bias": error.mean(), "sd": error.std(), "mean_std_error": part["std_error"].mean(),
            "coverage": part["ci_low"].le(true).mul(part["ci_high"].ge(true)).mean(),
        })  # fmt: skip
    return pd.DataFrame(rows)


HEAD = ["standard", "cohorts", "true ratio", "unadjusted", "recorded", "covered",
        "mean standard error", "SD of estimates", "bias of log ratio"]  # fmt: skip
WORDS = {"pooled": "all visits", "given": "given: young .4, middle .4, old .2"}


def body(table: pd.DataFrame) -> list[list[str]]:
    """The rows of the page's table, under `HEAD`."""
    return [
        [
            WORDS[row["standard"]], f"{row['replicates']:,}", f"{row['truth']:.2f}",
            f"{row['unadjusted']:.2f}", f"{row['recorded']:.2f}",
            f"{row['coverage']:.1%} ± "
            f"{np.sqrt(row['coverage'] * (1 - row['coverage']) / row['replicates']):.1%}",
            f"{row['mean_std_error']:.4f}", f"{row['sd']:.4f}",
            f"{row['bias']:+.4f} ± {row['sd'] / np.sqrt(row['replicates']):.4f}",
        ]
        for row in summary(table).to_dict("records")
    ]  # fmt: skip


STUDY = Study(
    "standardised", "Coverage of intervals of the standardised relative prevalence.", 500,
    replicate, scenarios=(SCENARIO,), summaries=lambda table, folder: [summary(table)],
)  # fmt: skip
