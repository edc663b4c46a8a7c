"""What a check is, and what it returns.

A check is declared once, as a `Check` at the end of its own file, and listed in
`relprev.checks.registry`. What it returns, a `CheckResult`, holds values only: how it is
drawn, explained and published is found in the registry under its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pandas as pd

from relprev.checks.inputs import CheckInputs, sample_patients
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
    """It was not; this proves nothing."""

    CANNOT_TELL = "cannot tell"
    """The data do not allow the check to judge."""

    @staticmethod
    def of_test(p_value: float, level: float) -> Verdict:
        """Of a test that rejects below ``1 - level``.

        Parameters
        ----------
        p_value : float
            NaN if the test could not be made.
        level : float
            One less the share of tests that reject by chance.

        Returns
        -------
        Verdict
            A concern if the test rejects.
        """
        if p_value != p_value:
            return Verdict.CANNOT_TELL
        return Verdict.CONCERN if p_value < 1 - level else Verdict.NO_CONCERN


@dataclass(frozen=True)
class CheckResult:
    """Outcome of a check.

    Parameters
    ----------
    kind : str
        Which check this is, such as ``"overlap"``.
    name : str
        Title, in words.
    verdict : Verdict
        Concern, no concern, or that it cannot be told.
    effect : Message
        What was found and how large it is; ``str(effect)`` gives the words.
    table : pandas.DataFrame
        The numbers behind it.
    statistic, p_value : float, optional
        NaN for a check that is not a test.
    interval : (low, high), optional
        Of the effect.

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
        """The numbers behind the verdict.

        Returns
        -------
        pandas.DataFrame
            A copy of ``table``.
        """
        return self.table.copy()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the check.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.

        Returns
        -------
        matplotlib Axes
            With the drawing.
        """
        from matplotlib import pyplot as plt

        from relprev.checks.registry import CHECKS

        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        CHECKS[self.kind].draw(ax, self.table)
        ax.set_title(f"{self.name}: {self.verdict}")
        return ax

    def plain(self) -> dict[str, Any]:
        """All but the table, as JSON can hold it; see `from_plain`.

        Returns
        -------
        dict
            Plain values.
        """
        numbers = [self.statistic, self.p_value, *self.interval]
        return {
            "kind": self.kind, "name": self.name, "verdict": str(self.verdict),
            "effect": self.effect.plain(),
            "numbers": [None if value != value else float(value) for value in numbers],
        }  # fmt: skip

    @staticmethod
    def from_plain(plain: Mapping[str, Any], table: pd.DataFrame) -> CheckResult:
        """The result that `plain` described.

        Parameters
        ----------
        plain : mapping
            From `plain`.
        table : pandas.DataFrame
            The result's table.

        Returns
        -------
        CheckResult
            An equal one.
        """
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
    """Everything there is to know of a kind of check.

    Parameters
    ----------
    kind : str
        Its name in study files and results.
    title : str
        In words.
    explained : str
        What it asks and how its numbers are read, for the report.
    run : function of CheckInputs
        Makes the check; returns one result or several.
    table : mapping of column to Column
        What every column of the results' table holds. Others are not published.
    columns : tuple of str
        The columns that people read; the files hold all.
    draw : function of (axes, table)
        Draws the rows of which something is shown, and nothing at all if there is none.
    interval : str
        The column that is shown with ``ci_low`` and ``ci_high``.
    needs : tuple of "purple" and "debiased"
        Estimators without which it cannot be made.
    references : tuple of str
        Keys of works to cite.
    refits : bool
        Fits models again, and so uses a sample of a large cohort.
    seconds : float
        Time it takes with 1.4 million visits in four groups, about.
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
    refits: bool = False
    seconds: float = 10.0

    def results(self, inputs: CheckInputs) -> list[CheckResult]:
        """Make the check, on a sample where it fits models again and there are many visits."""
        if not self.refits:
            return self.run(inputs)
        sample = sample_patients(inputs.cohort, inputs.max_visits, inputs.seed)
        found = self.run(replace(inputs, cohort=sample))
        if sample.n == inputs.cohort.n:
            return found
        note = Message(
            "Made on a random sample of {used} out of {all}.",
            used=Count(sample.n, "visit"),
            all=Count(inputs.cohort.n, "visit", cells=(("n",),)),
        )
        return [replace(one, effect=joined([one.effect, note])) for one in found]

    def result(
        self, verdict: Verdict, effect: Message, table: pd.DataFrame, *, name: str = "",
        statistic: float = NAN, p_value: float = NAN, interval: tuple[float, float] = (NAN, NAN),
    ) -> CheckResult:  # fmt: skip
        """A result of this kind, called by the check's title unless it has another name."""
        return CheckResult(
            self.kind, name or self.title, verdict, effect, table, statistic, p_value, interval
        )
