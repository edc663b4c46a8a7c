"""Analyses of a group variable beside its estimates, as stages of a study."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from relprev.inference import anchor
from relprev.messages import Message, Number
from relprev.report.analyses import Analysis
from relprev.store.stages import Outcome

if TYPE_CHECKING:
    from relprev.study.options import AnchorOptions
    from relprev.study.variable import Variable


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
        source=f", from {options.source}" if options.source else "",
    )  # fmt: skip
    table = table.assign(outside=table["group"] == options.group)
    return kept([Analysis("absolute", options.group, table, (words,))])


def kept(analyses: Iterable[Analysis]) -> Outcome:
    """Analyses as the outcome of a stage; `analyses_of` has them back."""
    found = list(analyses)
    return Outcome(
        {"analyses": [one.plain() for one in found]},
        {f"table{k}": one.table for k, one in enumerate(found)},
    )


def analyses_of(outcome: Outcome) -> list[Analysis]:
    """The analyses that `kept` put into an outcome; none if they could not be made."""
    plain = enumerate(outcome.values.get("analyses", ()))
    return [Analysis.from_plain(one, outcome.tables[f"table{k}"]) for k, one in plain]
