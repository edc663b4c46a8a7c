"""What every check returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, cast

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

Verdict = Literal["no concern", "concern"]
Draw = Callable[[Axes, pd.DataFrame], None]


@dataclass(frozen=True)
class CheckResult:
    """Outcome of a check.

    Parameters
    ----------
    name : str
    verdict : "no concern" or "concern"
    effect : str
        What was found and how large it is, in words.
    table : pandas.DataFrame
        The numbers behind it.
    draw : function of (axes, table)
        Draws the table; called by `plot`.
    statistic, p_value : float, optional
        NaN for a check that is not a test.
    interval : (low, high), optional
        Of the effect.

    Examples
    --------
    >>> from relprev.checks import check_leakage
    >>> from relprev.simulate import ed_visits
    >>> found = check_leakage(ed_visits(20_000, n_codes=200, seed=0).cohort)
    >>> found.kind, found.verdict
    ('leakage', 'no concern')
    >>> list(found.to_frame().columns[:3])
    ['feature', 'n', 'n_diagnosed']
    >>> found.plot().get_xlabel()
    'share diagnosed among rows with the feature'
    """

    name: str
    verdict: Verdict
    effect: str
    table: pd.DataFrame
    draw: Draw = field(repr=False)
    statistic: float = float("nan")
    p_value: float = float("nan")
    interval: tuple[float, float] = (float("nan"), float("nan"))

    @property
    def kind(self) -> str:
        """Which check this is: the name of the module that draws it, such as ``"overlap"``."""
        return self.draw.__module__.rpartition(".")[2]

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
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.draw(ax, self.table)
        ax.set_title(f"{self.name}: {self.verdict}")
        return ax

    def plain(self) -> dict[str, Any]:
        """All but the table, as JSON can hold it; see `from_plain`."""
        numbers = [self.statistic, self.p_value, *self.interval]
        plain = [None if value != value else float(value) for value in numbers]
        return {"kind": self.kind, "name": self.name, "verdict": self.verdict,
                "effect": self.effect, "numbers": plain}  # fmt: skip

    @staticmethod
    def from_plain(plain: Mapping[str, Any], table: pd.DataFrame) -> CheckResult:
        """The result that `plain` described."""
        nan = float("nan")
        statistic, p_value, *ends = (nan if one is None else one for one in plain["numbers"])
        return CheckResult(
            plain["name"], plain["verdict"], plain["effect"], table, drawing(plain["kind"]),
            statistic, p_value, (ends[0], ends[1]),
        )  # fmt: skip

    def __str__(self) -> str:
        p = "" if self.p_value != self.p_value else f" (p = {self.p_value:.2g})"
        return f"{self.name}: {self.verdict}{p}. {self.effect}"


def drawing(kind: str) -> Draw:
    """How a kind of check draws its table, for results that were read back from a file.

    Examples
    --------
    >>> drawing("overlap").__module__
    'relprev.checks.overlap'
    """
    return cast(Draw, import_module(f"relprev.checks.{kind}")._draw)
