"""How much the estimate depends on the deal of folds: the same cohort, folds dealt anew.

Of every cohort, the standard deviation over deals of a log ratio is divided by its standard error.
By default folds are dealt several times where cases are few (`relprev.inference.repeats`); one deal
is shown beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relprev.inference import DebiasedPURPLE
from simulations.coverage import drawn
from simulations.replicates import Job
from simulations.study import Study

SEEDS = 5
KINDS = ("few_cases", "two_groups", "many_codes_few_cases", "presentations_few_cases")
HELD_BACK = ("many_numbers", "covariance")  # the number of deals was chosen with the others
RULES = {"default": None, "one deal": 1}


def replicate(job: Job) -> list[dict[str, Any]]:
    """Every contrast of one cohort, with as many seeds of the folds."""
    cohort, _ = drawn(job)
    rows = []
    for rule, n_repeats in RULES.items():
        for seed in range(SEEDS):
            fitted = DebiasedPURPLE(n_repeats=n_repeats, random_state=100 * seed).fit(cohort)
            found = fitted.relative_prevalence(cohort.group_names[1]).to_frame()
            head = {"scenario": job[0], "replicate": job[1], "rule": rule, "seed": seed}
            head |= {"deals": fitted.n_repeats_, "n_diagnosed": int(cohort.diagnosed.sum())}
            kept = found[["group", "estimate", "std_error"]].to_dict("records")
            rows += [head | row for row in kept]
    return rows


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Root mean square and largest spread over deals, in standard errors, by kind and rule."""
    each = (
        table.assign(log_ratio=np.log(table.estimate))
        .groupby(["scenario", "rule", "replicate", "group"], sort=False)
        .agg(
            spread=("log_ratio", "std"), error=("std_error", "mean"),
            error_spread=("std_error", "std"), deals=("deals", "mean"),
            n_diagnosed=("n_diagnosed", "mean"),
        )
        .reset_index()
    )  # fmt: skip
    each["in_errors"] = each.spread / each.error
    each["of_errors"] = each.error_spread / each.error
    by = each.groupby(["scenario", "rule"], sort=False)
    return by.agg(
        cohorts=("replicate", "nunique"), n_diagnosed=("n_diagnosed", "mean"),
        deals=("deals", "mean"), spread=("in_errors", lambda own: np.sqrt((own**2).mean())),
        largest=("in_errors", "max"), error_spread=("of_errors", "mean"),
    ).reset_index()  # fmt: skip


STUDY = Study(
    "deals", "How much estimates depend on the deal of folds.", 20, replicate,
    scenarios=KINDS + HELD_BACK, summaries=lambda table, folder: [summary(table)],
)  # fmt: skip
