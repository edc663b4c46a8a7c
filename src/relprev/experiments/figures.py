"""Draw figures in the paper's layout: estimate over truth, with one panel per setting."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from relprev.experiments.experiment import Experiment
from relprev.experiments.methods import METHODS
from relprev.store.files import written_whole

FORMATS = ("svg", "png", "pdf")
# Okabe and Ito's colours, distinguishable with any kind of colour vision; purple for PURPLE.
COLOURS = {
    "purple": "#7B3294", "purple-auc": "#CC79A7", "purple-no-penalty": "#AA4499",
    "debiased": "#332288", "oracle": "#000000", "observed": "#999999", "negative": "#D55E00",
    "sar-em": "#0072B2", "sar-em-group": "#44AA99", "sar-em-published": "#004488",
    "elkan-noto": "#882255", "bbe": "#009E73", "dedpul": "#56B4E9", "tice": "#E69F00",
    "km2": "#B8A800", "negative-no-intercept": "#A04000",
}  # fmt: skip
OTHER_COLOURS = ("#88CCEE", "#661100", "#117733")
MARKERS = "osD^vPX*<>phd8H1"
SHADES = ("#CBB0DA", "#9E6BB8", "#7B3294", "#3F1052", "#1D0526")


def draw(experiment: Experiment, table: pd.DataFrame) -> Figure:
    """The figure of an experiment, from its summary (see `relprev.experiments.summary`)."""
    panels = _panels(experiment, table)
    columns = min(len(panels), 2)
    rows = ceil(len(panels) / columns)
    figure = Figure(figsize=(1.5 + 3.3 * columns, 1.2 + 3 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axis, (title, part) in zip(axes.flat, panels, strict=False):
        _panel(axis, experiment, part)
        axis.set_title(title, fontsize=10)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    figure.supylabel("Estimated / true relative prevalence", fontsize=10)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", fontsize=8, ncols=4 if columns > 1 else 3)
    figure.suptitle(experiment.title, fontsize=11)
    return figure


def write(experiment: Experiment, table: pd.DataFrame, folder: Path) -> list[Path]:
    """Write ``figure.svg``, ``.png`` and ``.pdf``."""
    figure = draw(experiment, table)
    paths = [folder / f"figure.{kind}" for kind in FORMATS]
    for path in paths:
        with written_whole(path) as temporary:
            figure.savefig(temporary, dpi=200, metadata=_undated(path.suffix))
    return paths


def _undated(suffix: str) -> dict[str, Any]:
    """Metadata without a date, so that the same results give the same file."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})


def _panels(experiment: Experiment, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    if not experiment.panel:
        return [("", table)]
    titles: dict[Any, str] = {True: "Separable", False: "Non-separable"}
    return [
        (titles.get(value, str(value)), part)
        for value, part in table.groupby(experiment.panel, sort=False)
    ]


def _panel(axis: Axes, experiment: Experiment, table: pd.DataFrame) -> None:
    positions = {value: k for k, value in enumerate(table[experiment.x].unique())}
    lines = list(_lines(experiment, table))
    for number, (part, style) in enumerate(lines):
        shift = 0.5 * ((number + 0.5) / len(lines) - 0.5)  # side by side
        part = part[part["mean"].notna()]
        x = [positions[value] + shift for value in part[experiment.x]]
        axis.errorbar(
            x, part["mean"], yerr=part["sd"].fillna(0.0), linewidth=0.8, markersize=4.5,
            capsize=2, **style,
        )  # fmt: skip
    axis.axhline(1.0, color="black", linestyle=":", linewidth=1, zorder=0)
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    middle = table["mean"].dropna()
    if len(middle):
        axis.set_ylim(min(0.5, 0.8 * middle.min()), max(2.0, 1.25 * middle.max()))
    axis.set_xticks(list(positions.values()), [f"{value:g}" for value in positions])
    axis.set_xlabel(experiment.x_label)


def _lines(
    experiment: Experiment, table: pd.DataFrame
) -> Iterator[tuple[pd.DataFrame, dict[str, Any]]]:
    """Rows and style of each line."""
    key = experiment.series or "method"
    for number, (value, part) in enumerate(table.groupby(key, sort=False)):
        if experiment.series:
            name = experiment.series.replace("_", " ")
            style = {"color": SHADES[number % len(SHADES)], "label": f"{name} {value:g}"}
        else:
            colour = COLOURS.get(str(value), OTHER_COLOURS[number % len(OTHER_COLOURS)])
            style = {"color": colour, "label": METHODS[str(value)].label}
        yield part, {**style, "marker": MARKERS[number % len(MARKERS)]}
