"""How often does each check say concern, no concern or cannot tell?

Two groups, 200, 2,000 or 20,000 diagnosed, and one violation at a time, by a factor of 1 (none),
1.5 or 2. Each check is tried on the violation that it looks for (`VIOLATIONS`). On *drift* and
*meaning* all checks are made, which shows what those that look for something else do not see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from relprev import PURPLE, Cohort, as_cohort
from relprev.checks.inputs import CheckInputs
from relprev.checks.registry import CHECKS
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from relprev.simulate import visits_with_controls
from simulations.replicates import Job, seed_of
from simulations.scenarios import STEADY, draw
from simulations.study import Option, Study

CASES = (200, 2_000, 20_000)
FACTORS = (1.0, 1.5, 2.0)
STATES = ("concern", "no concern", "cannot tell")
LIGHT = 10  # visits for one diagnosed, about
KINDS = tuple(kind for kind, check in CHECKS.items() if check.assumption)
ON_ANY = tuple(kind for kind in KINDS if kind != "controls")  # of cohorts without controls
N_CONTROLS, N_CODES = 20, 100
RARE = 0.03  # conditions are two to eight times as common
PREDICTIVE_VALUE = 0.8  # of a synonym

FloatArray = NDArray[np.float64]
Seed = np.random.SeedSequence


@dataclass(frozen=True)
class Violation:
    """One way to break what a check looks at.

    Parameters
    ----------
    words : what is done by a factor, for people to read
    looked_for : kinds of checks that look for it
    draw : function of the factor, a number of visits and a seed
    made : kinds of checks that are made
    own_base : whether the factor 1 is drawn; else it is that of *drift*
    linear : whether the checks see an estimator whose two models are linear
    """

    words: str
    looked_for: tuple[str, ...]
    draw: Callable[[float, int, Seed], Cohort]
    made: tuple[str, ...]
    own_base: bool = False
    linear: bool = False


def _drifting(factor: float, visits: int, seed: Seed) -> Cohort:
    return draw(replace(STEADY, n=visits, drift=float(np.log(factor))), seed).cohort


def _meaning(factor: float, visits: int, seed: Seed) -> Cohort:
    """Ten symptoms; the first raises the risk in a by the factor, and lowers it elsewhere."""
    rng = np.random.default_rng(seed)
    in_a = rng.random(visits) < 0.4
    frequency = np.linspace(0.1, 0.4, 10) * np.where(in_a, 1.2, 1.0)[:, None]
    frequency[:, 0] = 0.5
    x = rng.random((visits, 10)) < frequency
    z = -2.3 + x @ np.linspace(0.2, 1.0, 10)
    more = np.log(factor) * np.where(in_a, x[:, 0] - 0.5, 0.0)
    return _recorded(rng, x, in_a, expit(z) * np.exp(more), 0.25)


def _silent(factor: float, visits: int, seed: Seed) -> Cohort:
    """Thirty random codes; the condition is the factor as common in a."""
    rng = np.random.default_rng(seed)
    in_a = rng.random(visits) < 0.4
    x = rng.random((visits, 30)) < 0.1
    return _recorded(rng, x, in_a, np.where(in_a, 0.2 * factor, 0.2), 0.5)


def _systematic(factor: float, visits: int, seed: Seed) -> Cohort:
    """All conditions have the factor as much risk in a at the same symptoms.

    They are recorded equally well in both groups; one is the condition of interest, the others are
    its controls.
    """
    drawn = visits_with_controls(
        visits, n_controls=N_CONTROLS + 1, n_codes=N_CODES, prevalence=RARE,
        diagnosis_rates={"a": 1.0, "b": 1.0}, mean=float(np.log(factor)),
        seed=int(np.random.default_rng(seed).integers(2**31)),
    ).cohort  # fmt: skip
    last = 1 << N_CONTROLS
    return Cohort.of(
        X=drawn.X, diagnosed=(drawn.controls & last > 0).astype(np.uint8), groups=drawn.groups,
        group_names=drawn.group_names, feature_names=drawn.feature_names,
        controls=drawn.controls & (last - 1), control_names=drawn.control_names[:N_CONTROLS],
    )  # fmt: skip


def _paired(factor: float, visits: int, seed: Seed) -> Cohort:
    """Which of two codes, but not both, is there says who is in a and who has the condition.

    With h = 1 for one of the two, p(h=1) = .5 +- t in the groups and a risk (1 + k h) times as
    high, the mean risks of the groups differ by the factor for what h alone does.
    """
    rng = np.random.default_rng(seed)
    t, k = (0.3, (factor - 1) / (0.8 - 0.2 * factor)) if factor > 1 else (0.0, 0.0)
    in_a = rng.random(visits) < 0.4
    h = rng.random(visits) < np.where(in_a, 0.5 + t, 0.5 - t)
    first = rng.random(visits) < 0.5
    x = rng.random((visits, 10)) < np.linspace(0.1, 0.4, 10) * np.where(in_a, 1.2, 1.0)[:, None]
    p = 0.28 * expit(-1.0 + x @ np.linspace(0.2, 1.0, 10)) * (1 + k * h)
    return _recorded(rng, np.column_stack([x, first, first ^ h]), in_a, p, 0.6)


def _recorded(
    rng: np.random.Generator, x: NDArray[np.bool_], in_a: NDArray[np.bool_], p: FloatArray,
    rate: float,
) -> Cohort:  # fmt: skip
    """The condition with risk p, diagnosed at the same rate in both groups."""
    s = (rng.random(len(x)) < p) & (rng.random(len(x)) < rate)
    return as_cohort(sp.csr_array(x.astype(float)), s.astype(int), groups=np.where(in_a, "a", "b"))


def _apart(factor: float, visits: int, seed: Seed) -> Cohort:
    """A code of a alone; without the diagnosed who have it, a has its cases over the factor."""
    cohort, rng = _drifting(1.0, visits, seed), np.random.default_rng(seed.spawn(1)[0])
    in_a = cohort.group_labels == "a"
    return _with_code(cohort, in_a & (rng.random(visits) < 1 - 1 / factor))


def _synonym(factor: float, visits: int, seed: Seed) -> Cohort:
    """A code that hardly anybody has without the diagnosis; without it, cases over the factor."""
    cohort, rng = _drifting(1.0, visits, seed), np.random.default_rng(seed.spawn(1)[0])
    s = cohort.diagnosed == 1
    reach = 1 - 1 / factor
    others = reach * s.sum() / (~s).sum() * (1 / PREDICTIVE_VALUE - 1)
    return _with_code(cohort, rng.random(visits) < np.where(s, reach, others))


def _with_code(cohort: Cohort, carriers: NDArray[np.bool_]) -> Cohort:
    x = sp.hstack([cohort.X.to_scipy(), carriers.astype(float)[:, None]]).tocsr()
    return as_cohort(x, cohort.diagnosed, groups=cohort.group_labels)


VIOLATIONS = {
    "drift": Violation(
        "the diagnosis rate of one group rises with risk", ("constant_ratio", "calibration"),
        _drifting, ON_ANY, own_base=True,
    ),
    "meaning": Violation(
        "a symptom of half of the patients raises the risk in one group", ("unconstrained",),
        _meaning, ON_ANY,
    ),
    "silent": Violation(
        "the true ratio, of which the symptoms say nothing", ("informativeness",), _silent,
        ("informativeness",),
    ),
    "systematic": Violation(
        "risk at the same symptoms, of the condition and all controls", ("controls",),
        _systematic, ("controls",), own_base=True,
    ),
    "pairs_linear": Violation(
        "a pair of codes that two linear models do not know", ("models",), _paired, ("models",),
        own_base=True, linear=True,
    ),
    "pairs": Violation(
        "a pair of codes that PURPLE does not know", ("agreement",), _paired,
        ("models", "agreement"), own_base=True,
    ),
    "apart": Violation(
        "cases that rest on a code no other group has", ("overlap",), _apart, ("overlap",)
    ),
    "synonym": Violation(
        "cases that rest on a code that all but implies the diagnosis", ("leakage",), _synonym,
        ("leakage",),
    ),
}  # fmt: skip
ON_ALL = tuple(name for name, one in VIOLATIONS.items() if len(one.made) > 1)
LINEAR = {"propensity": "ridge", "risk": "purple", "n_repeats": 1}


def scenarios(cases: Sequence[int]) -> list[str]:
    """All violations, by numbers of cases."""
    return [
        f"{name}/{factor:g}/{n}"
        for n in cases
        for name, violation in VIOLATIONS.items()
        for factor in FACTORS
        if factor > 1 or violation.own_base
    ]


def replicate(job: Job) -> list[dict[str, Any]]:
    """The verdict of each check that is made on one cohort."""
    name, factor, cases = job[0].split("/")
    violation = VIOLATIONS[name]
    cohort = violation.draw(float(factor), int(cases) * LIGHT, seed_of(job))
    reference = cohort.group_names[-1]
    estimator = DebiasedPURPLE(**LINEAR) if violation.linear else DebiasedPURPLE()
    inputs = CheckInputs(
        cohort, lambda: PURPLE().fit(cohort), lambda: estimator.fit(cohort),
        versus=reference, reference=reference,
    )  # fmt: skip
    row: dict[str, Any] = {"scenario": job[0], "replicate": job[1]}
    row["n_diagnosed"] = int(cohort.diagnosed.sum())
    for kind in violation.made:
        try:
            row[kind] = str(CHECKS[kind].results(inputs)[0].verdict)
        except InvalidInputError:  # too few cases to make the check
            row[kind] = "cannot tell"
    return [row]


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Shares of the three states for every violation, number of cases and check."""
    rows = []
    for scenario, part in table.groupby("scenario", sort=False):
        violation, factor, cases = str(scenario).split("/")
        for kind in VIOLATIONS[violation].made:
            found = part[kind].dropna() if kind in part else pd.Series(dtype=str)
            if not len(found):  # made before there was such a check
                continue
            shares = {state: float(np.mean(found == state)) for state in STATES}
            rows.append({"violation": violation, "factor": float(factor), "cases": int(cases),
                         "check": kind, "replicates": len(found)} | shares)  # fmt: skip
    return pd.DataFrame(rows)


def own(found: pd.DataFrame) -> pd.DataFrame:
    """The rows of a summary in which a check meets what it looks for, or no violation of it."""
    parts = []
    for name, violation in VIOLATIONS.items():
        base = name if violation.own_base else "drift"
        source = np.where(found["factor"] == 1, base, name)
        wanted = (found["violation"] == source) & found["check"].isin(violation.looked_for)
        parts.append(found[wanted].assign(violation=name))
    return pd.concat(parts, ignore_index=True)


STUDY = Study(
    "verdicts", "How often each check says concern, no concern or cannot tell.", 100, replicate,
    scenarios=lambda given: scenarios(given["cases"]),
    summaries=lambda table, folder: [summary(table)],
    options=(Option("cases", "About how many are diagnosed.", int, default=CASES),),
)  # fmt: skip
