"""Estimates and checks of one group variable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev import checks
from relprev.arrays import FloatArray, numbered
from relprev.checks.check import CheckResult, drawing
from relprev.checks.feature_counts import feature_counts, feature_labels
from relprev.codes import describe
from relprev.cohort import Cohort, CohortPart
from relprev.cohort.summary import group_totals
from relprev.estimates import COMPLEMENT, PAIRWISE
from relprev.inference import DebiasedPURPLE
from relprev.model import PURPLE
from relprev.study.options import CheckName, InferenceOptions, Method
from relprev.study.store import Outcome
from relprev.study.study import Study

SYMPTOMS_SHOWN = 30
NEEDS: dict[CheckName, tuple[Method, ...]] = {
    "constant_ratio": ("debiased",),
    "calibration": (),
    "unconstrained": (),
    "overlap": ("debiased",),
    "leakage": (),
    "agreement": ("purple", "debiased"),
    "sensitivity": ("debiased",),
}


@dataclass(frozen=True)
class Variable:
    """One group variable of a study, with its cohort; models are fitted when first asked for."""

    study: Study
    name: str
    cohort: Cohort
    verbose: bool = False

    @cached_property
    def reference(self) -> str:
        """The reference group: the study's, or the largest."""
        given = self.study.estimate.reference.get(self.name)
        if given is not None and given not in self.cohort.group_names:
            raise self.study.error(
                ("estimate", "reference", self.name),
                f"{given!r} has no visits in the cohort; groups are "
                f"{', '.join(self.cohort.group_names)}",
            )
        weight = group_totals(self.cohort)[2]
        return given or self.cohort.group_names[int(np.argmax(weight))]

    @property
    def versus(self) -> str:
        """What estimators call the study's contrasts."""
        names = {"complement": COMPLEMENT, "pairwise": PAIRWISE, "reference": self.reference}
        return names[self.study.estimate.versus]

    @cached_property
    def purple(self) -> PURPLE:
        """The published estimator, fitted."""
        return PURPLE(
            reference=self.reference, random_state=self.study.seed, verbose=self.verbose
        ).fit(self.cohort)

    @cached_property
    def debiased(self) -> DebiasedPURPLE:
        """The debiased estimator, fitted."""
        inference = self.study.inference
        return DebiasedPURPLE(
            folds=inference.folds, lonely_psu=inference.lonely_psu, reference=self.reference,
            random_state=self.study.seed, verbose=self.verbose,
        ).fit(self.cohort)  # fmt: skip

    # -- estimates -------------------------------------------------------------------------

    def estimate(self, method: Method) -> Outcome:
        """Relative prevalences by one method."""
        if method == "purple":
            result: Any = self.purple.relative_prevalence(self.versus)
            return Outcome(
                {"lambda": self.purple.lambda_},
                {"estimates": result.to_frame(), "symptoms": self._symptoms()},
            )
        result = self.debiased.relative_prevalence(self.versus, level=self.study.estimate.level)
        values = {
            "lambda": self.debiased.lambda_, "strength": self.debiased.strength_,
            "left_out": self._left_out(),
        }  # fmt: skip
        return Outcome(values, {"estimates": result.to_frame()})

    def _left_out(self) -> dict[str, str]:
        """Groups without a debiased estimate, and why."""
        moments = self.debiased.moments_
        reasons = {}
        for name in self.cohort.group_names:
            if name not in moments.names:
                reasons[name] = "too few patients are diagnosed"
            elif name not in moments.estimated:
                reasons[name] = "symptoms tell this group almost completely apart"
        return reasons

    def _symptoms(self) -> pd.DataFrame:
        """The features that move p(y=1|x) most: largest |weight| times SD of the feature."""
        names = feature_labels(self.cohort)
        visits = np.sum(self.cohort.map(_visits_with), axis=0)
        share = visits / self.cohort.n
        weight = self.purple.coef_
        strength = np.abs(weight) * np.sqrt(share * (1 - share))
        top = np.argsort(-strength, kind="stable")[:SYMPTOMS_SHOWN]
        top = top[strength[top] > 0]
        table = pd.DataFrame(
            {
                "feature": pd.array([names[j] for j in top], dtype="str"),
                "description": pd.array([_described(names[j]) for j in top], dtype="str"),
                "weight": weight[top],
                "visits": visits[top].astype(np.int64),
            }
        )
        if "clusters" not in self.cohort.fields:
            return table
        return table.assign(patients=_patients_with(self.cohort, top))

    # -- checks ----------------------------------------------------------------------------

    def check(self, name: CheckName) -> Outcome:
        """The results of one check (sensitivity has one for each pair of groups)."""
        level, seed = self.study.estimate.level, self.study.seed
        made: dict[CheckName, Callable[[], list[CheckResult]]] = {
            "constant_ratio": lambda: [checks.check_constant_ratio(self.debiased, level=level)],
            "calibration": lambda: [
                self._on_part(checks.check_calibration, level=level, random_state=seed)
            ],
            "unconstrained": lambda: [
                self._on_part(checks.check_unconstrained, level=level, random_state=seed)
            ],
            "overlap": lambda: [checks.check_overlap(self.debiased, self.cohort)],
            "leakage": lambda: [checks.check_leakage(self.cohort, level=level)],
            "agreement": lambda: [
                checks.check_agreement(self.purple, self.debiased, self.versus, level=level)
            ],
            "sensitivity": lambda: self._sensitivity(level),
        }
        return check_outcome(made[name]())

    def _sensitivity(self, level: float) -> list[CheckResult]:
        """Every group that has an estimate versus the reference."""
        names = [name for name in self.debiased.moments_.names if name not in self._left_out()]
        base = self.reference if self.reference in names else next(iter(names), "")
        return [
            checks.check_sensitivity(self.debiased, name, base, level=level)
            for name in names
            if name != base
        ]

    def _on_part(self, check: Callable[..., CheckResult], **options: Any) -> CheckResult:
        """A check on at most so many visits, whole patients drawn at random."""
        part = sample_patients(self.cohort, self.study.checks.max_visits, self.study.seed)
        result = check(part, **options)
        if part.n == self.cohort.n:
            return result
        note = f" Made on {part.n:,} of the {self.cohort.n:,} visits, drawn at random."
        return replace(result, effect=result.effect + note)


def with_options(cohort: Cohort, inference: InferenceOptions) -> Cohort:
    """The cohort without the parts of the design that the study does not use."""
    unused = [*(() if inference.design else ("strata", "psus")),
              *(() if inference.clusters else ("clusters",))]  # fmt: skip
    return cohort.without(*unused) if unused else cohort


def sampling_words(cohort: Cohort) -> str:
    """What standard errors of the cohort allow for."""
    if "psus" in cohort.fields:
        return "the survey's strata and primary sampling units"
    return "repeat visits of patients" if "clusters" in cohort.fields else ""


def sample_patients(cohort: Cohort, most: int, seed: int) -> Cohort:
    """About ``most`` visits of patients drawn at random, all of them if there are no more.

    They are in memory, whatever the cohort is.
    """
    if cohort.n <= most:
        return cohort.collected()
    rng = np.random.default_rng([seed, 3])
    clusters = cohort.clusters
    if clusters is None:
        return cohort.take(np.sort(rng.choice(cohort.n, most, replace=False))).collected()
    patient = numbered(clusters)[1]
    rank = rng.permutation(int(patient.max()) + 1)
    visits_up_to = np.cumsum(np.bincount(rank[patient]))
    return cohort.take(np.flatnonzero(visits_up_to[rank[patient]] <= most)).collected()


def check_outcome(results: list[CheckResult]) -> Outcome:
    """Check results as plain values and tables, to be kept."""
    plain = [item.name for item in fields(CheckResult) if item.name not in ("table", "draw")]
    return Outcome(
        {"checks": [{"kind": result.kind} | {name: getattr(result, name) for name in plain}
                    for result in results]},
        {f"table{k}": result.table for k, result in enumerate(results)},
    )  # fmt: skip


def check_results(outcome: Outcome) -> list[CheckResult]:
    """The check results behind an outcome."""
    results = []
    for k, values in enumerate(outcome.values["checks"]):
        settings: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value
                    for name, value in values.items() if name != "kind"}  # fmt: skip
        table = outcome.tables[f"table{k}"]
        results.append(CheckResult(**settings, table=table, draw=drawing(values["kind"])))
    return results


def _visits_with(cohort: CohortPart) -> FloatArray:
    """Visits with each feature."""
    return feature_counts(cohort, np.ones(cohort.n))


def _patients_with(cohort: Cohort, features: NDArray[np.integer]) -> list[int]:
    """Patients with each of the features."""
    parts = cohort.map(_who_has, features)
    return [len(np.unique(np.concatenate(who))) for who in zip(*parts, strict=True)]


def _who_has(cohort: CohortPart, features: NDArray[np.integer]) -> list[NDArray[np.integer]]:
    """Patients of a part with each of the features."""
    assert cohort.clusters is not None
    alone = np.zeros(cohort.n_cols)
    found = []
    for j in features:
        alone[j] = 1.0
        found.append(np.unique(cohort.clusters[cohort.X.matvec(alone) != 0]))
        alone[j] = 0.0
    return found


def _described(feature: str) -> str:
    version, colon, code = feature.partition(":")
    return describe(version, code) if colon else ""
