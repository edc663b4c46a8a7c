"""Figures 3 and S3 to S6 in the paper's layout, from results folders of ``relprev run``.

    python -m evidence case-study NEDS=results-neds MIMIC-IV=results-mimic --out figures

Only what a results folder shows is drawn: cells that its disclosure rule hides stay hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relprev.store.files import written_whole

METHOD = "DebiasedPURPLE"  # has intervals; PURPLE may be drawn too
COLOURS = ("#7B3294", "#009E73", "#0072B2", "#D55E00", "#999999", "#E69F00", "#56B4E9", "#000000")
Folders = Mapping[str, Path]  # by the name of the data


def estimates(folders: Folders, method: str) -> pd.DataFrame:
    """Contrasts with everyone else, one row per data set, variable and group."""
    found = []
    for name, folder in folders.items():
        table = pd.read_csv(_file(folder, "estimates.csv"))
        kept = (table["method"] == method) & (table["versus"] == "complement")
        found.append(table[kept].assign(data=name))
    return pd.concat(found, ignore_index=True)


def check_tables(folders: Folders, check: str) -> pd.DataFrame:
    """A check's tables, one below the other, with the columns data and variable."""
    found = []
    for name, folder in folders.items():
        variables = pd.read_csv(_file(folder, "estimates.csv"))["variable"].unique()
        for variable in variables:
            file = folder / "tables" / f"check-{variable}-{check}.csv"
            if file.is_file():
                found.append(pd.read_csv(file).assign(data=name, variable=variable))
    if not found:
        raise SystemExit(f"no results folder has tables of the check {check!r}")
    return pd.concat(found, ignore_index=True)


def figure_3(folders: Folders, method: str = METHOD) -> Figure:
    """Relative prevalence of every group, one panel per variable, one mark per data set."""
    table = estimates(folders, method)
    figure, axes = _panels(list(table["variable"].unique()))
    for variable, axis in axes.items():
        part = table[table["variable"] == variable]
        names = list(part["group"].unique())
        for number, (data, lines) in enumerate(part.groupby("data", sort=False)):
            x = np.array([names.index(group) for group in lines["group"]]) + 0.12 * number
            low, high = lines["estimate"] - lines["ci_low"], lines["ci_high"] - lines["estimate"]
            axis.errorbar(
                x, lines["estimate"], yerr=[low, high], fmt="o", capsize=3, markersize=4,
                color=COLOURS[number], label=data,
            )  # fmt: skip
        _ratio_axis(axis, names)
    _finish(figure, axes, f"Relative prevalence ({method})")
    return figure


def figure_s3(folders: Folders, method: str = METHOD) -> Figure:
    """The same estimates beside the recorded ratio."""
    table = estimates(folders, method)
    keys = [
        f"{data}: {name}" for data, name in table[["data", "variable"]].drop_duplicates().values
    ]
    figure, axes = _panels(keys)
    for (data, variable), part in table.groupby(["data", "variable"], sort=False):
        axis = axes[f"{data}: {variable}"]
        x = np.arange(len(part))
        low, high = part["estimate"] - part["ci_low"], part["ci_high"] - part["estimate"]
        axis.errorbar(
            x, part["estimate"], yerr=[low, high], fmt="o", capsize=3, markersize=4,
            color=COLOURS[0], label=method,
        )  # fmt: skip
        axis.plot(x + 0.15, part["observed_ratio"], "s", color=COLOURS[4], label="recorded")
        _ratio_axis(axis, list(part["group"]))
    _finish(figure, axes, "Corrected, and as recorded")
    return figure


def figure_s4(folders: Folders) -> Figure:
    """AUC and AUPRC of the constrained and the unconstrained model, mean and SD over splits."""
    table = check_tables(folders, "unconstrained")
    figure, axes = _panels([f"{d}: {m}" for d in folders for m in ("AUC", "AUPRC")])
    for (data, metric), part in table.groupby(["data", "metric"], sort=False):
        axis = axes[f"{data}: {metric}"]
        by = part.groupby("variable", sort=False)[["constrained", "unconstrained"]]
        mean, sd = by.mean(), by.std().fillna(0.0)
        labels = {"constrained": "PURPLE", "unconstrained": "unconstrained"}
        for number, kind in enumerate(labels):
            x = np.arange(len(mean)) + 0.36 * number
            axis.bar(x, mean[kind], 0.34, yerr=sd[kind], color=COLOURS[4 * number], capsize=3,
                     label=labels[kind])  # fmt: skip
        axis.set_xticks(np.arange(len(mean)) + 0.18, list(mean.index), fontsize=8)
    _finish(figure, axes, "Does the shared p(y|x) cost accuracy?")
    return figure


def figure_s5(folders: Folders) -> Figure:
    """Calibration by group: mean prediction and recorded share in fifths, SD over splits."""
    table = check_tables(folders, "calibration")
    table = table[table["drawn"]].dropna(subset=["predicted", "recorded"])
    keys = [
        f"{data}: {name}" for data, name in table[["data", "variable"]].drop_duplicates().values
    ]
    figure, axes = _panels(keys)
    for (data, variable), part in table.groupby(["data", "variable"], sort=False):
        axis = axes[f"{data}: {variable}"]
        for number, (group, line) in enumerate(part.groupby("group", sort=False)):
            axis.errorbar(
                line["predicted"], line["recorded"], xerr=line["predicted_sd"],
                yerr=line["recorded_sd"], fmt="o-", markersize=3, linewidth=0.8, capsize=2,
                color=COLOURS[number % len(COLOURS)], label=group,
            )  # fmt: skip
        top = float(part[["predicted", "recorded"]].max().max())
        axis.plot([0, top], [0, top], ":", color="black", linewidth=1)
        axis.set(xlabel="predicted p(s=1|x,g)", ylabel="recorded")
        axis.legend(fontsize=7, frameon=False)
    figure.suptitle("Calibration in every group", fontsize=11)
    for title, axis in axes.items():
        axis.set_title(title, fontsize=10)
    return figure


FIGURES: dict[str, Callable[[Folders], Figure]] = {
    "figure-3": figure_3,
    "figure-s3": figure_s3,
    "figure-s4": figure_s4,
    "figure-s5-s6": figure_s5,
}


def write(folders: Folders, out: Path) -> list[Path]:
    """Draw all figures as SVG; return their paths."""
    paths = []
    for name, draw in FIGURES.items():
        with written_whole(out / f"{name}.svg") as path:
            draw(folders).savefig(path, metadata={"Date": None})
        paths.append(out / f"{name}.svg")
    return paths


def parse(arguments: list[str]) -> dict[str, Path]:
    """``NAME=FOLDER`` arguments as a mapping."""
    found = {}
    for argument in arguments:
        name, equals, folder = argument.partition("=")
        if not equals or not name:
            raise SystemExit(f"expected NAME=FOLDER, got {argument!r}")
        found[name] = Path(folder)
    return found


def _file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise SystemExit(f"{folder} has no {name}; give a folder written by 'relprev run'")
    return folder / name


def _panels(names: Sequence[str]) -> tuple[Figure, dict[str, Axes]]:
    columns = min(len(names), 3)
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(1 + 3.2 * columns, 0.8 + 2.8 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    return figure, dict(zip(names, axes.flat, strict=False))


def _ratio_axis(axis: Axes, names: list[str]) -> None:
    axis.axhline(1.0, color="black", linestyle=":", linewidth=1, zorder=0)
    axis.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=8)


def _finish(figure: Figure, axes: Mapping[str, Axes], title: str) -> None:
    for letter, (name, axis) in zip("ABCDEFGHIJKLMNOP", axes.items(), strict=False):
        axis.set_title(f"{letter}. {name.replace('_', ' ')}", fontsize=10)
    next(iter(axes.values())).legend(fontsize=8, frameon=False)
    figure.suptitle(title, fontsize=11)
