"""Do 95% intervals cover, is the estimate unbiased, does the check hold its size?

The truth is always that of the population, never of the visits that happen to be drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev import Cohort
from relprev.checks import check_constant_ratio
from relprev.cohort.summary import group_totals
from relprev.errors import TooFewCasesError
from relprev.inference import DebiasedPURPLE
from relprev.inference.intervals import infer
from relprev.inference.moments import group_moments
from relprev.inference.score import solve_score
from relprev.simulate import ed_visits
from relprev.simulate.visits import group_prevalences
from simulations.nonlinear import NONLINEAR
from simulations.replicates import Job, seed_of
from simulations.scenarios import SCENARIOS, WORLDS, draw, truth
from simulations.study import Option, Study, kept_truths

BY = ["scenario", "method", "group"]
FIRST_WORLD = 50_000
TRUTH_VISITS = 25_000  # per presentation: ratios right to half a percent, a tenth of an interval
COLUMNS = ["group", "versus", "estimate", "ci_low", "ci_high", "std_error", "effective_cases"]


def replicate(job: Job) -> list[dict[str, Any]]:
    """Doubly robust and case-only results for one cohort, versus the second group."""
    cohort, truths = drawn(job)
    fitted = DebiasedPURPLE().fit(cohort)
    data = fitted.score_data_.without_risk()
    case_only = group_moments(data, solve_score(data), fitted.moments_.names, fitted.design_)
    n, diagnosed, weight, recorded = group_totals(cohort)
    versus = cohort.group_names[1]
    results = {
        "doubly robust": fitted.relative_prevalence(versus),
        "case-only": infer(
            case_only, cohort.group_names, n, diagnosed, np.array([weight, recorded]), versus
        ),
    }
    tests = {f"p_{by}": _p_value(fitted, by) for by in ("trend", "quintiles")}
    rows = []
    for method, result in results.items():
        head = {"scenario": job[0], "replicate": job[1], "method": method}
        head["n_diagnosed"] = int(cohort.diagnosed.sum())
        head |= tests if method == "doubly robust" else {}
        found = result.to_frame()[COLUMNS]
        found["own_truth"] = found["group"].map(truths)
        rows += [head | row for row in found.to_dict("records")]
    return rows


def _p_value(fitted: DebiasedPURPLE, by: str) -> float:
    try:
        return check_constant_ratio(fitted, by).p_value
    except TooFewCasesError:
        return float("nan")


def drawn(job: Job) -> tuple[Cohort, dict[str, float]]:
    """A cohort and its true ratios to the second group, if they are specific to it."""
    name, number = job
    if name in SCENARIOS:
        return draw(SCENARIOS[name], seed_of(job)).cohort, {}
    if name in NONLINEAR:
        return NONLINEAR[name].cohort(seed_of(job)), {}
    setting = WORLDS[name] | {"seed": FIRST_WORLD + number}
    cohort, (means, _) = (
        ed_visits(**setting).cohort, group_prevalences(**setting, truth_visits=TRUTH_VISITS)
    )  # fmt: skip
    return cohort, dict(zip(cohort.group_names, means / means[1], strict=True))


def true_ratios(folder: Path) -> pd.DataFrame:
    """Scenario, group and true ratio to group b."""
    groups = {name: scenario.names for name, scenario in SCENARIOS.items()}
    return kept_truths(folder / "truth.csv", groups, lambda name: truth(SCENARIOS[name]))


def summary(table: pd.DataFrame, truths: pd.DataFrame) -> pd.DataFrame:
    """Coverage, bias and standard errors for every scenario, method and contrast.

    Withheld estimates are counted but not judged.
    """
    table = table.merge(truths, on=["scenario", "group"], how="left", validate="many_to_one")
    table["truth"] = table["truth"].fillna(table["own_truth"])
    withheld = table.estimate.isna().groupby([table[name] for name in BY], sort=False).sum()
    table = table.dropna(subset=["estimate"])
    error = np.log(table.estimate / table.truth)
    table = table.assign(
        covered=(table.ci_low <= table.truth) & (table.truth <= table.ci_high), error=error
    )
    by = table.groupby(BY, sort=False)
    out = by.agg(
        replicates=("replicate", "size"), n_diagnosed=("n_diagnosed", "mean"),
        truth=("truth", "median"), coverage=("covered", "mean"), bias=("error", "mean"),
        sd=("error", "std"), mean_std_error=("std_error", "mean"),
    )  # fmt: skip
    out["withheld"] = withheld
    out["coverage_error"] = np.sqrt(out.coverage * (1 - out.coverage) / out.replicates)
    out["bias_in_sd"] = out.bias / out.sd
    return out.reset_index()


def rejections(table: pd.DataFrame) -> pd.DataFrame:
    """Share of replicates in which the test of a constant ratio rejects at the 5% level."""
    tested = table.dropna(subset=["p_trend"]).drop_duplicates(["scenario", "replicate"])
    by = tested.groupby("scenario", sort=False)
    return pd.DataFrame(
        {
            "replicates": by.size(),
            "n_diagnosed": by["n_diagnosed"].mean(),
            "trend": by["p_trend"].agg(lambda p: np.mean(p < 0.05)),
            "quintiles": by["p_quintiles"].agg(lambda p: np.mean(p < 0.05)),
        }
    ).reset_index()


STUDY = Study(
    "coverage", "Coverage of the intervals, bias of the estimates, size of the test.", 1000,
    replicate,
    scenarios=lambda given: given["scenario"],
    summaries=lambda table, folder: [summary(table, true_ratios(folder)), rejections(table)],
    options=(Option("scenario", "Kind of cohort.", default=(*SCENARIOS, *WORLDS), only=True),),
)  # fmt: skip
