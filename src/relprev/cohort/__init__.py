"""The cohort: symptoms, recorded diagnosis, groups, weights and design of the visits."""

from relprev.cohort.cohort import Cohort
from relprev.cohort.convert import as_cohort

__all__ = ["Cohort", "as_cohort"]
