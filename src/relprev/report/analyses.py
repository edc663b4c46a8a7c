"""Analyses beside the estimates: what they are, and what the columns of their tables hold.

Each kind declares its columns, as checks do. Tables with counts are by stratum and group; they may
hold the people behind the counts (``patients``, ``patients_diagnosed``, ``patients_undiagnosed``),
which are not published but say which counts are small. Nor is ``pooled``, which is true where every
row's revealing numbers rest on the visits of all groups in the strata that they are made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from relprev.disclosure import Column
from relprev.messages import Message

COUNTS = ("n", "n_diagnosed")


@dataclass(frozen=True)
class Kind:
    """A kind of analysis.

    Parameters
    ----------
    title, explained : str
        For readers.
    columns : mapping of column to Column
        What the table's columns hold; others are not published.
    intervals : mapping of column to (low, high)
        Columns with intervals.
    together : str
        Column with a name that rows share whose revealing numbers are shown or hidden together.
    key : str
        Column that is true in a row whose counts follow from all other rows' numbers.
    made_of : str
        Kind of the analysis of the same name whose counts its revealing numbers are made of.
    """

    title: str
    explained: str
    columns: Mapping[str, Column]
    intervals: Mapping[str, tuple[str, str]]
    together: str = ""
    key: str = ""
    made_of: str = ""


@dataclass(frozen=True)
class Analysis:
    """One analysis of a group variable.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    name : str
        What it is by or of, such as ``"age group"``; with ``kind`` it is unique in a variable.
    table : DataFrame
        With the columns of its kind.
    words : tuple of Message
        What it found and what it rests on.

    Examples
    --------
    >>> table = pd.DataFrame({"group": ["a"], "diagnosis_rate": [0.4], "prevalence": [0.02]})
    >>> found = Analysis("absolute", "race", table, (Message("of one survey"),))
    >>> Analysis.from_plain(found.plain(), table) == found
    True
    """

    kind: str
    name: str
    table: pd.DataFrame = field(compare=False)
    words: tuple[Message, ...] = ()

    @property
    def about(self) -> Kind:
        """What kind of analysis it is."""
        return KINDS[self.kind]

    def plain(self) -> dict[str, Any]:
        """Plain values that JSON can hold, without the table; see `from_plain`."""
        return {"kind": self.kind, "name": self.name, "words": [one.plain() for one in self.words]}

    @staticmethod
    def from_plain(plain: Mapping[str, Any], table: pd.DataFrame) -> Analysis:
        """The analysis that `plain` described."""
        words = tuple(Message.from_plain(one) for one in plain["words"])
        return Analysis(plain["kind"], plain["name"], table, words)

    def parts(self) -> Iterator[dict[str, Any]]:
        """Every (stratum, group) of a table that has counts, once."""
        if set(COUNTS) <= set(self.table):
            once = self.table.drop_duplicates(["stratum", "group"])
            yield from ({str(key): value for key, value in row.items()}
                        for row in once.to_dict("records"))  # fmt: skip


RECORDED = {"rate": ("rate_low", "rate_high")}
RATES = {name: (f"{name}_low", f"{name}_high") for name in ("diagnosis_rate", "prevalence")}
RATIOS = {
    "estimate": ("ci_low", "ci_high"), "observed_ratio": ("observed_ci_low", "observed_ci_high"),
}  # fmt: skip
UNADJUSTED = {"unadjusted": ("unadjusted_ci_low", "unadjusted_ci_high")}
KINDS = {
    "recorded": Kind(
        "Recorded rates",
        "The share with the recorded diagnosis, by sampling weights. How common the condition is, "
        "these data do not tell.",
        {"group": Column.NAME}
        | dict.fromkeys(["rate", *RECORDED["rate"]], Column.REVEALING)
        | {"note": Column.NAME},
        RECORDED,
        made_of="strata",
    ),
    "absolute": Kind(
        "Absolute rates, from an outside value",
        "The data determine ratios only. Diagnosis rates and prevalences in this table rest on the "
        "outside value as much as on the data; its uncertainty is in the intervals.",
        {"group": Column.NAME, "outside": Column.NAME}
        | {name: Column.REVEALING for rate, ends in RATES.items() for name in (rate, *ends)},
        RATES,
        key="outside",
    ),
    "strata": Kind(
        "Estimates within strata",
        "Each stratum is estimated on its own, with its own diagnosis rates.",
        {"stratum": Column.NAME, "group": Column.NAME, "versus": Column.NAME}
        | dict.fromkeys(["estimate", *RATIOS["estimate"]], Column.FREE)
        | dict.fromkeys(["observed_ratio", *RATIOS["observed_ratio"]], Column.REVEALING)
        | dict.fromkeys(COUNTS, Column.COUNT)
        | {"note": Column.NAME},
        RATIOS,
        together="stratum",
    ),
    "standardised": Kind(
        "Standardised relative prevalence",
        "As if every group had the standard's distribution of strata, the unadjusted ratio beside "
        "it. A group's diagnosis rate is taken to be the same in all strata. A group without data "
        "in a stratum of the standard has no standardised ratio; others do, and among everyone "
        "else it counts in the strata that it has. Hidden where counts of strata are: standardised "
        "and unadjusted ratio together would give them away; with fewer strata there may be none "
        "to hide.",
        {"group": Column.NAME, "versus": Column.NAME}
        | dict.fromkeys(["estimate", *RATIOS["estimate"]], Column.REVEALING)  # with the unadjusted
        | dict.fromkeys(["unadjusted", *UNADJUSTED["unadjusted"]], Column.FREE)
        | dict.fromkeys(["observed_ratio", *RATIOS["observed_ratio"]], Column.REVEALING)
        | {"note": Column.NAME},
        RATIOS | UNADJUSTED,
        made_of="strata",
    ),
}
