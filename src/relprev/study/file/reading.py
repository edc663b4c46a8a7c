"""Read a study file: the studies in it, or an error with the line of a mistake and its remedy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, cohort_spec
from relprev.cohort.spec import cohort_spec_names
from relprev.errors import InvalidInputError
from relprev.settings import (
    KeyPath,
    located,
    parse_settings,
    settings_text,
    suggestion,
    unprintable,
)
from relprev.study.file.keys import MOVED, StudyFile
from relprev.study.file.source import SOURCES, SourceOptions
from relprev.study.study import Study


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
    if unprintable(path.stem):  # the report calls the study by it
        raise InvalidInputError(
            f"the name of the study file, {path.stem!r}, contains a control character; rename it"
        )
    return parse_settings(text, StudyFile, str(path), folder=path.parent, moved=MOVED), text


def _study(content: StudyFile, path: Path, text: str) -> Study:
    study = Study(
        source=SourceOptions(content.source.kind, content.source.given(), path.parent),
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
