"""How often do the checks notice something, depending on how the diagnosis rate drifts with risk?

`check_constant_ratio` is compared with the paper's calibration check, which fits five more models
and is therefore run only on the first replicates. What counts is the test at the 5% level; for
verdicts, which also depend on the margin, see `simulations.verdicts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relprev.checks import check_calibration, check_constant_ratio
from relprev.inference import DebiasedPURPLE
from simulations.replicates import Job, seed_of
from simulations.scenarios import DRIFTS, draw
from simulations.study import Option, Study

CHECKS = ("trend", "quintiles", "calibration")


def replicate(job: Job, paper_checks: int) -> list[dict[str, Any]]:
    """For each check, whether its test rejects (at the 5% level) for one cohort."""
    scenario = DRIFTS[job[0]]
    cohort = draw(scenario, seed_of(job)).cohort
    fitted = DebiasedPURPLE().fit(cohort)
    found = {by: check_constant_ratio(fitted, by).p_value for by in ("trend", "quintiles")}
    if job[1] < paper_checks:
        found["calibration"] = check_calibration(cohort).p_value
    row: dict[str, Any] = {"scenario": job[0], "replicate": job[1]}
    row |= {"drift": float(np.exp(scenario.drift)), "n_diagnosed": int(cohort.diagnosed.sum())}
    return [row | {check: float(p < 0.05) for check, p in found.items()}]


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Share of replicates that a test rejects for every drift and check, and their number."""
    by = table.reindex(columns=[*table.columns, *set(CHECKS) - set(table.columns)]).groupby(
        ["scenario", "drift"], sort=False
    )
    out = by.agg(n_diagnosed=("n_diagnosed", "mean"), **{c: (c, "mean") for c in CHECKS})
    counts = by[list(CHECKS)].count().add_prefix("replicates_")
    return pd.concat([out, counts], axis=1).reset_index().sort_values(["drift", "scenario"])


STUDY = Study(
    "power", "Size and power of the checks against a diagnosis rate that drifts with risk.", 1000,
    replicate, scenarios=tuple(DRIFTS), summaries=lambda table, folder: [summary(table)],
    options=(
        Option("paper_checks", "Replicates for the paper's check.", int, default=100, passed=True),
    ),
)  # fmt: skip
