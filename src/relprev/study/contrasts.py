"""What is compared with what, and what standard errors allow for, in one cohort of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relprev.cohort import Cohort
from relprev.cohort.summary import group_totals
from relprev.estimates import COMPLEMENT, PAIRWISE

if TYPE_CHECKING:  # a change in the options' words must not make estimates again
    from relprev.study.options import EstimateOptions, InferenceOptions


def as_used(cohort: Cohort, inference: InferenceOptions) -> Cohort:
    """The cohort without the parts of the design that the study does not use."""
    unused = [*(() if inference.design else ("strata", "psus")),
              *(() if inference.clusters else ("clusters",))]  # fmt: skip
    return cohort.without(*unused) if unused else cohort


def reference_group(cohort: Cohort, name: str, options: EstimateOptions) -> str:
    """The reference group of the group variable called ``name``: the study's, or the largest."""
    largest = int(np.argmax(group_totals(cohort)[2]))
    return options.reference.get(name) or cohort.group_names[largest]


def versus_words(reference: str, options: EstimateOptions) -> str:
    """What estimators call the study's contrasts."""
    names = {"complement": COMPLEMENT, "pairwise": PAIRWISE, "reference": reference}
    return names[options.versus]


def sampling_words(cohort: Cohort) -> str:
    """What standard errors of the cohort allow for."""
    if "psus" in cohort.fields:
        return "the survey's strata and primary sampling units"
    return "repeat visits of patients" if "clusters" in cohort.fields else ""
