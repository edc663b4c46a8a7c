"""A look at a study before anything is fitted: does the file fit the data?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from relprev.arrays import numbered
from relprev.checks.signs import warn_of_no_signs
from relprev.codes import CodeSet, roll_up
from relprev.cohort import Cohort
from relprev.cohort.unmatched import MOST_NAMED, code_hints, matched_codes, nameable, values_of
from relprev.disclosure import NOT_SHOWN
from relprev.disclosure.nesting import Nesting
from relprev.errors import InvalidInputError
from relprev.inference.estimable import MIN_PATIENTS
from relprev.inference.sampling import SamplingDesign
from relprev.matrix.coerce import listed
from relprev.messages import Message, Number, message_of
from relprev.report import VariableFindings
from relprev.settings import KeyPath, suggestion
from relprev.sources.source import Source
from relprev.store.files import TemporaryFolder
from relprev.study.cohorts.building import (
    column_name,
    features_words,
    groups_inside,
    groups_table,
    study_cohorts,
)
from relprev.study.cohorts.notes import features_notes, groups_notes, protocol_note
from relprev.study.stages.checks import require_blocks
from relprev.study.stages.kept import recorded_warnings
from relprev.study.stages.variable import Variable
from relprev.study.study import Study
from relprev.units import Unit

TOO_FEW = Message("too few are diagnosed")


@dataclass(frozen=True)
class Inspection:
    """What `inspect_study` saw.

    Parameters
    ----------
    source : str
        Kind of source.
    codes : mapping of pattern to int
        How many distinct codes of the source each pattern of the condition matches.
    variables : tuple of VariableFindings
        Attrition and groups of every group variable, before small counts are hidden.
    words : mapping of group variable to text
        Features and design of its cohort.
    notes : tuple of Message
        What deserves a look.
    problems : tuple of Message
        What would stop the study.
    inside : tuple of (variable, group, other variable, other group)
        Groups that lie within a group of another variable.
    unit : Unit
        What a row of the data is.
    """

    source: str
    codes: Mapping[str, int]
    variables: tuple[VariableFindings, ...]
    words: Mapping[str, str]
    notes: tuple[Message, ...]
    problems: tuple[Message, ...]
    inside: tuple[Nesting, ...]
    unit: Unit


def inspect_study(study: Study) -> Inspection:
    """Read the data and build the cohorts; fit nothing."""
    columns = {group.name: column_name(group) for group in study.cohort.groups}
    variables, words, problems = [], {}, []
    with recorded_warnings() as on_opening:
        source = study.open_source()
    with source, TemporaryFolder() as folder:
        with recorded_warnings(on_opening) as said:
            built = study_cohorts(study, source, Path(folder, "cohorts"))
        notes = [*on_opening, *_suitability(study.cohort.condition)]
        notes += [*unknown_values(study, source), *unmatched_exclusions(study, source), *said]
        codes = matched_codes(study.cohort.condition, source)
        notes += [
            Message("condition: {hint}", hint=hint)
            for hint in code_hints(study.cohort.condition, source)
        ]
        for name, item in built.items():
            opened = partial(getattr, item, "cohort")
            variable = Variable(name, opened, study.estimate, study.inference)
            require_blocks(study, variable)
            variables.append(
                VariableFindings(
                    name, {}, item.attrition.to_frame(), (), pd.DataFrame(),
                    {**item.left_out, **dict.fromkeys(_thin(variable), TOO_FEW)},
                    groups_table(item.cohort), columns[name],
                )
            )  # fmt: skip
            words[name] = _words(variable.cohort)
            words[name] += f"\nFeatures: {features_words(item.kinds, source)}"
            words[name] += "".join(
                f"\nStrata by {strata}: {listed(list(own.names))}"
                for strata, own in item.strata.items()
            )
            notes += [*_notes(variable), *groups_notes(item, study)]
            notes += [
                Message("{variable}: {what}", variable=name, what=what)
                for what in warn_of_no_signs(variable.cohort)
            ]
            problems += _problems(variable, study)
        notes += protocol_note(study)
        features = item.cohort.feature_names or ()
        notes += features_notes(study.cohort.condition, features, source.descriptions)
        inside = groups_inside(built)
    unit = study.cohort.unit_of(source)
    notes = list(dict.fromkeys(notes))
    return Inspection(
        source.name, codes, tuple(variables), words, tuple(note.about(unit) for note in notes),
        tuple(problem.about(unit) for problem in problems), inside, unit,
    )  # fmt: skip


def unknown_values(study: Study, source: Source) -> Iterator[Message]:
    """Values in rules and recodes that no visit has, with their keys and remedies."""
    cohort = study.cohort
    named: list[tuple[KeyPath, str, tuple[str, ...]]] = [
        ((rule.key, k, "one_of"), rule.column, rule.one_of)
        for rules in (cohort.include, cohort.exclude)
        for k, rule in enumerate(rules)
    ]
    named += [
        ((key, k, "recode", name), one.columns[0], tuple(values))
        for key, several in (("groups", cohort.groups), ("strata", cohort.strata))
        for k, one in enumerate(several)
        for name, values in one.recode.items()
    ]
    counts = {
        column: values_of(source, column) for column in {item[1] for item in named if item[2]}
    }
    unknown = [(path, column, value) for path, column, values in named for value in values
               if value not in counts[column]]  # fmt: skip
    for path, column, value in unknown[:MOST_NAMED]:
        yield Message(
            "{where}: no visit has {value!r} in {column}; {hint}", where=study.place(path),
            value=value, column=column, hint=suggestion(value, nameable(counts[column])),
        )  # fmt: skip
    if len(unknown) > MOST_NAMED:
        more = Number(len(unknown) - MOST_NAMED, ",d")
        yield Message("no visit has {n} further values that the study names", n=more)


def unmatched_exclusions(study: Study, source: Source) -> Iterator[Message]:
    """Patterns of ``features.exclude`` that no recorded code matches, with their key."""
    features, lengths = study.cohort.features, source.code_lengths
    if not features.exclude:
        return
    found = source.query("SELECT DISTINCT version, code FROM codes")
    broad = roll_up(found, features.roll_up)
    for k, (text, pattern) in enumerate(zip(features.exclude, features.excluded, strict=True)):
        cut = lengths.get(pattern.version)
        used = pattern if cut is None else pattern.cut_to(cut)
        if not any(used.matches(*code) for code in (*found, *broad)):
            yield Message(
                "{where}: no code that was read matches {pattern}; prefixes are {prefixes}",
                where=study.place(("features", "exclude", k)), pattern=text,
                prefixes=listed(sorted({version for version, _ in found})),
            )  # fmt: skip


def _suitability(condition: CodeSet) -> list[Message]:
    """What the code set says about the method, unless it suits the condition."""
    if condition.suits in ("", "yes"):
        return []
    words = "condition: does the method suit {name}? {suits}: {why}"
    return [Message(words, name=condition.name, suits=condition.suits, why=condition.note)]


def _words(cohort: Cohort) -> str:
    """Features and design; visits and patients are in the last line of the attrition table."""
    words = [f"{cohort.n_cols:,} features"]
    words += ["sampling weights"] if "weights" in cohort.fields else []
    for name, units in {"strata": "strata", "psus": "primary sampling units"}.items():
        if name in cohort.fields:
            values = getattr(cohort, name)
            words.append(f"{len(numbered(values)[0]):,} {units}")
    return ", ".join(words)


def _notes(variable: Variable) -> list[Message]:
    """Groups that get no debiased estimate, and what that means for the others."""
    thin = _thin(variable)
    enough = len(variable.cohort.group_names) - len(thin) >= 2
    if not thin or not enough or "debiased" not in variable.options.methods:
        return []
    words = (
        "{variable}: too few diagnosed {units} for a debiased estimate in {groups}; {then}; merge "
        "with another group (recode), or leave out (recode, minimum_size)"
    )
    return [Message(words, variable=variable.name, units=_units(variable.cohort),
                    groups=listed(thin), then=_consequence(thin, variable))]  # fmt: skip


def _thin(variable: Variable) -> list[str]:
    """Groups with too few diagnosed for a debiased estimate."""
    return [group for group, n in _diagnosed(variable.cohort).items() if n < MIN_PATIENTS]


def _consequence(thin: list[str], variable: Variable) -> str:
    """What groups without an estimate mean for the others."""
    versus = variable.options.versus
    if versus == "complement":
        return 'with versus = "complement" no group gets one, as each needs all others'
    if versus == "reference" and variable.reference in thin:
        return f"{variable.reference} is the reference, so no group gets one"
    return "comparisons with it get none"


def _problems(variable: Variable, study: Study) -> list[Message]:
    """What would stop the estimators."""
    cohort, found = variable.cohort, []
    diagnosed = _diagnosed(cohort)
    if sum(n >= MIN_PATIENTS for n in diagnosed.values()) < 2:
        found.append(Message(
            "{variable}: fewer than two groups have enough diagnosed {units} for an estimate; "
            "merge groups or widen the condition",
            variable=variable.name, units=_units(cohort),
        ))  # fmt: skip
    try:
        SamplingDesign.from_cohort(cohort, study.inference.lonely_psu)
    except InvalidInputError as error:
        found.append(Message(
            "{where}: {variable}: {why}", where=study.place(("inference", "lonely_psu")),
            variable=variable.name, why=message_of(error) or Message(NOT_SHOWN),
        ))  # fmt: skip
    return found


def _diagnosed(cohort: Cohort) -> dict[str, int]:
    """Diagnosed patients of every group, or visits where patients are not known."""
    table = groups_table(cohort)
    column = "patients_diagnosed" if "patients_diagnosed" in table else "n_diagnosed"
    return dict(zip(table["group"], table[column].tolist(), strict=True))


def _units(cohort: Cohort) -> Message:
    return Message("patients" if "clusters" in cohort.fields else "visits")
