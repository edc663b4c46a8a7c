"""What each constant of the inference does: the same cohorts with other values of it.

Every constant is tried where it matters most, at its default and on either side. Worlds are those
of `simulations.scenarios` and `simulations.nonlinear`; cohorts and truths are the same for all
values of a constant, so that differences between rows are not chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from relprev.inference import DebiasedPURPLE, adaptive, missed, moments, nuisance, repeats
from simulations import coverage, learners
from simulations.replicates import Job
from simulations.study import Study

COLUMNS = ["group", "estimate", "ci_low", "ci_high", "std_error"]


@dataclass(frozen=True)
class Constant:
    """A constant, where it lives, the values to try (the second is the default), and a world."""

    name: str
    place: Any
    values: tuple[float, float, float]
    world: str

    @contextmanager
    def at(self, value: float) -> Iterator[None]:
        """The constant with another value."""
        before = getattr(self.place, self.name)
        setattr(self.place, self.name, value)
        try:
            yield
        finally:
            setattr(self.place, self.name, before)


CONSTANTS = {
    one.name: one
    for one in (
        Constant("relaxation", nuisance.RidgePropensity, (1.0, 3.0, 9.0), "many_codes_few_cases"),
        Constant("ENOUGH", nuisance, (100, 500, 2_500), "many_codes"),
        Constant("CLEAR_RISE", nuisance, (0.0, 1e-5, 1e-2), "many_codes"),
        Constant("MOST_INFORMATION", missed, (0.06, 0.25, 1.0), "many_codes_few_cases"),
        Constant("MIN_MIXING", moments, (0.0, 0.05, 0.5), "strong_shift"),
        Constant("ASKING", adaptive, (0.02, 0.2, 1.0), "covariance_mild"),
        Constant("CLEARLY", adaptive, (1.0, 2.0, 4.0), "covariance_mild"),
        Constant("MOST_REPEATS", repeats, (1, 15, 25), "few_cases"),
    )
}
DEGREES = "degrees of freedom"  # judged from the same rows: t quantiles or normal ones
Z = float(stats.norm.ppf(0.975))


def replicate(job: Job) -> list[dict[str, Any]]:
    """Estimates at all values of one constant for one cohort, versus the second group."""
    constant = CONSTANTS[job[0]]
    cohort, _ = coverage.drawn((constant.world, job[1]))
    rows = []
    for value in constant.values:
        with constant.at(value):
            found = DebiasedPURPLE().fit(cohort).relative_prevalence(cohort.group_names[1])
        head = {"scenario": job[0], "replicate": job[1], "value": value, "world": constant.world}
        rows += [head | row for row in found.to_frame()[COLUMNS].to_dict("records")]
    return rows


def true_ratios(folder: Path) -> pd.DataFrame:
    """World, group and true ratio to group b, in both families of worlds."""
    return pd.concat([coverage.true_ratios(folder), learners.true_ratios(folder)])


def summary(table: pd.DataFrame, truths: pd.DataFrame) -> pd.DataFrame:
    """Bias, errors and coverage at every value of every constant, over all contrasts."""
    table = table.rename(columns={"scenario": "constant"}).merge(
        truths.rename(columns={"scenario": "world"}), on=["world", "group"], how="left"
    )
    default = table["value"] == table["constant"].map(lambda name: CONSTANTS[name].values[1])
    few = table[default & (table["world"] == "few_cases")]
    table = pd.concat([table, few.assign(constant=DEGREES), _with_normal(few)])
    withheld = table["estimate"].isna()
    error = np.log(table["estimate"] / table["truth"])
    covered = (table["ci_low"] <= table["truth"]) & (table["truth"] <= table["ci_high"])
    by = table.assign(
        error=error, square=error**2, withheld=withheld,
        covered=covered.where(~withheld).astype(float),
    ).groupby(["constant", "world", "value"], sort=False)  # fmt: skip
    out = by.agg(
        replicates=("replicate", "nunique"), bias=("error", "mean"), square=("square", "mean"),
        mean_std_error=("std_error", "mean"), coverage=("covered", "mean"),
        withheld=("withheld", "mean"),
    ).reset_index()  # fmt: skip
    return out.assign(rmse=np.sqrt(out["square"])).drop(columns="square")


def _with_normal(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows with the normal quantile, as with infinitely many degrees of freedom."""
    half = Z * rows["std_error"]
    return rows.assign(
        constant=DEGREES, value=np.inf, ci_low=rows["estimate"] * np.exp(-half),
        ci_high=rows["estimate"] * np.exp(half),
    )  # fmt: skip


STUDY = Study(
    "constants", "What other values of the inference's constants would do.", 100, replicate,
    scenarios=tuple(CONSTANTS),
    summaries=lambda table, folder: [summary(table, true_ratios(folder))],
)  # fmt: skip
