"""Bias on code vectors of real (NHDS 2010) or artificial visits with a simulated condition.

The data are those of `relprev.experiments.semisynthetic`; the truth is the ratio of the
groups' mean p(y=1|x). DebiasedPURPLE and PURPLE use all visits in every draw.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev import PURPLE
from relprev.experiments.semisynthetic import SETTINGS, simulate
from relprev.inference import DebiasedPURPLE
from simulations.replicates import Job
from simulations.study import Option, Study

RATES_B = (0.1, 0.5, 0.9)


def scenarios(nhds: Path | None) -> list[str]:
    """All settings and diagnosis rates of group b, on each kind of data."""
    kinds = ["artificial"] if nhds is None else ["nhds-2010", "artificial"]
    return [f"{kind}/{name}/{rate}" for kind in kinds for name in SETTINGS for rate in RATES_B]


def replicate(job: Job, nhds: Path | None) -> list[dict[str, Any]]:
    """Truth and both methods' estimates on one draw of y and s."""
    kind, setting, rate = job[0].split("/")
    data = f"nhds:{nhds}" if kind == "nhds-2010" else "simulated"
    settings = {"setting": setting, "rate_b": float(rate), "variant": "paper", "data": data}
    drawn = simulate(settings, job[1])
    truth = drawn.relative_prevalence("b").to_frame()["estimate"].iloc[0]
    row: dict[str, Any] = {
        "scenario": job[0], "replicate": job[1], "visits": drawn.cohort.n,
        "n_diagnosed": int(drawn.cohort.diagnosed.sum()), "truth": truth,
    }  # fmt: skip
    for name, estimator in (("debiased", DebiasedPURPLE()), ("purple", PURPLE())):
        table = estimator.set_params(random_state=job[1]).fit(drawn.cohort)
        found = table.relative_prevalence("b").to_frame().iloc[0]
        row |= {name: found["estimate"], "recorded": found["observed_ratio"]}
        row |= {"std_error": found["std_error"]} if "std_error" in found else {}
    return [row]


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Mean and SD of estimate / truth in every cell, and whether the mean is close enough to 1."""
    over = table.assign(
        debiased=table.debiased / table.truth, purple=table.purple / table.truth,
        recorded=table.recorded / table.truth,
    )  # fmt: skip
    by = over.groupby("scenario", sort=False)
    out = by.agg(
        draws=("replicate", "size"), n_diagnosed=("n_diagnosed", "mean"), truth=("truth", "mean"),
        recorded=("recorded", "mean"), purple=("purple", "mean"), purple_sd=("purple", "std"),
        debiased=("debiased", "mean"), debiased_sd=("debiased", "std"),
        std_error=("std_error", "mean"),
    )  # fmt: skip
    allowed = np.where(out.n_diagnosed < 3000, 0.03, 0.02)
    out["within"] = np.abs(out.debiased - 1) <= allowed
    return out.reset_index()


STUDY = Study(
    "bias", "Bias on code vectors with a simulated condition, compared with PURPLE's.", 20,
    replicate, scenarios=lambda given: scenarios(given["nhds"]),
    summaries=lambda table, folder: [summary(table)],
    options=(
        Option("nhds", "Folder of NHDS 2010; without it, artificial codes only.", Path,
               passed=True),
    ),
)  # fmt: skip
