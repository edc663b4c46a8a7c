"""Which groups of a cohort are compared, and what the standard errors allow for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relprev.cohort import Cohort
from relprev.cohort.summary import group_totals
from relprev.estimates import COMPLEMENT, PAIRWISE
from relprev.units import VISIT, Unit

if TYPE_CHECKING:  # rewording an option must not refit anything
    from relprev.study.file.options import EstimateOptions, InferenceOptions


def as_used(cohort: Cohort, inference: InferenceOptions) -> Cohort:
    """The cohort without the parts of the design that the study does not use."""
    unused = [*(() if inference.design else ("strata", "psus")),
              *(() if inference.clusters else ("clusters",))]  # fmt: skip
    return cohort.without(*unused) if unused else cohort


def reference_group(cohort: Cohort, name: str, options: EstimateOptions) -> str:
    """The reference group of the group variable ``name``: the one in the study, or the largest."""
    largest = int(np.argmax(group_totals(cohort)[2]))
    return options.reference.get(name) or cohort.group_names[largest]


def versus_words(reference: str, options: EstimateOptions) -> str:
    """What estimators call the study's contrasts."""
    names = {"complement": COMPLEMENT, "pairwise": PAIRWISE, "reference": reference}
    return names[options.versus]


def sampling_words(cohort: Cohort, unit: Unit) -> str:
    """What the cohort's standard errors allow for."""
    if "psus" in cohort.fields:
        return "the survey's strata and primary sampling units"
    return "repeat visits of patients" if "clusters" in cohort.fields and unit == VISIT else ""
