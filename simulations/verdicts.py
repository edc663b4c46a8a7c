"""How often does each check say concern, no concern or cannot tell?

Two groups, 200, 2,000 or 20,000 diagnosed, and one violation at a time, by a factor of 1 (none),
1.5 or 2: the first group's diagnosis rate rises by that factor with risk (*drift*, which constant
ratio and calibration look for), or a symptom carried by half of the patients means that much
more in the first group (*meaning*, which the unconstrained model looks for, and a
violation that no drift with risk reveals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import expit

from relprev import PURPLE, Cohort, as_cohort
from relprev.checks.inputs import CheckInputs
from relprev.checks.registry import CHECKS
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from simulations.replicates import Job, seed_of
from simulations.scenarios import STEADY, draw
from simulations.study import Option, Study

CASES = (200, 2_000, 20_000)
FACTORS = (1.0, 1.5, 2.0)
KINDS = tuple(  # these worlds have no control conditions
    kind for kind, check in CHECKS.items() if check.assumption and kind != "controls"
)
STATES = ("concern", "no concern", "cannot tell")
LIGHT = 10  # visits for one diagnosed, about


def scenarios(cases: Sequence[int]) -> list[str]:
    """All violations, by numbers of cases."""
    return [
        f"{violation}/{factor:g}/{n}"
        for n in cases
        for violation in ("drift", "meaning")
        for factor in FACTORS
        if not (violation == "meaning" and factor == 1)  # no violation is the same in both
    ]


def replicate(job: Job) -> list[dict[str, Any]]:
    """The verdict of each check on one cohort."""
    violation, factor, cases = job[0].split("/")
    make = _drifting if violation == "drift" else _meaning
    cohort = make(float(factor), int(cases) * LIGHT, seed_of(job))
    inputs = CheckInputs(
        cohort, lambda: PURPLE().fit(cohort), lambda: DebiasedPURPLE().fit(cohort),
        versus="b", reference="b",
    )  # fmt: skip
    row: dict[str, Any] = {"scenario": job[0], "replicate": job[1]}
    row["n_diagnosed"] = int(cohort.diagnosed.sum())
    for kind in KINDS:
        try:
            row[kind] = str(CHECKS[kind].results(inputs)[0].verdict)
        except InvalidInputError:  # too few cases to make the check
            row[kind] = "cannot tell"
    return [row]


def _drifting(factor: float, visits: int, seed: np.random.SeedSequence) -> Cohort:
    return draw(replace(STEADY, n=visits, drift=float(np.log(factor))), seed).cohort


def _meaning(factor: float, visits: int, seed: np.random.SeedSequence) -> Cohort:
    """Ten symptoms; the first raises the risk in a by the factor, and lowers it elsewhere."""
    rng = np.random.default_rng(seed)
    in_a = rng.random(visits) < 0.4
    frequency = np.linspace(0.1, 0.4, 10) * np.where(in_a, 1.2, 1.0)[:, None]
    frequency[:, 0] = 0.5
    x = rng.random((visits, 10)) < frequency
    z = -2.3 + x @ np.linspace(0.2, 1.0, 10)
    more = np.log(factor) * np.where(in_a, x[:, 0] - 0.5, 0.0)
    s = (rng.random(visits) < expit(z) * np.exp(more)) & (rng.random(visits) < 0.25)
    groups = np.where(in_a, "a", "b")
    return as_cohort(sp.csr_array(x.astype(float)), s.astype(int), groups=groups)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Shares of the three states for every violation, number of cases and check."""
    rows = []
    for scenario, part in table.groupby("scenario", sort=False):
        violation, factor, cases = str(scenario).split("/")
        for kind in KINDS:
            if kind not in part:  # made before there was such a check
                continue
            found = part[kind].dropna()
            shares = {state: float(np.mean(found == state)) for state in STATES}
            rows.append({"violation": violation, "factor": float(factor), "cases": int(cases),
                         "check": kind, "replicates": len(found)} | shares)  # fmt: skip
    return pd.DataFrame(rows)


STUDY = Study(
    "verdicts", "How often each check says concern, no concern or cannot tell.", 100, replicate,
    scenarios=lambda given: scenarios(given["cases"]),
    summaries=lambda table, folder: [summary(table)],
    options=(Option("cases", "About how many are diagnosed.", int, default=CASES),),
)  # fmt: skip
