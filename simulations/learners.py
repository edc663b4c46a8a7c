"""Where linear models are wrong: linear and adaptive estimates, and the check of the models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.checks import check_models
from relprev.inference import DebiasedPURPLE
from simulations.nonlinear import NONLINEAR
from simulations.replicates import Job, seed_of
from simulations.study import Option, Study, kept_truths

ESTIMATORS = {
    "linear": DebiasedPURPLE(propensity="ridge", risk="purple", n_repeats=1),
    "adaptive": DebiasedPURPLE(),
}
BY = ["scenario", "method", "group"]
COLUMNS = ["group", "estimate", "ci_low", "ci_high", "std_error"]


def replicate(job: Job) -> list[dict[str, Any]]:
    """Results of both estimators for one cohort, versus the second group."""
    cohort = NONLINEAR[job[0]].cohort(seed_of(job))
    rows = []
    for method, estimator in ESTIMATORS.items():
        fitted = estimator.fit(cohort)
        head = {"scenario": job[0], "replicate": job[1], "method": method}
        head |= {"n_diagnosed": int(cohort.diagnosed.sum())}
        head |= {"propensity": fitted.propensity_model_, "risk": fitted.risk_model_}
        check = check_models(fitted, cohort)
        head |= {"p_models": check.p_value, "verdict": str(check.verdict)}
        found = fitted.relative_prevalence(cohort.group_names[1]).to_frame()[COLUMNS]
        rows += [head | row for row in found.to_dict("records")]
    return rows


def true_ratios(folder: Path) -> pd.DataFrame:
    """World, group and true ratio to group b."""
    groups = {name: world.names for name, world in NONLINEAR.items()}
    return kept_truths(folder / "nonlinear_truth.csv", groups, lambda name: NONLINEAR[name].truth())


def summary(table: pd.DataFrame, truths: pd.DataFrame) -> pd.DataFrame:
    """Bias, standard errors and coverage for every world, estimator and contrast."""
    table = table.merge(truths, on=["scenario", "group"], validate="many_to_one")
    table = table.assign(
        covered=(table.ci_low <= table.truth) & (table.truth <= table.ci_high),
        error=np.log(table.estimate / table.truth),
        concern=table.verdict == "concern",
        found=table.p_models < 0.05,
        richer=(table.propensity != "linear") | (table.risk != "linear"),
    )
    by = table.groupby(BY, sort=False)
    out = by.agg(
        replicates=("replicate", "size"), n_diagnosed=("n_diagnosed", "mean"),
        truth=("truth", "first"), coverage=("covered", "mean"), bias=("error", "mean"),
        sd=("error", "std"), mean_std_error=("std_error", "mean"), richer=("richer", "mean"),
        found=("found", "mean"), concern=("concern", "mean"),
    )  # fmt: skip
    out["bias_in_se"] = out.bias / out.mean_std_error
    out["se_over_sd"] = out.mean_std_error / out.sd
    return out.reset_index()


STUDY = Study(
    "nonlinear",
    "Bias and coverage where linear models are wrong, and whether the check of models notices.",
    500, replicate,
    scenarios=lambda given: given["world"],
    summaries=lambda table, folder: [summary(table, true_ratios(folder))],
    options=(Option("world", "Kind of cohort.", default=tuple(NONLINEAR), only=True),),
)  # fmt: skip
