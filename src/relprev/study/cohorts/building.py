"""The cohorts of a study: build them, in memory or in parts, keep them in a folder, reopen them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.cohort import BuiltCohort, Cohort, GroupVariable, build_cohorts
from relprev.cohort.characteristics import (
    Codes,
    Errors,
    characteristics_table,
    levels_and_strata,
    levels_read,
)
from relprev.cohort.group_variable import Division
from relprev.cohort.summary import group_patients, group_totals
from relprev.disclosure import nested_groups
from relprev.disclosure.nesting import Nesting, within
from relprev.disclosure.suppression import MIN_VALUES
from relprev.errors import InvalidInputError
from relprev.inference.sampling import SamplingDesign
from relprev.messages import message_of
from relprev.settings import KeyPath, suggestion, unprintable
from relprev.sources.source import Source
from relprev.store.stages import Outcome
from relprev.study.cohorts.contrasts import as_used, reference_group, sampling_words, versus_words
from relprev.study.cohorts.notes import features_notes, groups_notes
from relprev.study.file.simulated import SimulatedSource
from relprev.study.file.source import source_words

if TYPE_CHECKING:  # it leads to the report, which no cohort depends on
    from relprev.study.study import Study
from relprev.study.cohorts.keeping import PARTS, keep_cohort, keep_strata

KEYS = ["group", "versus"]


def study_cohorts(
    study: Study, source: Source, folder: Path, *, verbose: bool = False
) -> dict[str, BuiltCohort]:
    """The cohort of every group variable; names in the data that cannot be used are errors.

    A study that keeps its cohorts on disk puts them into ``folder``, which must not exist.
    """
    _require_telling_nothing(study)
    require_columns(study, source)
    options: dict[str, Any] = {}
    if study.compute.out_of_core:
        options = {"folder": folder, "rows_per_part": study.compute.rows_per_part}
    try:
        spec = replace(study.cohort, derive={})  # the source has these columns already
        built = build_cohorts(spec, source, verbose=verbose, **options)
    except InvalidInputError as error:
        message = message_of(error)
        own = error if message is None else type(error)(message.about(study.cohort.unit_of(source)))
        raise study.about((), own) from None
    for position, (name, item) in enumerate(built.items()):
        groups = item.cohort.group_names
        if any(map(unprintable, groups)):
            raise study.error(
                ("groups", position, "column"),
                "a value of this column contains a control character, which no report can show; "
                "name the values to compare (recode), or clean the column",
            )
        outside = study.anchor.get(name)
        for place, wanted in (
            (("estimate", "reference", name), study.estimate.reference.get(name)),
            (("anchor", name, "group"), outside.group if outside else None),
        ):
            if wanted is not None and wanted not in groups:
                why = str(item.left_out.get(wanted, f"no {study.cohort.unit_of(source).plural}"))
                names = ", ".join(groups)
                words = f"{wanted!r} is not in the cohort ({why}); its groups are {names}"
                raise study.error(place, words)
    return built


def require_columns(study: Study, source: Source) -> None:
    """Fail at the first column that the study names and the source lacks."""
    present = source.columns("visits")
    for path, column in _columns_named(study):
        if column not in present:
            why = f" ({source.absent[column]})" if column in source.absent else ""
            raise study.error(
                path,
                f"the {source.name} source has no column {column!r}{why}; "
                f"{suggestion(column, present)}",
            )


def _require_telling_nothing(study: Study) -> None:
    """Fail if a limit of the study's own would narrow counts down that its report hides.

    A group that is kept has ``minimum_size`` visits, a feature more than ``min_count``: of one
    whose count is hidden, few values would be left.
    """
    rule, remedy = study.disclosure, "or show all counts ([disclosure] hide = false)"
    for position, group in enumerate(study.cohort.groups):
        if rule.hide and 1 < group.minimum_size <= rule.threshold:
            raise study.error(
                ("groups", position, "minimum_size"),
                f"{group.minimum_size} would tell hidden counts of 1 to {rule.threshold} apart; "
                f"give 0, or {rule.threshold + 1} or more, {remedy}",
            )
    least = study.cohort.features.min_count
    if rule.hide and 0 < rule.threshold - least < MIN_VALUES and least:
        raise study.error(
            ("features", "min_count"),
            f"{least} would narrow hidden counts of 1 to {rule.threshold} down to "
            f"{least + 1} or more; give {rule.threshold} or more, or at most "
            f"{max(rule.threshold - MIN_VALUES, 0)}, {remedy}",
        )


def _columns_named(study: Study) -> Iterator[tuple[KeyPath, str]]:
    """Every column that the study names, with its key."""
    cohort = study.cohort
    places: list[tuple[KeyPath, tuple[Any, ...]]] = [
        (("include",), cohort.include),
        (("exclude",), cohort.exclude),
        (("features", "extra"), cohort.features.extra),
    ]
    for path, items in places:
        for position, item in enumerate(items):
            if item.column:
                yield (*path, position, "column"), item.column
    grouped: list[tuple[str, Sequence[Division]]] = [
        ("groups", cohort.groups), ("strata", cohort.strata),
    ]  # fmt: skip
    for key, variables in grouped:
        for position, group in enumerate(variables):
            for part in cohort.parts_of(group) or (group,):
                yield (key, position, "column"), part.columns[0]
    if cohort.tested is not None:
        yield ("tested", "column"), cohort.tested.column


def column_name(group: GroupVariable) -> str:
    """The column of a group variable; empty if it combines several."""
    return "" if group.is_cross else group.columns[0]


def build(study: Study, folder: Path, *, verbose: bool = False) -> Outcome:
    """Read the data, build the cohorts and save them.

    The outcome's values name each cohort's file, the file's checksum and the cohort's digest; its
    tables are attrition, groups and, for simulated data, the truth.
    """
    for old in folder.parent.glob(f"{PARTS}*"):  # large, and of other settings or data
        shutil.rmtree(old, ignore_errors=True)
    with study.open_source() as source:
        built = study_cohorts(study, source, folder, verbose=verbose)
        values: dict[str, Any] = {
            "source": source_words(source), "details": dict(source.details),
            "descriptions": dict(source.descriptions), "variables": {}, "numbers": {}, "levels": [],
            "unit": study.cohort.unit_of(source).noun,
        }  # fmt: skip
        tables, read = {}, levels_read(source)
        for position, (name, item) in enumerate(built.items()):
            cohort = as_used(item.cohort, study.inference)
            values["sampling"] = sampling_words(cohort, study.cohort.unit_of(source))
            values["weighted"] = "weights" in cohort.fields
            values["variables"][name] = keep_cohort(item.cohort, folder, position) | {
                "left_out": {group: why.plain() for group, why in item.left_out.items()},
                "strata": keep_strata(item, folder.parent),
            }
            tables[f"attrition{position}"] = item.attrition.to_frame()
            tables[f"groups{position}"] = groups_table(item.cohort)
            tables[f"characteristics{position}"] = characteristics_table(
                name, built, read, _errors_of_totals(cohort, study.inference.lonely_psu)
            )
            values["levels"] += [
                (name, characteristic, strata, *pair)
                for characteristic, strata, pairs in levels_and_strata(name, built, read)
                for pair in pairs
            ]
            if isinstance(source, SimulatedSource):
                reference = reference_group(cohort, name, study.estimate)
                truth = source.truth(item, versus_words(reference, study.estimate)).to_frame()
                tables[f"truth{position}"] = truth[[*KEYS, "estimate"]]
    values["inside"] = groups_inside(built)
    features = item.cohort.feature_names or ()
    values["exclusive"] = [*_exclusive(study, features), *_bins(source, features)]
    values["features"] = features_words(item.kinds, source)
    for name, number in item.numbers.items():
        values["numbers"][name] = {"centre": number.centre, "scale": number.scale}
        values["descriptions"] |= number.descriptions()
    said = features_notes(study.cohort.condition, features, source.descriptions)
    for item in built.values():
        said += groups_notes(item, study)
    return Outcome(values, tables, tuple(said))


def _errors_of_totals(cohort: Cohort, lonely: str) -> Errors | None:
    """Standard errors of sums of weights under the design; None if there is none, or no weights."""
    weights = cohort.weights
    if weights is None:
        return None
    try:
        design = SamplingDesign.from_cohort(cohort, lonely)
    except InvalidInputError:  # estimators will say so, with the remedy
        return None
    if design.degrees_of_freedom < 1:
        return None

    def errors(cell: Codes, size: int) -> NDArray[np.float64]:
        found = np.zeros(size)
        for k in range(size):
            rows = np.flatnonzero(cell == k)
            if len(rows):
                own = design.take(rows).totals([weights[rows]])
                found[k] = np.sqrt(max(float(design.covariance(own)[0, 0]), 0.0))
        return found

    return errors


def groups_inside(built: Mapping[str, BuiltCohort]) -> tuple[Nesting, ...]:
    """Groups of one variable that lie within a group of another."""
    labels = {name: _group_of_visits(item) for name, item in built.items()}
    names: dict[str, Sequence[str]] = {
        name: item.cohort.group_names for name, item in built.items()
    }
    for name, item in built.items():
        for strata, own in item.strata.items():
            groups = item.cohort.group_names
            number = own.number.astype(np.int32) * len(groups) + item.cohort.groups
            label = np.full(len(item.visits), -1, dtype=np.int32)
            label[item.visits] = np.where(own.number < 0, -1, number)
            labels[within(name, strata)] = label
            names[within(name, strata)] = [
                within(stratum, group) for stratum in own.names for group in groups
            ]
    return nested_groups(labels, names)


def _group_of_visits(item: BuiltCohort) -> NDArray[np.int32]:
    """Group of every visit of the source, -1 if it is not in the cohort, shape (visits,)."""
    label = np.full(len(item.visits), -1, dtype=np.int32)
    label[item.visits] = item.cohort.groups
    return label


def _exclusive(study: Study, features: Sequence[str]) -> list[list[str]]:
    """For each column made into features, those features: a visit has at most one of them."""
    starts = [(f"{one.column}:[", f"{one.column}:missing") if one.edges else (f"{one.column}=",)
              for one in study.cohort.features.extra if not one.is_number]  # fmt: skip
    return [[name for name in features if name.startswith(start)] for start in starts]


def _bins(source: Source, features: Sequence[str]) -> list[list[str]]:
    """The source's features of which a visit has at most one, such as bins of a vital sign."""
    used = set(features)
    together = [[name for name in names if name in used] for names in source.exclusive]
    return [names for names in together if len(names) > 1]


def features_words(counts: Mapping[str, int], source: Source) -> str:
    """Number of features of every kind, in words, with the prefixes of their names."""
    words = {kind.name: f"{kind.words} ({kind.prefix})" for kind in source.kinds}
    words["numbers"] = "numbers and curves of them"
    return ", ".join(f"{words.get(name, 'other columns')} {n:,}" for name, n in counts.items())


def groups_table(cohort: Cohort) -> pd.DataFrame:
    """Columns group, n, n_diagnosed; where patients are known, three more that count them."""
    n, n_diagnosed = group_totals(cohort)[:2]
    names = list(cohort.group_names)
    table = pd.DataFrame({"group": names, "n": n, "n_diagnosed": n_diagnosed})
    people = group_patients(cohort)
    if people is None:
        return table
    columns = ("patients", "patients_diagnosed", "patients_undiagnosed")
    return table.assign(**dict(zip(columns, people, strict=True)))
