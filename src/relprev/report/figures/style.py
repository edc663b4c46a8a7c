"""How all figures look: colours, labels, legends and axes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

# Colours of Okabe and Ito, which people with any common colour vision can tell apart.
CORRECTED = "#0072B2"
RECORDED = "#D55E00"
OTHERS = ("#009E73", "#CC79A7", "#56B4E9", "#E69F00")
INK = "#000000"
WIDTH = 5.6  # inches
LABEL_WIDTH = 22  # characters at which a row's label is wrapped
LINE_LETTERS = 64  # letters that fit in a line above the axes
STYLE: Any = {
    "font.size": 10.0,
    "axes.labelsize": 10.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.prop_cycle": cycler(color=[CORRECTED, RECORDED, *OTHERS]),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "legend.frameon": False,
    "legend.facecolor": "none",
    "text.color": INK,
}
Plot = TypeVar("Plot", bound=Callable[..., Axes])


def styled(plot: Plot) -> Plot:
    """Draw in the report's style, and show dollar signs in names as they are."""

    @wraps(plot)
    def drawn(*args: Any, **more: Any) -> Axes:
        with mpl.rc_context(STYLE):
            ax = plot(*args, **more)
            for text in ax.figure.findobj(Text):
                text.set_parse_math(False)
            return ax

    return drawn  # type: ignore[return-value]


def legend_above(ax: Axes) -> None:
    """Put the legend above the axes, where it hides nothing, in as many columns as fit."""
    handles, labels = ax.get_legend_handles_labels()
    words = [wrapped_label(label, LINE_LETTERS // 2) for label in labels]
    longest = max((len(line) for label in words for line in label.split("\n")), default=0)
    columns = int(np.clip(LINE_LETTERS // (longest + 4), 1, 3))
    ax.legend(
        handles, words, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns,
        borderaxespad=0.2, handletextpad=0.3, columnspacing=1.2,
    )  # fmt: skip
    lines = sum(label.count("\n") + 1 for label in words) / columns
    figure: Any = ax.figure
    if len(figure.axes) == 1:  # room for more than two lines
        figure.set_figheight(figure.get_figheight() + 0.2 * max(0.0, lines - 2))


def log_axis(ax: Axes, values: np.ndarray) -> None:
    """Make the x axis logarithmic, with round ticks, so that it covers 1 and all finite values."""
    finite = np.append(values[np.isfinite(values) & (values > 0)], 1.0)
    low, high = finite.min() / 1.1, finite.max() * 1.1
    ratio = high / low
    steps: tuple[float, ...] = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    steps = (1,) if ratio > 1000 else (1, 2, 5) if ratio > 8 else steps
    steps = (1, 1.1, 1.2, 1.3, 1.5, 7, 8, 9) if ratio < 1.8 else steps
    ticks = [m * 10.0**e for e in range(-6, 7) for m in steps if low <= m * 10.0**e <= high]
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def axes_for(ax: Axes | None, labels: list[str], row_inches: float, margin: float) -> Axes:
    """The given axes, or new ones tall enough for the rows."""
    if ax is not None:
        return ax
    size = (WIDTH, height_of(labels, row_inches, margin))
    return plt.figure(figsize=size, layout="constrained").subplots()


def off_screen(ax: Axes) -> Axes:
    """The axes, on a figure that no notebook or window will show."""
    plt.close(ax.figure)  # type: ignore[arg-type]
    return ax


def named_rows(ax: Axes, y: np.ndarray, labels: list[str]) -> None:
    """Name the rows at these heights, the same room for each, without axis or ticks."""
    ax.set_yticks(y, labels)
    ax.set_ylim(-0.6, len(y) - 0.4)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def height_of(labels: list[str], row_inches: float, margin: float) -> float:
    lines = max((label.count("\n") + 1 for label in labels), default=1)
    return margin + len(labels) * max(row_inches, 0.17 * lines)


def wrapped_label(text: str, width: int = LABEL_WIDTH, lines: int = 3) -> str:
    """Text in lines, cut after a few, for a label."""
    return "\n".join(textwrap.wrap(text, width, max_lines=lines, placeholder=" …")) or " "
