"""The controls one by one: errors with intervals, the band that they predict, the estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_controls(ax: Axes, controls: pd.DataFrame, target: pd.Series) -> None:
    """Draw the errors of one contrast.

    Parameters
    ----------
    ax : matplotlib axes
    controls : pandas.DataFrame
        Rows of `Calibration.leave_one_out`.
    target : pandas.Series
        The contrast's row of `Calibration.to_frame`.
    """
    rows = controls.sort_values("error")
    position = np.arange(len(rows)) + 1.0
    low, high = target["mean_error"] / target["band"], target["mean_error"] * target["band"]
    if np.isfinite(low):
        ax.axvspan(low, high, color="C0", alpha=0.15, linewidth=0, label="where an error may lie")
    ax.axvline(1.0, color="grey", linewidth=1)
    ends = [rows["error"] - rows["ci_low"], rows["ci_high"] - rows["error"]]
    ax.errorbar(rows["error"], position, xerr=ends, fmt="o", markersize=4, color="C0",
                label="control: corrected over recorded ratio")  # fmt: skip
    correction = target["estimate"] / target["observed_ratio"]
    ax.plot([correction], [0.0], "D", color="C1", label="what the correction did to the condition")
    ax.set_yticks([0.0, *position], ["condition", *rows["control"]])
    ax.set_xscale("log")
    ax.set_xlabel("corrected ratio over recorded ratio")
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.16), fontsize="small")
