"""Are estimates withheld where symptoms say nothing, and only there?

*Noise* is a world of 30 random codes, a true ratio of 2 and equal diagnosis rates. The others are
those of the coverage page, where symptoms predict the condition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relprev import Cohort, as_cohort
from relprev.checks import check_informativeness
from relprev.inference import DebiasedPURPLE
from simulations.replicates import Job, seed_of
from simulations.scenarios import SCENARIOS, draw
from simulations.study import Option, Study

NOISE = "noise"
INFORMED = ("two_groups", "four_groups", "repeat_patients", "survey", "few_cases",
            "interactions", "strong_shift")  # fmt: skip
KINDS = (NOISE, *INFORMED)
N_VISITS, N_CODES = 20_000, 30


def replicate(job: Job) -> list[dict[str, Any]]:
    """The within-group AUC of one cohort with its interval, and whether estimates are withheld."""
    name, number = job
    cohort = noise(seed_of(job)) if name == NOISE else draw(SCENARIOS[name], seed_of(job)).cohort
    fitted = DebiasedPURPLE().fit(cohort)
    found = check_informativeness(fitted)
    row = fitted.relative_prevalence(cohort.group_names[1]).rows[0]
    low, high = found.interval
    return [{
        "scenario": name, "replicate": number, "n_diagnosed": int(cohort.diagnosed.sum()),
        "auc": found.statistic, "ci_low": low, "ci_high": high, "lift": found.table["lift"][0],
        "verdict": str(found.verdict), "withheld": int(found.withhold is not None),
        "recorded": row["observed_ratio"], "estimate": row["estimate"],
    }]  # fmt: skip


def noise(seed: Any) -> Cohort:
    """Random codes, a condition that is twice as common in a, half of all cases diagnosed."""
    rng = np.random.default_rng(seed)
    in_a = rng.integers(0, 2, N_VISITS)
    y = rng.random(N_VISITS) < np.where(in_a == 1, 0.10, 0.05)
    s = y & (rng.random(N_VISITS) < 0.5)
    codes = (rng.random((N_VISITS, N_CODES)) < 0.1).astype(float)
    return as_cohort(codes, s.astype(int), groups=np.array(["b", "a"])[in_a])


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Shares of replicates by verdict, and of those withheld, for every scenario."""
    by = table.groupby("scenario", sort=False)
    out = by.agg(
        replicates=("replicate", "size"), n_diagnosed=("n_diagnosed", "mean"),
        auc=("auc", "mean"), lift=("lift", "mean"), recorded=("recorded", "median"),
        estimate=("estimate", "median"), withheld=("withheld", "mean"),
    )  # fmt: skip
    for verdict in ("no concern", "cannot tell"):
        out[verdict] = by["verdict"].agg(lambda found, v=verdict: float(np.mean(found == v)))
    return out.reset_index()


STUDY = Study(
    "informed", "How often estimates are withheld because symptoms say nothing.", 100, replicate,
    scenarios=lambda given: given["scenario"], summaries=lambda table, folder: [summary(table)],
    options=(Option("scenario", "Kind of cohort.", default=KINDS, only=True),),
)  # fmt: skip
