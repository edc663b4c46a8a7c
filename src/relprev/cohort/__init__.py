"""The cohort: symptoms, recorded diagnosis, groups, weights and design of the visits."""

from relprev.cohort.build import BuiltCohort, LookedAt, build_cohorts
from relprev.cohort.cohort import Cohort
from relprev.cohort.from_arrays import as_cohort
from relprev.cohort.part import CohortPart
from relprev.cohort.part_files import write_parts
from relprev.cohort.spec import (
    CohortSpec,
    Extra,
    Features,
    GroupVariable,
    Include,
    Screening,
    cohort_spec,
)
from relprev.cohort.table import read_table

__all__ = [
    "BuiltCohort",
    "Cohort",
    "CohortPart",
    "CohortSpec",
    "Extra",
    "Features",
    "GroupVariable",
    "Include",
    "LookedAt",
    "Screening",
    "as_cohort",
    "build_cohorts",
    "cohort_spec",
    "read_table",
    "write_parts",
]
