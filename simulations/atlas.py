"""Does an atlas find the conditions that are recorded at different rates, and few others?

In every world 300 conditions on simulated visits, of which 30 are recorded at different rates, 15
by a factor of 1.5 and 15 by 2, up or down. Every condition breaks the assumption of equal risk at
equal symptoms by a factor alpha of its own, log alpha ~ N(0.1, spread^2). All are scanned. What
is found at q <= 0.05 is counted twice: with q-values that take the assumptions for granted, and
with those against the empirical null.

The constants of the null (`relprev.atlas.null`) were chosen on estimates drawn at random,
without visits (as in `simulations.null`); the worlds here had no part in that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relprev import scan_conditions
from relprev.simulate import visits_with_conditions
from simulations.replicates import Job, seed_of
from simulations.study import Study

LEVEL = 0.05
MEAN = 0.1
FACTORS = (1.5, 2.0) * 15
SCENARIOS: dict[str, tuple[float, tuple[float, ...]]] = {
    "spread 0": (0.0, FACTORS), "spread 0.1": (0.1, FACTORS), "spread 0.2": (0.2, FACTORS),
    "spread 0.3": (0.3, FACTORS), "none differs": (0.1, ()),
}  # fmt: skip
KINDS = {"plain": "q_value", "null": "null_q_value"}


def replicate(job: Job) -> list[dict[str, Any]]:
    """What is found in one world, by both kinds of q-values."""
    spread, factors = SCENARIOS[job[0]]
    seed = int(np.random.default_rng(seed_of(job)).integers(2**31))
    world = visits_with_conditions(factors=factors, mean=MEAN, spread=spread, seed=seed)
    atlas = scan_conditions(world.cohort, conditions=["CONDITION*"], versus="Group B")
    table = atlas.table.set_index("condition")
    truth = pd.Series(world.log_diagnosis_ratio[:, 0], world.names).reindex(table.index)
    alpha = pd.Series(world.log_alpha[:, 0], world.names).reindex(table.index)
    factor = np.exp(np.abs(truth)).round(3)
    answer = table["diagnosis_ratio"].notna()
    row: dict[str, Any] = {
        "scenario": job[0], "replicate": job[1], "conditions": int(answer.sum()),
        "effective_cases": float(table["effective_cases"].median()),
        "centre": float(atlas.nulls["centre"].iloc[0]),
        "spread": float(atlas.nulls["spread"].iloc[0]),
    }  # fmt: skip
    inside = np.log(table[["diagnosis_ci_low", "diagnosis_ci_high"]])[answer]
    expected = (truth + alpha)[answer]
    row["covered"] = float(
        ((inside.iloc[:, 0] <= expected) & (expected <= inside.iloc[:, 1])).mean()
    )
    for kind, column in KINDS.items():
        found = table[column] <= LEVEL
        row |= {
            f"{kind}_found": int(found.sum()), f"{kind}_false": int((found & (truth == 0)).sum()),
            **{f"{kind}_power_{size:g}": float(found[factor == size].mean()) for size in (1.5, 2)},
        }  # fmt: skip
    return [row]


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """False discovery rate and power of both kinds, by scenario."""
    for kind in KINDS:
        share = table[f"{kind}_false"] / table[f"{kind}_found"].clip(lower=1)
        table = table.assign(**{f"{kind}_fdr": share})
    by = table.groupby("scenario", sort=False)
    named = {
        f"{kind}_{what}": (f"{kind}_{what}", "mean")
        for kind in KINDS for what in ("found", "fdr", "power_1.5", "power_2")
    }  # fmt: skip
    return by.agg(
        worlds=("replicate", "size"), null_fdr_se=("null_fdr", "sem"), covered=("covered", "mean"),
        centre=("centre", "mean"), spread=("spread", "mean"),
        effective_cases=("effective_cases", "median"),
        null_false=("null_false", "sum"), null_found_in_all=("null_found", "sum"), **named,
    ).reset_index()  # fmt: skip


STUDY = Study(
    "atlas", "False discoveries and power of an atlas of 300 conditions.", 40, replicate,
    scenarios=tuple(SCENARIOS), summaries=lambda table, folder: [summary(table)],
)  # fmt: skip
