"""What a check is, and what it returns.

A check is declared once, as a `Check` at the end of its own file, and listed in
`relprev.checks.registry`. It returns a `CheckResult`, which holds only values: how they are
drawn, explained and published is looked up in the registry by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pandas as pd

from relprev.checks.inputs import CheckInputs, sample_patients, well_diagnosed
from relprev.disclosure.columns import Column
from relprev.messages import Count, Message, joined

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any  # drawing alone loads matplotlib

NAN = float("nan")


class Verdict(StrEnum):
    """What a check concludes.

    Examples
    --------
    >>> print(Verdict.CONCERN, Verdict.of_test(0.3, level=0.95), sep="; ")
    concern; no concern
    >>> print(Verdict.of_test(float("nan"), level=0.95))
    cannot tell
    """

    CONCERN = "concern"
    """More was found than chance or a stated limit allows."""

    NO_CONCERN = "no concern"
    """Nothing of the kind was found, which proves nothing."""

    CANNOT_TELL = "cannot tell"
    """The data do not allow the check to judge."""

    @staticmethod
    def of_test(p_value: float, level: float) -> Verdict:
        """Concern if a test rejects (p below ``1 - level``); NaN if it could not be made."""
        if p_value != p_value:
            return Verdict.CANNOT_TELL
        return Verdict.CONCERN if p_value < 1 - level else Verdict.NO_CONCERN


@dataclass(frozen=True)
class CheckResult:
    """Outcome of a check.

    Parameters
    ----------
    kind : str
        Which check it is, such as ``"overlap"``.
    name : str
        Title for people to read.
    verdict : Verdict
        Concern, no concern or cannot tell.
    effect : Message
        What was found and how large it is; ``str(effect)`` is the text.
    table : pandas.DataFrame
        The numbers behind the verdict.
    statistic, p_value : float, optional
        NaN for a check that is not a test.
    interval : (low, high), optional
        Confidence interval of the effect.

    Examples
    --------
    >>> from relprev.checks import check_leakage
    >>> from relprev.simulate import ed_visits
    >>> found = check_leakage(ed_visits(20_000, n_codes=200, seed=0).cohort)
    >>> found.kind, str(found.verdict)
    ('leakage', 'no concern')
    >>> list(found.to_frame().columns[:3])
    ['feature', 'n', 'n_diagnosed']
    >>> found.plot().get_xlabel()
    'share diagnosed among rows with the feature'
    >>> CheckResult.from_plain(found.plain(), found.table).effect == found.effect
    True
    """

    kind: str
    name: str
    verdict: Verdict
    effect: Message
    table: pd.DataFrame
    statistic: float = NAN
    p_value: float = NAN
    interval: tuple[float, float] = (NAN, NAN)

    def to_frame(self) -> pd.DataFrame:
        """A copy of ``table``."""
        return self.table.copy()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the check on matplotlib axes, by default those of a new figure; return them."""
        from matplotlib import pyplot as plt

        from relprev.checks.registry import CHECKS

        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        CHECKS[self.kind].draw(ax, self.table)
        ax.set_title(f"{self.name}: {self.verdict}")
        return ax

    def plain(self) -> dict[str, Any]:
        """Everything except the table, as values that JSON can represent; see `from_plain`."""
        numbers = [self.statistic, self.p_value, *self.interval]
        return {
            "kind": self.kind, "name": self.name, "verdict": str(self.verdict),
            "effect": self.effect.plain(),
            "numbers": [None if value != value else float(value) for value in numbers],
        }  # fmt: skip

    @staticmethod
    def from_plain(plain: Mapping[str, Any], table: pd.DataFrame) -> CheckResult:
        """Rebuild a result from the values of `plain` and its table."""
        statistic, p_value, *ends = (NAN if one is None else one for one in plain["numbers"])
        return CheckResult(
            plain["kind"], plain["name"], Verdict(plain["verdict"]),
            Message.from_plain(plain["effect"]), table, statistic, p_value, (ends[0], ends[1]),
        )  # fmt: skip

    def __str__(self) -> str:
        p = "" if self.p_value != self.p_value else f" (p = {self.p_value:.2g})"
        return f"{self.name}: {self.verdict}{p}. {self.effect}"


@dataclass(frozen=True, kw_only=True)
class Check:
    """Everything there is to know about a kind of check.

    Parameters
    ----------
    kind : str
        Its name in study files and results.
    title : str
        Its name for people to read.
    explained : str
        What it asks and how to read its numbers, for the report.
    run : function of CheckInputs
        Runs the check and returns a list of results.
    table : mapping of column to Column
        What each column of the result's table holds. Other columns are not published.
    columns : tuple of str
        The columns that reports show; files contain all.
    draw : function of (axes, table)
        Draws the rows that are not hidden, or nothing if there are none.
    interval : str
        The column that is shown with ``ci_low`` and ``ci_high``.
    needs : tuple of "purple" and "debiased"
        Fitted estimators that it requires.
    references : tuple of str
        Keys of works to cite.
    by_cases : bool
        Whether its p-value depends on the effective number of cases, which then follows from it.
    refits : bool
        Whether it refits models, and so uses a sample of a large cohort.
    seconds : float
        Approximate time for 1.4 million visits in four groups.
    """

    kind: str
    title: str
    explained: str
    run: Callable[[CheckInputs], list[CheckResult]]
    table: Mapping[str, Column]
    columns: tuple[str, ...]
    draw: Callable[[Axes, pd.DataFrame], None]
    interval: str = ""
    needs: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    by_cases: bool = False
    refits: bool = False
    seconds: float = 10.0

    def results(self, inputs: CheckInputs) -> list[CheckResult]:
        """Run the check.

        If it refits models: on groups with enough diagnosed patients, of a large cohort a sample.
        """
        if not self.refits:
            return self.run(inputs)
        cohort, few = well_diagnosed(inputs.cohort)
        drawn = sample_patients(cohort, inputs.max_visits, inputs.seed)
        sample, fewer = well_diagnosed(drawn)
        notes = []
        if few or fewer:
            words = "Left out for too few diagnosed patients: {groups}."
            notes.append(Message(words, groups=[*few, *fewer]))
        if drawn.n < cohort.n:
            words = "Based on a random sample of {used} out of {all}."
            every = Count(inputs.cohort.n, "visit", cells=(("n",),))
            notes.append(Message(words, used=Count(sample.n, "visit"), all=every))
        found = self.run(replace(inputs, cohort=sample))
        return [replace(one, effect=joined([one.effect, *notes])) for one in found]

    def result(
        self, verdict: Verdict, effect: Message, table: pd.DataFrame, *, name: str = "",
        statistic: float = NAN, p_value: float = NAN, interval: tuple[float, float] = (NAN, NAN),
    ) -> CheckResult:  # fmt: skip
        """A result of this kind, with the check's title as its name unless another is given."""
        return CheckResult(
            self.kind, name or self.title, verdict, effect, table, statistic, p_value, interval
        )
