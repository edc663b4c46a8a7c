"""What a check is, and what it returns.

A check is declared once, as a `Check` at the end of its own file, and listed in
`relprev.checks.registry`. It returns a `CheckResult`, which holds only values: how they are
drawn, explained and published is looked up in the registry by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from relprev.checks.inputs import MARGIN, CheckInputs, sample_patients, well_diagnosed
from relprev.disclosure.columns import Column
from relprev.messages import Count, Message, Number, joined
from relprev.units import Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any  # drawing alone loads matplotlib

NAN = float("nan")


class Verdict(StrEnum):
    """What a check concludes.

    Examples
    --------
    A violation between 1.2 and 2.5 times; one that is too uncertain; one that is small:

    >>> [str(Verdict.of_interval(*ends)) for ends in ((1.2, 2.5), (0.4, 2.5), (1.1, 1.4))]
    ['concern', 'cannot tell', 'no concern']

    Something that is 1 or more even if all is well, and several verdicts together:

    >>> print(Verdict.of_excess(1.6, 2.1), Verdict.worst([Verdict.NO_CONCERN]), sep="; ")
    concern; no concern
    """

    CONCERN = "concern"
    """A violation was found, and it may be large enough to matter."""

    NO_CONCERN = "no concern"
    """A violation large enough to matter is excluded, as far as this check can see."""

    CANNOT_TELL = "cannot tell"
    """A violation that matters is neither found nor excluded."""

    @staticmethod
    def of_interval(
        low: float, high: float, margin: float = MARGIN, *, found: bool | None = None
    ) -> Verdict:
        """By equivalence, from the interval of a violation whose absence is a factor of 1.

        Parameters
        ----------
        low, high : float
            Ends of the interval; NaN if there is none.
        margin : float
            A violation by less than this factor, up or down, cannot matter.
        found : bool, optional
            Whether a violation was found. Default: the interval excludes 1. With several
            comparisons it is the answer of a test that allows for their number.

        Returns
        -------
        Verdict
            *No concern* if the interval lies within ``[1 / margin, margin]``, also if it excludes
            1 (detectable, but small); otherwise *concern* if a violation was found, and *cannot
            tell* if not.
        """
        if low != low or high != high:
            return Verdict.CANNOT_TELL
        if 1 / margin <= low and high <= margin:
            return Verdict.NO_CONCERN
        seen = not low <= 1 <= high if found is None else found
        return Verdict.CONCERN if seen else Verdict.CANNOT_TELL

    @staticmethod
    def of_excess(low: float, high: float, limit: float = MARGIN) -> Verdict:
        """By the same logic, where a factor of 1 cannot be expected even if all is well.

        Parameters
        ----------
        low, high : float
            Ends of the interval of a factor that is 1 or more by construction.
        limit : float
            What it must not reach.

        Returns
        -------
        Verdict
            *No concern* below the limit, *concern* above it, *cannot tell* on both sides.
        """
        if high <= limit:
            return Verdict.NO_CONCERN
        return Verdict.CONCERN if low > limit else Verdict.CANNOT_TELL

    @staticmethod
    def worst(verdicts: Iterable[Verdict]) -> Verdict:
        """A concern if there is one; no concern if all are; cannot tell otherwise.

        Parameters
        ----------
        verdicts : iterable of Verdict
            On several comparisons; of none, nothing can be told.

        Returns
        -------
        Verdict
            On all of them.
        """
        found = set(verdicts)
        if Verdict.CONCERN in found:
            return Verdict.CONCERN
        return Verdict.NO_CONCERN if found == {Verdict.NO_CONCERN} else Verdict.CANNOT_TELL


def decisive(verdicts: Sequence[Verdict], size: ArrayLike) -> tuple[Verdict, int]:
    """The verdict on all comparisons, and which of those that have it is largest.

    Examples
    --------
    >>> verdict, which = decisive([Verdict.NO_CONCERN, Verdict.CANNOT_TELL], [3.0, 1.0])
    >>> print(verdict, which)
    cannot tell 1
    """
    verdict = Verdict.worst(verdicts)
    among = np.array([one is verdict for one in verdicts])
    return verdict, int(np.nanargmax(np.where(among, np.abs(size), -1.0)))


def margin_words(verdict: Verdict, low: float, high: float, margin: float) -> list[Message]:
    """What an interval says about violations that matter, to follow its numbers; none if plain.

    Examples
    --------
    >>> print(*margin_words(Verdict.CANNOT_TELL, 0.4, 2.5, 1.5))
    A violation by a factor of 1.5 is neither found nor excluded.
    """
    factor = Number(margin)
    if verdict is Verdict.CANNOT_TELL and low == low:
        return [
            Message("A violation by a factor of {factor} is neither found nor excluded.",
                    factor=factor)
        ]  # fmt: skip
    if verdict is Verdict.NO_CONCERN and not low <= 1 <= high:
        return [
            Message("This is detectable, but within a factor of {factor}: too small to matter.",
                    factor=factor)
        ]  # fmt: skip
    return []


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
    withhold : Message, optional
        Why no estimate of this group variable should be shown as an answer; None if nothing
        speaks against it.

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
    withhold: Message | None = None

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
            "withhold": None if self.withhold is None else self.withhold.plain(),
        }  # fmt: skip

    @staticmethod
    def from_plain(plain: Mapping[str, Any], table: pd.DataFrame) -> CheckResult:
        """Rebuild a result from the values of `plain` and its table."""
        statistic, p_value, *ends = (NAN if one is None else one for one in plain["numbers"])
        reason = plain["withhold"]
        return CheckResult(
            plain["kind"], plain["name"], Verdict(plain["verdict"]),
            Message.from_plain(plain["effect"]), table, statistic, p_value, (ends[0], ends[1]),
            None if reason is None else Message.from_plain(reason),
        )  # fmt: skip

    def about(self, unit: Unit) -> CheckResult:
        """The same result in words of a unit other than visits.

        Examples
        --------
        >>> from relprev.units import PERSON
        >>> said = Message("Few visits with a diagnosis.")
        >>> found = CheckResult("overlap", "Overlap", Verdict.CONCERN, said, pd.DataFrame())
        >>> print(found.about(PERSON).effect)
        Few people with a diagnosis.
        """
        held = None if self.withhold is None else self.withhold.about(unit)
        return replace(self, effect=self.effect.about(unit), withhold=held)

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
    by_symptoms : bool
        Whether violations show only through the risk that symptoms predict: where these predict
        nothing, it has found nothing.
    assumption : bool
        Whether it examines an assumption, and so counts in the verdict on trust; otherwise it
        asks what a violation would do to the answer.
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
    by_symptoms: bool = False
    assumption: bool = True
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
        withhold: Message | None = None,
    ) -> CheckResult:  # fmt: skip
        """A result of this kind, with the check's title as its name unless another is given."""
        return CheckResult(
            self.kind, name or self.title, verdict, effect, table, statistic, p_value, interval,
            withhold,
        )  # fmt: skip
