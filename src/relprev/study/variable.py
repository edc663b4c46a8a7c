"""Estimates and checks of one group variable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from relprev.arrays import FloatArray
from relprev.checks import CheckResult
from relprev.checks.feature_counts import feature_counts, feature_labels, patient_counts
from relprev.checks.inputs import CheckInputs
from relprev.checks.registry import CHECKS
from relprev.codes import describe
from relprev.cohort import AnyCohort, Cohort
from relprev.cohort.summary import group_totals
from relprev.estimates import COMPLEMENT, PAIRWISE
from relprev.inference import DebiasedPURPLE
from relprev.messages import Message
from relprev.model import PURPLE
from relprev.study.options import CheckName, InferenceOptions, Method
from relprev.study.store import Outcome
from relprev.study.study import Study

SYMPTOMS_SHOWN = 30


@dataclass(frozen=True)
class Variable:
    """One group variable of a study, with its cohort; models are fitted when first asked for."""

    study: Study
    name: str
    cohort: AnyCohort
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

    def _left_out(self) -> dict[str, dict[str, Any]]:
        """Groups without a debiased estimate, and why."""
        moments = self.debiased.moments_
        reasons = {}
        for name in self.cohort.group_names:
            if name not in moments.names:
                reasons[name] = Message("too few patients are diagnosed").plain()
            elif name not in moments.estimated:
                why = Message("symptoms tell this group almost completely apart")
                reasons[name] = why.plain()
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
        patients = patient_counts(self.cohort, top)
        return table.assign(patients=patients["patients"]) if patients else table

    # -- checks ----------------------------------------------------------------------------

    def check(self, name: CheckName) -> Outcome:
        """The results of one check (sensitivity has one for each pair of groups)."""
        inputs = CheckInputs(
            self.cohort, lambda: self.purple, lambda: self.debiased, self.versus, self.reference,
            self.study.estimate.level, self.study.seed, self.study.checks.max_visits,
        )  # fmt: skip
        return check_outcome(CHECKS[name].results(inputs))


def with_options(cohort: AnyCohort, inference: InferenceOptions) -> AnyCohort:
    """The cohort without the parts of the design that the study does not use."""
    unused = [*(() if inference.design else ("strata", "psus")),
              *(() if inference.clusters else ("clusters",))]  # fmt: skip
    return cohort.without(*unused) if unused else cohort


def sampling_words(cohort: AnyCohort) -> str:
    """What standard errors of the cohort allow for."""
    if "psus" in cohort.fields:
        return "the survey's strata and primary sampling units"
    return "repeat visits of patients" if "clusters" in cohort.fields else ""


def check_outcome(results: list[CheckResult]) -> Outcome:
    """Check results as plain values and tables, to be kept."""
    tables = {f"table{k}": result.table for k, result in enumerate(results)}
    return Outcome({"checks": [result.plain() for result in results]}, tables)


def check_results(outcome: Outcome) -> list[CheckResult]:
    """The check results behind an outcome."""
    return [
        CheckResult.from_plain(plain, outcome.tables[f"table{k}"])
        for k, plain in enumerate(outcome.values["checks"])
    ]


def _visits_with(cohort: Cohort) -> FloatArray:
    """Visits with each feature."""
    return feature_counts(cohort, np.ones(cohort.n))


def _described(feature: str) -> str:
    version, colon, code = feature.partition(":")
    return describe(version, code) if colon else ""
