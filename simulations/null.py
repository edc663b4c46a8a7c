"""Is the empirical null of an atlas right? Estimates drawn at random, without visits.

In every world 300 estimates x_k ~ N(0.1 + effect_k, spread^2 + s_k^2), with standard errors s_k as
those of conditions with 20 to 600 effective cases, of which some have an effect of log 1.5 or
log 2, up or down. The null is estimated in three ways: with the share of conditions that lie far
out estimated (`relprev.atlas.null`), and with that share fixed at zero and at one in twenty.

The constants of the null were chosen on earlier draws of such worlds, with other seeds; those here
had no part in that.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from scipy import stats

from relprev.arrays import FloatArray
from relprev.atlas import null as null_
from simulations.replicates import Job, seed_of
from simulations.study import Study

LEVEL = 0.05
CONDITIONS, MEAN = 300, 0.1
CASES = (20.0, 90.0, 600.0)  # effective: least, median, most
WORLDS = {  # spread, conditions that differ
    "none differs, spread 0": (0.0, 0), "none differs, spread 0.1": (0.1, 0),
    "none differs, spread 0.3": (0.3, 0), "30 differ, spread 0": (0.0, 30),
    "30 differ, spread 0.1": (0.1, 30), "30 differ, spread 0.2": (0.2, 30),
    "30 differ, spread 0.3": (0.3, 30), "60 differ, spread 0.1": (0.1, 60),
}  # fmt: skip
SHARES = {"estimated": None, "zero": 0.0, "one in twenty": 0.05}


def replicate(job: Job) -> list[dict[str, Any]]:
    """Spread, false discoveries and power in one world, for every way to have the share."""
    spread, differ = WORLDS[job[0]]
    rng = np.random.default_rng(seed_of(job))
    least, median, most = CASES
    cases = np.clip(np.exp(rng.normal(np.log(median), 0.75, CONDITIONS)), least, most)
    effect = np.zeros(CONDITIONS)
    factors = np.resize([1.5, 2.0], differ)
    effect[:differ] = np.log(factors) * rng.choice([-1, 1], differ)
    s = 1 / np.sqrt(cases)
    x = rng.normal(MEAN, np.hypot(spread, s)) + effect
    rows = []
    for share, fixed in SHARES.items():
        estimated, found = _found(x, s, cases, fixed)
        rows.append({
            "scenario": job[0], "replicate": job[1], "share": share, "spread": estimated,
            "found": int(found.sum()), "false": int((found & (effect == 0)).sum()),
            "power": float(found[effect != 0].mean()) if differ else np.nan,
        })  # fmt: skip
    return rows


def _found(
    x: FloatArray, s: FloatArray, cases: FloatArray, fixed: float | None
) -> tuple[float, np.ndarray]:
    """The null's spread, and which conditions stand out from it."""
    if fixed is None:
        null = null_.empirical_null(x, s)
    else:  # the share never rises, and the spread is that of the fixed one
        own = null_._spread
        with (
            mock.patch.object(null_, "MOST", 0.0),
            mock.patch.object(null_, "_spread", lambda x, s, _: own(x, s, fixed)),
        ):
            null = null_.empirical_null(x, s)
    assert null is not None
    p = null.p_value(x - null.mean, s**2, cases)
    return null.spread, stats.false_discovery_control(p) <= LEVEL


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Mean spread, false discovery rate and power, by world and share."""
    rate = table["false"] / table["found"].clip(lower=1)
    by = table.assign(fdr=rate).groupby(["scenario", "share"], sort=False)
    return by.agg(
        worlds=("replicate", "size"), spread=("spread", "mean"), fdr=("fdr", "mean"),
        fdr_se=("fdr", "sem"), power=("power", "mean"),
    ).reset_index()  # fmt: skip


STUDY = Study(
    "null", "Is the empirical null of an atlas right? Estimates drawn at random (a minute).", 300,
    replicate, scenarios=tuple(WORLDS), summaries=lambda table, folder: [summary(table)],
)  # fmt: skip
