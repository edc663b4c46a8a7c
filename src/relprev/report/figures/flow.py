"""The flow of who was left out: the steps that all group variables share, then those of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from relprev.report.figures.style import INK, styled, wrapped_label

ROW, COLUMN, WIDEST = 0.95, 3.6, 10.0  # inches
LETTERS = 34  # in a line of a box


@dataclass(frozen=True)
class Step:
    """One level of the attrition flow: how many are left, in words, and how many were excluded."""

    words: str
    left: str
    excluded: str


def shared_steps(flows: Sequence[Sequence[Step]]) -> int:
    """How many steps, from the first on, all flows have in common.

    Examples
    --------
    >>> first, adults = Step("all", "9 visits", ""), Step("adults", "7 visits", "2 visits excluded")
    >>> shared_steps([[first, adults], [first]])
    1
    """
    for number, steps in enumerate(zip(*flows, strict=False)):
        if len(set(steps)) > 1:
            return number
    return min(map(len, flows), default=0)


@styled
def plot_flow(shared: Sequence[Step], own: Mapping[str, Sequence[Step]]) -> Axes:
    """Boxes from top to bottom, with what each step excluded beside the arrow to it.

    Parameters
    ----------
    shared : sequence of Step
        Of all group variables.
    own : mapping of group variable to sequence of Step
        What follows for each; drawn side by side.
    """
    branches = {name: steps for name, steps in own.items() if steps}
    columns = max(len(branches), 1)
    rows = len(shared) + max((len(steps) for steps in branches.values()), default=0)
    size = (min(max(COLUMN * columns, 2 * COLUMN), WIDEST), ROW * max(rows, 1))
    ax = plt.figure(figsize=size, layout="constrained").subplots()
    ax.set_axis_off()
    ax.set_xlim(0, columns)
    ax.set_ylim(-rows + 0.4, 0.5)
    middle = columns / 2
    for place, step in enumerate(shared):
        _box(ax, (middle, -place), step, (middle, 1 - place) if place else None)
    for k, (name, steps) in enumerate(branches.items()):
        above: Any = (middle, 1 - len(shared)) if shared else None
        for place, step in enumerate(steps, len(shared)):
            title = f"By {name}: " if place == len(shared) and len(own) > 1 else ""
            _box(ax, (k + 0.5, -place), step, above, title)
            above = (k + 0.5, -place)
    return ax


def _box(
    ax: Axes, at: tuple[float, float], step: Step, above: tuple[float, float] | None,
    title: str = "",
) -> None:  # fmt: skip
    text = wrapped_label(f"{title}{step.words}", LETTERS) + (f"\n{step.left}" if step.left else "")
    frame = {"boxstyle": "round,pad=0.4", "facecolor": "none", "edgecolor": INK, "linewidth": 0.8}
    ax.text(*at, text, ha="center", va="center", fontsize=9, bbox=frame)
    if above is None:
        return
    ax.annotate("", (at[0], at[1] + 0.28), (above[0], above[1] - 0.28),
                arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 0.8})  # fmt: skip
    if step.excluded:
        place = ((at[0] + above[0]) / 2, at[1] + 0.5)
        ax.annotate(step.excluded, place, (6, 0), textcoords="offset points", va="center",
                    fontsize=8.5)  # fmt: skip
