"""Study reports made from real fits to small simulated cohorts."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from relprev import checks
from relprev.checks.feature_counts import feature_counts
from relprev.cohort import Cohort
from relprev.disclosure import Rule
from relprev.errors import RelprevWarning
from relprev.inference import DebiasedPURPLE
from relprev.messages import Message
from relprev.model import PURPLE
from relprev.report import StudyFindings, StudyReport, VariableFindings, disclosed
from relprev.simulate import ed_visits

FAST = {"strengths": (3.0,), "lambdas": 1e-4, "folds": 3}


def simulated(seed: int, names: tuple[str, ...], n: int = 12_000, **more) -> Cohort:
    rates = dict(zip(names, np.linspace(0.25, 0.7, len(names)), strict=True))
    return ed_visits(
        n, n_codes=60, diagnosis_rates=rates, prevalence=0.25, seed=seed, **more
    ).cohort


def findings(
    name: str, cohort: Cohort, versus: str = "complement", with_debiased: bool = True,
    full: bool = True, left_out: dict[str, Message] | None = None,
) -> VariableFindings:  # fmt: skip
    """Fit both methods to the cohort and check the assumptions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelprevWarning)
        purple = PURPLE(lambdas=1e-4).fit(cohort)
        estimates = {"PURPLE": purple.relative_prevalence(versus).to_frame()}
        made = [checks.check_leakage(cohort)]
        if with_debiased:
            debiased = DebiasedPURPLE(**FAST).fit(cohort)
            result = debiased.relative_prevalence(versus)
            estimates = {"DebiasedPURPLE": result.to_frame(), **estimates}
            made += [
                checks.check_constant_ratio(debiased),
                checks.check_overlap(debiased, cohort),
                checks.check_agreement(purple, debiased, versus),
            ]
            known = debiased.moments_.names
            made += [checks.check_sensitivity(debiased, known[0], known[-1])]
        if full:
            fast = PURPLE(lambdas=1e-4)
            made += [checks.check_calibration(cohort, fast)]
            made += [checks.check_unconstrained(cohort, fast)]
    share = cohort.diagnosed == 1
    groups = pd.DataFrame({
        "group": cohort.group_names,
        "n": np.bincount(cohort.groups, minlength=cohort.n_groups),
        "n_diagnosed": np.bincount(cohort.groups[share], minlength=cohort.n_groups),
    })  # fmt: skip
    return VariableFindings(
        name, estimates, attrition(cohort), tuple(made), symptoms(cohort, purple),
        left_out or {}, groups,
    )  # fmt: skip


def attrition(cohort: Cohort) -> pd.DataFrame:
    people = len(np.unique(cohort.clusters))
    return pd.DataFrame({
        "step": ["visits in the files", "age 18 or more", "group recorded"],
        "visits": [cohort.n + 4321, cohort.n + 1234, cohort.n],
        "patients": pd.array([people + 3210, people + 987, people], dtype="Int64"),
    })  # fmt: skip


def symptoms(cohort: Cohort, purple: PURPLE, count: int = 12) -> pd.DataFrame:
    order = np.argsort(-np.abs(purple.coef_))[:count]
    visits = feature_counts(cohort, np.ones(cohort.n)).astype(int)
    return pd.DataFrame({
        "feature": [cohort.feature_names[j] for j in order],
        "description": [f"simulated code number {j}" for j in order],
        "weight": purple.coef_[order],
        "visits": visits[order],
    })  # fmt: skip


def study(*variables: VariableFindings, rule: Rule | None = None, **more) -> StudyReport:
    """What may be shown of a study."""
    return disclosed(found(*variables, **more), rule)


def found(*variables: VariableFindings, **more) -> StudyFindings:
    """What a study found."""
    manifest = {
        "relprev": "0.1.0", "seed": 4, "versions": {"relprev": "0.1.0", "numpy": "2.0"},
        "specification": {"condition": "ipv", "include": {"age": [18, None]}},
        "data": {"visits.csv": "sha256:0123456789abcdef"}, "seconds": {"cohort": 1.5, "fit": 3.2},
    }  # fmt: skip
    plain = {
        "title": "Intimate partner violence in simulated emergency departments",
        "condition": "intimate partner violence",
        "population": "women aged 18 or more who visit an emergency department",
        "source": "simulated visits",
        "variables": variables,
        "manifest": manifest,
    }
    return StudyFindings(**{**plain, **more})
