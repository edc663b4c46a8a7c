"""The front of the page, which stands alone: two pages, printed.

Where there are few group variables and comparisons, the front has a figure and a table of each
variable, the runners-up of its answer, every finding of a check and every sensitivity analysis.
Otherwise it is condensed, and what it leaves out opens the appendix: an answer for each variable,
one table of the best supported comparisons, the checks by name, and what could overturn the
answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from relprev.display import MISSING
from relprev.estimates import COMPLEMENT, versus_words
from relprev.report.figures.flow import Step
from relprev.report.page.layout import DECOMPOSITION, CheckPart, Layout, VariablePart
from relprev.report.sentences.answers import Trust, strength, trust
from relprev.report.tables.reliability import UNRELIABLE
from relprev.report.tables.table import ReportTable

VARIABLES, ROWS = 2, 24  # that are not condensed; rows are also those of the condensed table
CARDS = 4  # variables whose answers are whole sentences in a condensed front


@dataclass(frozen=True)
class Front:
    """What the front shows.

    Parameters
    ----------
    layout : Layout
    trust : Trust
        In brief if condensed.
    table : ReportTable or None
        The comparisons of all variables, if condensed.
    left_out : int
        Comparisons that it leaves out.
    """

    layout: Layout
    trust: Trust
    table: ReportTable | None = None
    left_out: int = 0

    @property
    def cards(self) -> tuple[VariablePart, ...]:
        """Variables whose answers are told in whole sentences."""
        return self.layout.variables[: None if self.table is None else CARDS]

    @property
    def briefly(self) -> tuple[VariablePart, ...]:
        """Variables whose answers are told in short."""
        return self.layout.variables[len(self.cards) :]

    def overturning(self, part: VariablePart) -> tuple[CheckPart, ...]:
        """Sensitivity analyses of a variable: all or, condensed, that of its answer on a card."""
        if self.table is None:
            return part.sensitivity
        if part.slug not in {one.slug for one in self.cards}:
            return ()
        groups = list(part.found.counts["group"].astype(str))
        own = [one for one in part.sensitivity if _about(one, groups) == part.answer.about]
        return tuple(own[:1])

    @property
    def who(self) -> list[str]:
        """Who was left out, in words: the steps that all variables share, then those of each."""
        shared = self.layout.shared_steps
        said = [_chain([step for step in shared if step.excluded or step is shared[0]])]
        for part in self.layout.variables:
            own = [
                one for one in self.layout.own_steps(part) if one.excluded or one is part.steps[0]
            ]
            said += [f"By {part.name}: {_chain(own)}"] if own else []
        return [words for words in said if words]


def front_of(layout: Layout) -> Front:
    """The front of a report, condensed if it has many variables or comparisons."""
    count = sum(len(part.decomposition.frame) for part in layout.variables)
    if len(layout.variables) <= VARIABLES and count <= ROWS:
        return Front(layout, layout.trust)
    table = _best_supported(layout)
    return Front(layout, trust(layout.report, brief=True), table, count - len(table.frame))


def _chain(steps: Sequence[Step]) -> str:
    words = " → ".join(f"{step.words}: {step.left or MISSING}" for step in steps)
    return words and f"{words}."


def _about(one: CheckPart, groups: Sequence[str]) -> frozenset[str]:
    """The groups that a sensitivity analysis compares; none if it is of several comparisons."""
    frame = one.check.table
    if (
        not {"group", "versus"} <= set(frame)
        or len(frame[["group", "versus"]].drop_duplicates()) > 1
    ):
        return frozenset()
    group, versus = frame[["group", "versus"]].astype(str).iloc[0]
    if versus == COMPLEMENT and len(groups) == 2:  # everyone else by name, as the answer has it
        return frozenset(groups)
    return frozenset({group, versus})


def _best_supported(layout: Layout) -> ReportTable:
    """One table of all variables; of each, if there are too many rows, the best supported."""
    tables = {part.name: part.decomposition for part in layout.variables}
    many = sum(len(one.frame) for one in tables.values()) > ROWS
    share = max(ROWS // len(tables), 1) if many else ROWS
    level = layout.report.level
    kept = [(name, k) for name, one in tables.items() for k in _strongest(one.frame, share, level)]
    frame = pd.concat([tables[name].frame.iloc[[k]] for name, k in kept], ignore_index=True)
    named = [f"{name}: {group}" for (name, _), group in zip(kept, frame["group"], strict=True)]
    others = frame["versus"].unique()
    against = f", versus {versus_words(others[0])}" if len(others) == 1 else ""
    marked = frozenset(
        (at, column) for at, (name, k) in enumerate(kept)
        for row, column in tables[name].marked if row == k
    )  # fmt: skip
    return replace(
        next(iter(tables.values())),
        name="front",
        caption="Recorded ratio = diagnosis-rate ratio × corrected ratio"
        f"{against}{f'; {UNRELIABLE}' if marked else ''}",
        frame=frame.assign(group=named),
        columns=tuple(one for one in DECOMPOSITION if one != "versus" or not against),
        intervals={key: ends for one in tables.values() for key, ends in one.intervals.items()},
        instead={
            (at, column): text for at, (name, k) in enumerate(kept)
            for (row, column), text in tables[name].instead.items() if row == k
        },
        marked=marked,
    )  # fmt: skip


def _strongest(frame: pd.DataFrame, count: int, level: float) -> list[int]:
    """Positions of the best supported rows, in the table's order."""
    rows = frame.to_dict("records")
    order = sorted(range(len(rows)), key=lambda k: strength(rows[k], level), reverse=True)
    return sorted(order[:count])
