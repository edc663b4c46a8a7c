"""A study: one file in, one report out."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.study.file.keys import study_schema
    from relprev.study.file.options import (
        AnchorOptions,
        AtlasOptions,
        CheckOptions,
        ComputeOptions,
        EstimateOptions,
        InferenceOptions,
        ReportOptions,
    )
    from relprev.study.file.reading import read_studies
    from relprev.study.file.source import SourceOptions
    from relprev.study.run import run_conditions
    from relprev.study.study import ConditionsResult, Study, StudyResult
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "AnchorOptions",
    "AtlasOptions",
    "CheckOptions",
    "ComputeOptions",
    "ConditionsResult",
    "EstimateOptions",
    "InferenceOptions",
    "ReportOptions",
    "SourceOptions",
    "Study",
    "StudyResult",
    "read_studies",
    "run_conditions",
    "study_schema",
]
