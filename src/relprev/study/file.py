"""The study file: read it, describe it as a JSON Schema, write one to start from.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from relprev.codes import CodeSet, code_set
from relprev.cohort import (
    Case,
    CohortSpec,
    Exclude,
    Features,
    GroupVariable,
    Include,
    Screening,
    Strata,
    cohort_spec,
)
from relprev.cohort.controls import Controls
from relprev.cohort.spec import Condition, cohort_spec_names
from relprev.disclosure.rule import Rule
from relprev.errors import InvalidInputError
from relprev.settings import (
    SETTINGS,
    KeyPath,
    located,
    parse_settings,
    settings_text,
    suggestion,
    unprintable,
)
from relprev.sources.kinds import Kind
from relprev.study.options import (
    AnchorOptions,
    AtlasOptions,
    CheckOptions,
    ComputeOptions,
    EstimateOptions,
    InferenceOptions,
    ReportOptions,
)
from relprev.study.source import SOURCES, SourceTable, source_options
from relprev.study.study import Study

MOVED: dict[KeyPath, str] = {
    ("report", "hide_small_counts"): "[disclosure] has it now: hide = true or false"
}


@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """The keys of a study file."""

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

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
        Field(description="Strata in which the groups are compared besides."),
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
    estimate: EstimateOptions = field(default_factory=EstimateOptions)
    inference: InferenceOptions = field(default_factory=InferenceOptions)
    checks: CheckOptions = field(default_factory=CheckOptions)
    report: ReportOptions = field(default_factory=ReportOptions)
    disclosure: Rule = field(default_factory=Rule)
    anchor: Annotated[
        Mapping[str, AnchorOptions],
        Field(description="An outside value of a group of a variable, for absolute rates."),
    ] = field(default_factory=dict)
    compute: ComputeOptions = field(default_factory=ComputeOptions)
    atlas: AtlasOptions = field(default_factory=AtlasOptions)


def read_study(path: str | Path, *, condition: CodeSet | None = None) -> Study:
    """The study in a file; see `Study.from_toml`.

    A ``condition`` takes the place of the file's, which need not have one then.
    """
    content, text = _content(path)
    if condition is not None:
        content = replace(content, condition=condition, conditions=None)
    if content.conditions is not None:
        words = "the study has several; relprev.study.read_studies reads them"
        raise located(text, str(path), ("conditions",), words)
    return _study(content, Path(path), text)


def read_studies(path: str | Path) -> list[Study]:
    """The studies in a file: one, or one for each of its conditions.

    Parameters
    ----------
    path : path
        A study file.

    Returns
    -------
    list of Study
        Alike but for the condition, for `relprev.study.run_conditions`.

    Examples
    --------
    >>> import tempfile
    >>> text = '''
    ... conditions = ["asthma", "copd"]
    ... [source]
    ... kind = "simulated"
    ... [[groups]]
    ... column = "group"
    ... '''
    >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
    ...     _ = file.write(text)
    ...     file.flush()
    ...     studies = read_studies(file.name)
    >>> [study.cohort.condition.name for study in studies]
    ['asthma', 'copd']
    """
    content, text = _content(path)
    if content.conditions is None:
        return [_study(content, Path(path), text)]
    for key, given in (("condition", content.condition), ("anchor", content.anchor)):
        if given:
            words = f"conditions are given too; {key} goes with one condition, so leave one out"
            raise located(text, str(path), (key,), words)
    if content.report.condition:
        words = "there are several conditions, so leave it out: they are called by their names"
        raise located(text, str(path), ("report", "condition"), words)
    each = [replace(content, condition=one, conditions=None) for one in content.conditions]
    return [_study(one, Path(path), text) for one in each]


def _content(path: str | Path) -> tuple[StudyFile, str]:
    path = Path(path)
    if not path.is_file():
        raise InvalidInputError(f"there is no study file {path}; 'relprev init' writes one")
    text = settings_text(path)
    _require_printable_name(path)
    return parse_settings(text, StudyFile, str(path), folder=path.parent, moved=MOVED), text


def _study(content: StudyFile, path: Path, text: str) -> Study:
    study = Study(
        source=source_options(content.source, path.parent),
        cohort=_cohort(content, path, text),
        estimate=content.estimate,
        inference=content.inference,
        checks=content.checks,
        report=content.report,
        compute=content.compute,
        atlas=content.atlas,
        disclosure=content.disclosure,
        anchor=content.anchor,
        seed=content.seed,
        name=path.stem,
        file=str(path),
        text=text,
    )
    _check_references(study)
    _check_anchors(study)
    _check_kinds(study)
    return study


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


def study_template(kind: str, condition: str = "ipv") -> str:
    """A commented study file for a kind of source and a named condition.

    Examples
    --------
    >>> print(study_template("neds").splitlines()[0])
    # A study of relative prevalence in NEDS, the Nationwide Emergency Department Sample.
    """
    if kind not in SOURCES:
        raise InvalidInputError(f"source={kind!r}: {suggestion(kind, list(SOURCES))}")
    code_set(condition)  # an unknown one is an error
    folder = resources.files("relprev") / "data" / "studies"
    head = (folder / f"{kind}.toml").read_text(encoding="utf-8")
    tail = (folder / "options.txt").read_text(encoding="utf-8")
    variable, group = SOURCES[kind].example
    lonely = "fail"
    if SOURCES[kind].has_strata:
        lonely = "adjust"
        tail = tail.replace("defaults.", 'defaults, except lonely_psu (default "fail").')
    words = {"@CONDITION@": condition, "@VARIABLE@": variable, "@GROUP@": group,
             "@LONELY@": lonely}  # fmt: skip
    text = _with_kinds(head, SOURCES[kind].kinds) + tail
    for place, word in words.items():
        text = text.replace(place, word)
    return text


def _with_kinds(head: str, kinds: Sequence[Kind]) -> str:
    """The text with the kinds of features that a source offers, as comments of [features]."""
    name, prefix = (max(len(getattr(kind, key)) for kind in kinds) for key in ("name", "prefix"))
    chosen = ", ".join(f'"{kind.name}"' for kind in kinds if kind.default)
    lines = [] if len(kinds) == 1 else [
        f"# kinds = [{chosen}]  # kinds of features; these are used unless you say so. There are:",
        *(f"#   {kind.name:<{name}}  {kind.prefix:<{prefix}}  {kind.words}" for kind in kinds),
    ]  # fmt: skip
    example = next((kind.prefix for kind in kinds if not kind.default), "ICD10")
    lines.append(
        f'# exclude = ["{example}:..."]  # codes of any kind that name the condition itself'
    )
    before, found, after = head.partition("\n[features]\n")
    table, gap, rest = after.partition("\n\n")
    return before + found + "\n".join([table, *lines]) + gap + rest if found else head


def _require_printable_name(path: Path) -> None:
    """The report calls the study by the name of its file."""
    if unprintable(path.stem):
        raise InvalidInputError(
            f"the name of the study file, {path.stem!r}, contains a control character; rename it"
        )


def _cohort(content: StudyFile, path: Path, text: str) -> CohortSpec:
    """The file's own cohort, or a shipped one with the parts that the file replaces."""
    names = ("condition", "include", "exclude", "case", "features", "groups", "strata",
             "without_codes", "unit", "controls", "tested", "derive")  # fmt: skip
    given: dict[str, Any] = {
        name: getattr(content, name) for name in names if getattr(content, name) is not None
    }
    if content.cohort and content.cohort not in cohort_spec_names():
        words = f"got {content.cohort!r}; {suggestion(content.cohort, cohort_spec_names())}"
        raise located(text, str(path), ("cohort",), words)
    missing = [name for name in ("condition", "groups") if name not in given]
    if missing and not content.cohort:
        words = f"{missing[0]} is missing; give it, or a shipped cohort such as"
        raise located(text, str(path), (), f'{words} cohort = "{cohort_spec_names()[0]}"')
    try:
        if content.cohort:
            return replace(cohort_spec(content.cohort), **given)
        return CohortSpec(**given, name=path.stem)
    except InvalidInputError as error:
        raise located(text, str(path), ("groups",), str(error)) from None


def _check_references(study: Study) -> None:
    groups = {group.name: group for group in study.cohort.groups}
    for name, reference in study.estimate.reference.items():
        at: KeyPath = ("estimate", "reference", name)
        if name not in groups:
            words = f"there is no group variable of that name; {suggestion(name, list(groups))}"
            raise study.error(at, words)
        named = [*groups[name].recode, *groups[name].bands]
        known = [*named, *filter(None, [groups[name].missing])]
        if named and reference not in known:
            raise study.error(at, f"got {reference!r}; {suggestion(reference, known)}")


def _check_anchors(study: Study) -> None:
    groups = [group.name for group in study.cohort.groups]
    for name in study.anchor:
        if name not in groups:
            words = f"there is no group variable of that name; {suggestion(name, groups)}"
            raise study.error(("anchor", name), words)
    wanting = [f"[{key}]" for key, asked in
               (("anchor", study.anchor), ("[strata]", study.cohort.strata)) if asked]  # fmt: skip
    if wanting and "debiased" not in study.estimate.methods:
        words = f'{wanting[0]} needs the method "debiased"; add it, or leave {wanting[0]} out'
        raise study.error(("estimate", "methods"), words)


def _check_kinds(study: Study) -> None:
    """Kinds of features must be among those that the source offers."""
    offered = [kind.name for kind in SOURCES[study.source.kind].kinds]
    for position, name in enumerate(study.cohort.features.kinds):
        if name not in offered:
            words = f"the {study.source.kind} source has no kind {name!r} of features"
            at: KeyPath = ("features", "kinds", position)
            raise study.error(at, f"{words}; {suggestion(name, offered)}")
