"""Analyses of a group variable beside its estimates, as stages of a study."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.cohort import Cohort, StratumOfRows
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.estimates import versus_words, why_missing
from relprev.inference import anchor
from relprev.inference.differences import heterogeneity, numbers_of, trend
from relprev.inference.rates import recorded_rates
from relprev.inference.standardising import standardised
from relprev.matrix.coerce import listed
from relprev.messages import Message, Number
from relprev.report.analyses import Analysis
from relprev.store.stages import Outcome
from relprev.study.cohorts.building import groups_table
from relprev.study.stages.kept import recorded_warnings

if TYPE_CHECKING:
    from relprev.study.file.options import AnchorOptions
    from relprev.study.stages.variable import Variable


NO_ESTIMATE = "no estimate: too few diagnosed patients, or groups told apart"
PRECISION = ("std_error", "degrees_of_freedom")  # of the logarithm
SHOWN_RATIOS = (
    "group", "versus", "estimate", "ci_low", "ci_high", "observed_ratio", "observed_ci_low",
    "observed_ci_high",
)  # fmt: skip


def crude_rates(variable: Variable) -> list[Analysis]:
    """Recorded rates of all groups, where visits have weights; counts tell them where not."""
    if "weights" not in variable.cohort.fields:
        return []
    lonely, level = variable.inference.lonely_psu, variable.options.level
    try:
        table = recorded_rates(variable.cohort, lonely_psu=lonely, level=level)
    except InvalidInputError:  # no variance; estimators that need one say so, with the remedy
        return []
    return [Analysis("recorded", "crude", table)]


def absolute_rates(variable: Variable, options: AnchorOptions) -> Outcome:
    """Diagnosis rates and prevalences of all groups, from an outside value of one."""
    table = anchor(
        variable.debiased, options.group, interval=options.interval,
        level=variable.options.level, diagnosis_rate=options.diagnosis_rate,
        prevalence=options.prevalence,
    )  # fmt: skip
    assert options.interval is not None
    low, high = options.interval
    words = Message(
        "outside value: {what} {value} ({low} to {high}) in {group}{source}",
        what=options.given.replace("_", " "), value=Number(options.value), low=Number(low),
        high=Number(high), group=options.group,
        source=Message(", from {source}", source=options.source) if options.source else "",
    )  # fmt: skip
    table = table.assign(outside=table["group"] == options.group)
    return Outcome.of([Analysis("absolute", options.group, table, (words,))])


def within_strata(
    variable: Variable, own: StratumOfRows, name: str, standard: str | Mapping[str, float]
) -> Outcome:
    """Estimates in every stratum, tests of whether they differ and, with a standard, standardised.

    A stratum is estimated as a domain: visits outside it still count for the survey design.
    """
    frames, precisions = [], []
    for k, stratum in enumerate(own.names):
        with recorded_warnings() as said:
            frame, precision = _in_stratum(variable, own.number == k)
        for message in said:
            told = Message("{variable}, {strata} {stratum}: {said}", variable=variable.name,
                           strata=name, stratum=stratum, said=message)  # fmt: skip
            warnings.warn(DataWarning(told), stacklevel=2)
        frames.append(frame.assign(stratum=stratum))
        precisions.append(precision)
    table = _with_counts(pd.concat(frames, ignore_index=True), variable.cohort, own)
    words = tuple(_differences(frames, precisions, own.names, name, variable.options.level))
    more = _standardised(variable, own, name, standard) if standard else []
    return Outcome.of([Analysis("strata", name, table, words), *more])


def _in_stratum(variable: Variable, inside: NDArray[np.bool_]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimates on some rows, with a note where there are none, and how precise they are."""
    columns = [*SHOWN_RATIOS, "note"]
    try:
        if not inside.any():
            raise TooFewCasesError(Message("the stratum has no rows"))
        fitted = variable.estimator().fit(variable.cohort, domain=inside)
        frame = fitted.relative_prevalence(variable.versus, level=variable.options.level).to_frame()
    except TooFewCasesError:
        frame = pd.DataFrame([], columns=["group", "versus"])
    precision = frame.reindex(columns=list(PRECISION)).astype(float)
    notes = np.where(frame.get("estimate", pd.Series(dtype=float)).isna(), NO_ESTIMATE, "")
    frame = frame.assign(note=pd.array(notes, dtype="str")).reindex(columns=columns)
    absent = [group for group in variable.cohort.group_names if group not in set(frame["group"])]
    note = NO_ESTIMATE if not len(frame) else "reference"
    more = pd.DataFrame({"group": absent, "versus": "", "note": note}).reindex(columns=columns)
    both = [part for part in (frame, more) if len(part)]
    table = pd.concat(both, ignore_index=True)
    return table, precision.reindex(table.index)


def _with_counts(table: pd.DataFrame, cohort: Cohort, own: StratumOfRows) -> pd.DataFrame:
    """The table with visits, diagnosed visits and the people behind them."""
    frames = []
    for k, stratum in enumerate(own.names):
        rows = np.flatnonzero(own.number == k)
        if len(rows):
            frames.append(groups_table(cohort.take(rows)).assign(stratum=stratum))
    counts = pd.concat(frames, ignore_index=True)
    merged = table.merge(counts, "left", ["stratum", "group"])
    numbers = [str(name) for name in counts if name not in ("stratum", "group")]
    merged[numbers] = merged[numbers].fillna(0).astype(np.int64)
    return merged


def _differences(
    frames: list[pd.DataFrame], precisions: list[pd.DataFrame], names: Sequence[str],
    strata: str, level: float,
) -> Iterator[Message]:  # fmt: skip
    """Per contrast, whether strata differ and, if their names are numbers, whether they change."""
    at = numbers_of(names)
    known = [pd.concat(both, axis=1).query("versus != ''")
             for both in zip(frames, precisions, strict=True)]  # fmt: skip
    table = pd.concat([frame.assign(place=k) for k, frame in enumerate(known)])
    cells = tuple((column, "strata", strata, stratum, group)
                  for column in ("n", "n_diagnosed") for stratum in names
                  for group in dict.fromkeys(table["group"]))  # fmt: skip
    for (group, versus), part in table.groupby(["group", "versus"], sort=False):
        errors, freedom = (part[name] for name in PRECISION)
        found = heterogeneity(part["estimate"], errors, degrees_of_freedom=freedom)
        if np.isnan(found.p_value):
            continue
        who = {"group": str(group), "versus": versus_words(str(versus))}
        yield Message("{group} versus {versus}: test that all strata have the same ratio, p = {p}",
                      **who, p=Number(found.p_value, ".2g", cells))  # fmt: skip
        if at is not None:
            line = trend(part["estimate"], errors, [at[k] for k in part["place"]],
                         degrees_of_freedom=freedom, level=level)  # fmt: skip
            yield Message(
                "{group} versus {versus}: changes by a factor of {factor} ({low} to {high}) per "
                "unit of {strata}, p = {p}", **who, strata=strata,
                factor=Number(line.factor, ".3g", cells), low=Number(line.ci_low, ".3g", cells),
                high=Number(line.ci_high, ".3g", cells), p=Number(line.p_value, ".2g", cells),
            )  # fmt: skip


def _standardised(
    variable: Variable, own: StratumOfRows, name: str, standard: str | Mapping[str, float]
) -> list[Analysis]:
    """Standardised relative prevalences and, where visits have weights, recorded rates."""
    numbers = np.maximum(own.number, -1)[variable.debiased.rows_].astype(np.int32)
    table = standardised(variable.debiased, numbers, own.names, variable.versus,
                         standard=standard, level=variable.options.level)  # fmt: skip
    to = "all visits" if isinstance(standard, str) else "the study's standard: " + ", ".join(
        f"{key} {value:g}" for key, value in standard.items())  # fmt: skip
    words = Message("standardised by {name} to {to}", name=name, to=to)
    if empty := _without_data(table):
        words = Message("{words}, except comparisons without data ({empty})", words=words,
                        empty=listed(empty))  # fmt: skip
        told = Message(
            "{variable}: not all ratios are standardised by {name}: there are no data on {empty}; "
            "merge strata or groups, or leave these strata out of the standard",
            variable=variable.name, name=name, empty=listed(empty),
        )  # fmt: skip
        warnings.warn(DataWarning(told), stacklevel=2)
    found = {"standardised": table}
    if "weights" in variable.cohort.fields:
        found["recorded"] = recorded_rates(
            variable.cohort, own.number, own.names, standard=standard,
            lonely_psu=variable.inference.lonely_psu, level=variable.options.level,
        )  # fmt: skip
    return [Analysis(kind, name, _explained(one, standard), (words,))
            for kind, one in found.items()]  # fmt: skip


def _without_data(table: pd.DataFrame) -> list[str]:
    """Groups without visits in a stratum of the standard, in words."""
    reasons = [json.loads(text).get("no data", []) for text in table["withheld"] if text]
    return list(dict.fromkeys(name for names in reasons for name in names))


def _explained(table: pd.DataFrame, standard: str | Mapping[str, float]) -> pd.DataFrame:
    """The table with reasons for gaps, and whether the visits of all groups are the standard."""
    notes = [why_missing(row) for row in table.to_dict("records")]
    return table.assign(note=pd.array(notes, dtype="str"), pooled=isinstance(standard, str))
