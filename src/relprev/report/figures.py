"""Figures. Every function draws on the given axes and returns them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from relprev.report.tables import versus_words

# Colours of Okabe and Ito, told apart by all common forms of colour vision.
CORRECTED = "#0072B2"
RECORDED = "#D55E00"
TRUTH = "#000000"
ROW_INCHES = 0.55


def plot_forest(
    frame: pd.DataFrame, truth: pd.Series | None = None, ax: Axes | None = None
) -> Axes:
    """Relative prevalences on a log axis, recorded and corrected, one row a contrast.

    Parameters
    ----------
    frame : DataFrame
        From `RelativePrevalence.to_frame` (or `suppress`).
    truth : Series, optional
        Known values in the frame's order, for simulated data.
    ax : matplotlib Axes, optional
    """
    if ax is None:
        figure = Figure(figsize=(7.5, 1.6 + ROW_INCHES * len(frame)), layout="constrained")
        ax = figure.subplots()
    y = np.arange(len(frame))[::-1]
    estimate = frame["estimate"].to_numpy(float)
    recorded = frame["observed_ratio"].to_numpy(float)
    ax.axvline(1.0, color="0.6", linewidth=1, zorder=0)
    ax.plot(recorded, y - 0.14, "D", mfc="white", mec=RECORDED, ms=7, mew=1.6, label="Recorded")
    low, high = frame["ci_low"].to_numpy(float), frame["ci_high"].to_numpy(float)
    if np.isfinite(low).any():
        ax.hlines(y + 0.14, low, high, color=CORRECTED, linewidth=2)
    ax.plot(estimate, y + 0.14, "o", color=CORRECTED, ms=8, label="Corrected for underreporting")
    values = [estimate, recorded, low, high]
    if truth is not None:
        exact = truth.to_numpy(float)
        ax.plot(exact, y + 0.14, "|", color=TRUTH, ms=18, mew=2, label="Truth")
        values.append(exact)
    _log_axis(ax, np.concatenate(values))
    ax.set_yticks(y, [_row_label(row) for row in frame.to_dict("records")])
    ax.set_ylim(-0.6, len(frame) - 0.4)
    ax.set_xlabel("Relative prevalence (log scale; 1 = equally common)")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return ax


def _row_label(row: dict[Hashable, Any]) -> str:
    return f"{row['group']} vs {versus_words(row['versus'])}"


def _log_axis(ax: Axes, values: np.ndarray) -> None:
    """A log axis with round ticks that covers all finite values and 1."""
    finite = np.append(values[np.isfinite(values) & (values > 0)], 1.0)
    low, high = finite.min() / 1.15, finite.max() * 1.15
    steps = (1, 2, 5) if high / low > 8 else (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    ticks = [m * 10.0**e for e in range(-4, 5) for m in steps if low <= m * 10.0**e <= high]
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
