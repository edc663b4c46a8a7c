"""The cohort: symptoms, recorded diagnosis, groups, weights and design of the visits."""

from relprev.cohort.build import BuiltCohort, build_cohorts
from relprev.cohort.cohort import Cohort
from relprev.cohort.convert import as_cohort
from relprev.cohort.spec import Study, study
from relprev.cohort.table import read_table

__all__ = [
    "BuiltCohort",
    "Cohort",
    "Study",
    "as_cohort",
    "build_cohorts",
    "read_table",
    "study",
]
