"""A study: one file in, one report out."""

from relprev.study.file import study_schema
from relprev.study.options import (
    CheckOptions,
    ComputeOptions,
    EstimateOptions,
    InferenceOptions,
    ReportOptions,
)
from relprev.study.source import SourceOptions
from relprev.study.study import Study, StudyResult

__all__ = [
    "CheckOptions",
    "ComputeOptions",
    "EstimateOptions",
    "InferenceOptions",
    "ReportOptions",
    "SourceOptions",
    "Study",
    "StudyResult",
    "study_schema",
]
