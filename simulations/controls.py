"""Do calibrated intervals hold the truth where conditions break the assumption at random?

A population of visits; in every replicate new conditions on its codes, the condition of interest
and 40 controls, whose risks at equal codes differ between the groups by alpha, log alpha ~
N(0.1, spread^2); and a sample of the visits. The truth is the population's. The first 10, 20 and
all 40 controls calibrate.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from relprev import DebiasedPURPLE, calibrate
from relprev.controls import Calibration
from relprev.simulate import Simulation, ed_visits
from relprev.simulate.controls import RATES, with_controls
from simulations.replicates import Job, seed_of
from simulations.study import Study

SPREADS = {"spread 0": 0.0, "spread 0.1": 0.1, "spread 0.3": 0.3}
MEAN = 0.1
COUNTS = (10, 20, 40)
VISITS, POPULATION = 20_000, 300_000
BY = ["scenario", "n_controls"]


@cache
def _population() -> Simulation:
    return ed_visits(
        POPULATION, n_codes=100, diagnosis_rates=RATES, visits_per_patient=1.0, seed=900
    )


def replicate(job: Job) -> list[dict[str, Any]]:
    """Uncalibrated and calibrated intervals of one world."""
    visits, rng = _population(), np.random.default_rng(seed_of(job))
    world = with_controls(
        visits.cohort, visits.diagnosis_rates, n_controls=max(COUNTS), prevalence=0.015,
        mean=MEAN, spread=SPREADS[job[0]], seed=int(rng.integers(2**31)),
    )  # fmt: skip
    first, second = world.cohort.group_names
    truth = world.relative_prevalence(second).to_frame()["estimate"].iloc[0]
    sample = world.cohort.take(np.sort(rng.choice(POPULATION, VISITS, replace=False)))
    fitted = DebiasedPURPLE().fit(sample)
    found = calibrate(fitted, sample, versus=second)
    rows = []
    for count in COUNTS:
        names = sample.control_names[:count]
        some = Calibration(found.estimates, found.controls[found.controls["control"].isin(names)])
        row = some.to_frame().set_index("group").loc[first].drop("versus").to_dict()
        head = {"scenario": job[0], "replicate": job[1], "truth": truth}
        rows.append(head | row | {"n_diagnosed": int(sample.diagnosed.sum())})
    return rows


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Coverage and length of both intervals, by spread and number of controls."""
    log = np.log(table[["ci_low", "ci_high", "calibrated_ci_low", "calibrated_ci_high", "truth"]])
    low, high, calibrated_low, calibrated_high, truth = (log[name] for name in log)
    table = table.assign(
        coverage=(low <= truth) & (truth <= high),
        coverage_calibrated=(calibrated_low <= truth) & (truth <= calibrated_high),
        longer=(calibrated_high - calibrated_low) / (high - low),
        leave_one_out=table["held_calibrated"] / table["n_controls"],
        own=table["held"] / table["n_controls"],
        error=np.log(table["calibrated"]) - truth,
    )
    by = table.groupby(BY, sort=False)
    return by.agg(
        replicates=("truth", "size"), coverage=("coverage", "mean"),
        coverage_calibrated=("coverage_calibrated", "mean"), longer=("longer", "mean"),
        own=("own", "mean"), leave_one_out=("leave_one_out", "mean"), bias=("error", "mean"),
        not_calibrated=("calibrated", lambda values: values.isna().sum()),
    ).reset_index()  # fmt: skip


STUDY = Study(
    "controls", "Coverage of intervals calibrated by control conditions.", 200, replicate,
    scenarios=tuple(SPREADS), summaries=lambda table, folder: [summary(table)],
)  # fmt: skip
