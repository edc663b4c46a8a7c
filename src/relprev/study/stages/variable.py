"""Estimate the relative prevalences of one group variable."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relprev.arrays import FloatArray
from relprev.checks.feature_counts import (
    feature_counts,
    feature_labels,
    numeric_features,
    patient_counts,
)
from relprev.codes import describe
from relprev.cohort import Cohort, CohortPart
from relprev.errors import DataWarning
from relprev.messages import Message
from relprev.store.stages import Outcome
from relprev.study.cohorts.contrasts import as_used, reference_group, versus_words

if TYPE_CHECKING:  # rewording an option must not refit anything
    from relprev.controls import Calibration
    from relprev.inference import DebiasedPURPLE
    from relprev.model import PURPLE
    from relprev.study.file.options import EstimateOptions, InferenceOptions, Method

SYMPTOMS_SHOWN = 30
PAPER_SPLITS = 5
PAPER_SHARES = (0.6, 0.2, 0.2)  # to fit, to choose the penalty, to estimate


@dataclass(frozen=True)
class Variable:
    """One group variable of a study; its cohort is opened and models are fitted when needed."""

    name: str
    open_cohort: Callable[[], Cohort]
    options: EstimateOptions
    inference: InferenceOptions
    seed: int = 0
    verbose: bool = False

    @cached_property
    def cohort(self) -> Cohort:
        """The cohort, without the parts of the design that the study does not use."""
        return as_used(self.open_cohort(), self.inference)

    @cached_property
    def reference(self) -> str:
        """The reference group: the one in the study, or the largest."""
        return reference_group(self.cohort, self.name, self.options)

    @property
    def versus(self) -> str:
        """What estimators call the study's contrasts."""
        return versus_words(self.reference, self.options)

    @cached_property
    def purple(self) -> PURPLE:
        """The published estimator, fitted."""
        from relprev.model import PURPLE

        return PURPLE(
            reference=self.reference, random_state=self.seed, verbose=self.verbose
        ).fit(self.cohort)  # fmt: skip

    @cached_property
    def debiased(self) -> DebiasedPURPLE:
        """The debiased estimator, fitted."""
        return self.estimator().fit(self.cohort)

    def estimator(self) -> DebiasedPURPLE:
        """The debiased estimator with the study's settings, not fitted."""
        from relprev.inference import DebiasedPURPLE

        return DebiasedPURPLE(
            folds=self.inference.folds, lonely_psu=self.inference.lonely_psu,
            reference=self.reference, random_state=self.seed, verbose=self.verbose,
        )  # fmt: skip

    @cached_property
    def calibration(self) -> Calibration:
        """The debiased estimates judged by the study's control conditions."""
        from relprev.controls import calibrate

        return calibrate(
            self.debiased, self.cohort, versus=self.versus, level=self.options.level,
            verbose=self.verbose,
        )  # fmt: skip

    def estimate(self, method: Method) -> Outcome:
        """Relative prevalences by one method."""
        if method == "purple":
            result: Any = self.purple.relative_prevalence(self.versus)
            tables = {"estimates": result.to_frame(), "symptoms": self._symptoms()}
            return Outcome({"lambda": self.purple.lambda_}, tables)
        if method == "paper":
            return Outcome(tables={"estimates": self._by_paper()})
        result = self.debiased.relative_prevalence(self.versus, level=self.options.level)
        values = {
            "lambda": self.debiased.lambda_, "strength": self.debiased.strength_,
            "left_out": {name: why.plain() for name, why in self._left_out().items()},
        }  # fmt: skip
        tables = {"estimates": result.to_frame()}
        if self.cohort.control_names:
            tables["calibrated"] = calibrated_estimates(self.calibration)
        return Outcome(values, tables)

    def _by_paper(self) -> pd.DataFrame:
        """Estimates by the paper's protocol: mean and SD over splits, penalties chosen by AUC."""
        from relprev.baselines import Observed
        from relprev.model import PURPLE
        from relprev.model.splits import split

        frames = []
        for k in range(PAPER_SPLITS):
            train, validation, test = (
                self.cohort.take(rows) for rows in split(self.cohort, PAPER_SHARES, self.seed + k)
            )
            paper = PURPLE(
                selection="auc", reference=self.reference, random_state=self.seed,
                verbose=self.verbose,
            )  # fmt: skip
            with warnings.catch_warnings():  # a split lacks what all visits have
                warnings.simplefilter("ignore", DataWarning)
                fitted = paper.fit(train, validation=validation)
            frames.append(fitted.relative_prevalence(self.versus, on=test).to_frame())
        table = Observed().fit(self.cohort).relative_prevalence(self.versus).to_frame()
        each = np.array([frame["estimate"].to_numpy(dtype=float) for frame in frames])
        estimate = each.mean(axis=0)
        return table.assign(
            estimate=estimate, split_sd=each.std(axis=0, ddof=1),
            diagnosis_ratio=table["observed_ratio"].to_numpy(dtype=float) / estimate,
        )  # fmt: skip

    def _left_out(self) -> dict[str, Message]:
        """Groups without a debiased estimate, and why."""
        moments = self.debiased.moments_
        few = Message("too few patients are diagnosed")
        apart = Message("symptoms tell this group almost completely apart")
        return {
            name: apart if name in moments.names else few
            for name in self.cohort.group_names
            if name not in moments.estimated
        }

    def _symptoms(self) -> pd.DataFrame:
        """The features that move p(y=1|x) most: those with the largest |weight| × SD.

        No visit "has" a number, so that none are counted for it.
        """
        names, numeric = feature_labels(self.cohort), numeric_features(self.cohort)
        visits = np.sum(self.cohort.map(_visits_with), axis=0)
        share = visits / self.cohort.n
        weight = self.purple.coef_
        spread = np.sqrt(share * (1 - share))
        if numeric.any():
            sums, squares = self.cohort.total(_sums)
            mean = sums / self.cohort.n
            spread = np.where(numeric, np.sqrt(squares / self.cohort.n - mean**2), spread)
        strength = np.abs(weight) * spread
        top = np.argsort(-strength, kind="stable")[:SYMPTOMS_SHOWN]
        top = top[strength[top] > 0]
        table = pd.DataFrame(
            {
                "feature": pd.array([names[j] for j in top], dtype="str"),
                "description": pd.array([described(names[j]) for j in top], dtype="str"),
                "weight": weight[top],
                "visits": visits[top].astype(np.int64),
            }
        )
        patients = patient_counts(self.cohort, top)
        table = table.assign(patients=patients["patients"]) if patients else table
        if numeric[top].any():
            for name in {"visits", "patients"} & set(table):
                table[name] = table[name].astype("Int64").mask(numeric[top])
        return table


def calibrated_estimates(calibration: Calibration) -> pd.DataFrame:
    """Estimates as the controls set them right; no rows if one of them could not be calibrated.

    The calibrated ratio and its prediction interval take the place of the estimate, and ratios of
    diagnosis rates are those that go with it, without an interval.
    """
    table, found = calibration.estimates, calibration.to_frame()
    if found.loc[table["estimate"].notna(), "calibrated"].isna().any():
        return table.iloc[:0]
    names = {"estimate": "calibrated", "ci_low": "calibrated_ci_low",
             "ci_high": "calibrated_ci_high", "p_value": "calibrated_p_value"}  # fmt: skip
    changed = {name: found[source].to_numpy() for name, source in names.items()}
    ratio = table["observed_ratio"].to_numpy() / changed["estimate"]
    return table.assign(
        **changed, diagnosis_ratio=ratio, diagnosis_ci_low=np.nan, diagnosis_ci_high=np.nan,
        std_error=np.nan,
    )  # fmt: skip


def _visits_with(cohort: CohortPart) -> FloatArray:
    """Visits with each feature, shape (n_cols,)."""
    return feature_counts(cohort, np.ones(cohort.n))


def _sums(cohort: CohortPart) -> tuple[FloatArray, FloatArray]:
    """Sum and sum of squares of each feature, shape (n_cols,) each."""
    return cohort.X.rmatvec(np.ones(cohort.n)), cohort.X.rmatvec_sq(np.ones(cohort.n))


def described(feature: str) -> str:
    """What an ICD code among the features means; empty where no list of them is installed."""
    version, colon, code = feature.partition(":")
    return describe(version, code) if colon else ""
