"""How often do the checks raise a concern, depending on how the diagnosis rate drifts with risk?

`check_constant_ratio` is compared with the paper's two checks, which fit ten more models and are
therefore run only on the first replicates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relprev.checks import check_calibration, check_constant_ratio, check_unconstrained
from relprev.inference import DebiasedPURPLE
from simulations.replicates import Job, seed_of
from simulations.scenarios import DRIFTS, draw

CHECKS = ("trend", "quintiles", "unconstrained", "calibration")


def replicate(job: Job, paper_checks: int) -> list[dict[str, Any]]:
    """For each check, whether it raised a concern (at level 95%) about one cohort."""
    scenario = DRIFTS[job[0]]
    cohort = draw(scenario, seed_of(job)).cohort
    fitted = DebiasedPURPLE().fit(cohort)
    found = {by: check_constant_ratio(fitted, by).verdict for by in ("trend", "quintiles")}
    if job[1] < paper_checks:
        found["unconstrained"] = check_unconstrained(cohort).verdict
        found["calibration"] = check_calibration(cohort).verdict
    row: dict[str, Any] = {"scenario": job[0], "replicate": job[1]}
    row |= {"drift": float(np.exp(scenario.drift)), "n_diagnosed": int(cohort.diagnosed.sum())}
    return [row | {check: float(verdict == "concern") for check, verdict in found.items()}]


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Share of replicates with a concern for every drift and check, and number of replicates."""
    by = table.reindex(columns=[*table.columns, *set(CHECKS) - set(table.columns)]).groupby(
        ["scenario", "drift"], sort=False
    )
    out = by.agg(n_diagnosed=("n_diagnosed", "mean"), **{c: (c, "mean") for c in CHECKS})
    counts = by[list(CHECKS)].count().add_prefix("replicates_")
    return pd.concat([out, counts], axis=1).reset_index().sort_values(["drift", "scenario"])
