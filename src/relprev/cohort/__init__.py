"""The cohort: symptoms, recorded diagnosis, groups, weights and design of the visits."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.cohort.build import build_cohorts
    from relprev.cohort.cohort import Cohort
    from relprev.cohort.controls import Controls, control_set, control_set_names
    from relprev.cohort.feature_rules import Extra, Features
    from relprev.cohort.from_arrays import as_cohort
    from relprev.cohort.group_variable import GroupVariable
    from relprev.cohort.grouped import BuiltCohort, LookedAt
    from relprev.cohort.part import CohortPart
    from relprev.cohort.part_files import write_parts
    from relprev.cohort.spec import CohortSpec, cohort_spec
    from relprev.cohort.table import read_table
    from relprev.cohort.visit_rules import Include, Screening
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "BuiltCohort",
    "Cohort",
    "CohortPart",
    "CohortSpec",
    "Controls",
    "Extra",
    "Features",
    "GroupVariable",
    "Include",
    "LookedAt",
    "Screening",
    "as_cohort",
    "build_cohorts",
    "cohort_spec",
    "control_set",
    "control_set_names",
    "read_table",
    "write_parts",
]
