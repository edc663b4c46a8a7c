"""The keys of a study file, and the file described as a JSON Schema.

seed = 1
cohort = "ipv-neds"          # or condition, include, features, groups: see relprev.cohort.spec

[source]
kind = "neds"                # its reader's arguments follow
core = "NEDS_2019_Core.csv"

[controls]                   # conditions that are hardly ever missed, to judge the estimate by
sets = ["emergency"]

[estimate]                   # all of what follows has defaults
methods = ["debiased", "purple"]
versus = "complement"
level = 0.95

[inference]
lonely_psu = "adjust"

[checks]
run = ["constant_ratio", "overlap"]

[report]
title = "Intimate partner violence, NEDS 2019"

[anchor.race]                # absolute rates: one outside value, and how sure it is
group = "White"
prevalence = 0.031
interval = [0.028, 0.034]

[disclosure]
threshold = 10               # counts of 1 to 10 people, and what reveals them, are hidden

[compute]
out_of_core = true           # cohorts on disk, for data larger than memory

[atlas]
conditions = ["ccsr"]        # of 'relprev atlas'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from relprev.cohort import Case, Exclude, Features, GroupVariable, Include, Screening, Strata
from relprev.cohort.controls import Controls
from relprev.cohort.spec import Condition
from relprev.disclosure.rule import Rule
from relprev.settings import Declared, KeyPath
from relprev.study.file import options
from relprev.study.file.source import SourceTable

MOVED: dict[KeyPath, str] = {
    ("report", "hide_small_counts"): "[disclosure] has it now: hide = true or false"
}


@dataclass(frozen=True, kw_only=True)
class StudyFile(Declared):
    """The keys of a study file."""

    source: Annotated[SourceTable, Field(description="Where the data come from.")]
    cohort: Annotated[
        str, Field(description="A shipped cohort; the keys below replace parts of it.")
    ] = ""
    condition: Condition | None = None
    conditions: Annotated[
        tuple[Condition, ...] | None,
        Field(
            min_length=2,
            description="Several conditions, each studied on its own; one report compares them.",
        ),
    ] = None
    include: Annotated[
        tuple[Include, ...] | None, Field(description="Which visits, rule by rule.")
    ] = None
    exclude: Annotated[
        tuple[Exclude, ...] | None, Field(description="Which visits to leave out, rule by rule.")
    ] = None
    case: Annotated[
        Case | None, Field(description="When a visit counts as diagnosed; default: by any code.")
    ] = None
    features: Annotated[
        Features | None, Field(description="Which codes are symptoms; default all.")
    ] = None
    tested: Annotated[
        Screening | None, Field(description="Who was looked at for the condition, if known.")
    ] = None
    derive: Annotated[
        Mapping[str, str] | None,
        Field(description="Columns of your own, by expressions over those of the source."),
    ] = None
    groups: Annotated[
        tuple[GroupVariable, ...] | None, Field(description="The groups to compare.")
    ] = None
    strata: Annotated[
        tuple[Strata, ...] | None,
        Field(description="Strata within which the groups are compared as well."),
    ] = None
    without_codes: Literal["drop", "keep"] | None = None
    unit: Annotated[
        Literal["visit", "person"] | None,
        Field(description="What a row is: a visit, or a person with the codes of all visits."),
    ] = None
    controls: Annotated[
        Controls | None,
        Field(description="Conditions that are hardly ever missed, to judge the estimate by."),
    ] = None
    seed: Annotated[int, Field(ge=0, lt=2**32, description="Of everything random.")] = 0
    estimate: options.EstimateOptions = field(default_factory=options.EstimateOptions)
    inference: options.InferenceOptions = field(default_factory=options.InferenceOptions)
    checks: options.CheckOptions = field(default_factory=options.CheckOptions)
    report: options.ReportOptions = field(default_factory=options.ReportOptions)
    disclosure: Rule = field(default_factory=Rule)
    anchor: Annotated[
        Mapping[str, options.AnchorOptions],
        Field(description="An outside value of a group of a variable, for absolute rates."),
    ] = field(default_factory=dict)
    compute: options.ComputeOptions = field(default_factory=options.ComputeOptions)
    atlas: options.AtlasOptions = field(default_factory=options.AtlasOptions)


def study_schema() -> dict[str, Any]:
    """JSON Schema of the study file, for editors.

    Returns
    -------
    dict
        The schema; ``relprev schema`` prints it.

    Examples
    --------
    >>> sorted(study_schema()["properties"])[:3]
    ['anchor', 'atlas', 'case']
    """
    schema = TypeAdapter(StudyFile).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "relprev study",
    }
