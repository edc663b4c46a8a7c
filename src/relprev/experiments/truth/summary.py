"""How near the truth the estimates came, by verdict and set of features; aims met or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from scipy import stats

from relprev.arrays import FloatArray
from relprev.checks.check import Verdict
from relprev.checks.registry import CHECKS
from relprev.experiments.figures import FORMATS
from relprev.experiments.truth.plan import Aim, nhanes_plan
from relprev.store.files import written_whole

METHODS = {
    "recorded": "recorded ratio", "debiased": "DebiasedPURPLE", "calibrated": "calibrated",
    "purple": "PURPLE", "negative": "Negative", "elkan-noto": "Elkan–Noto",
    "sar-em-group": "SAR-EM, group as feature",
}  # fmt: skip
VERDICTS = {"no concern": "#117733", "cannot tell": "#DDAA33", "concern": "#BB5566"}
ASSUMPTIONS = tuple(kind for kind, one in CHECKS.items() if one.assumption and kind != "controls")
OFF = 1.25  # an estimate off by more than this factor is wrong by more than a detail
LEVEL = 0.95


def compared(results: pd.DataFrame) -> pd.DataFrame:
    """The cells that have an estimate and a truth, with errors.

    Returns
    -------
    DataFrame
        The results, and ``error`` (estimate over truth), ``recorded_error``, ``nearer`` (whether
        the estimate is nearer the truth than the recorded ratio), ``off`` (by more than a factor of
        1.25), ``holds`` (the interval holds the truth), ``holds_allowing`` (for the truth's own
        sampling error) and the same of calibrated estimates, NaN where there is none, also of those
        that a study would not calibrate (``anyway``);
        ``left``, the error that alpha does not explain; ``verdict_apart``, the verdict without the
        check of the controls.

    Examples
    --------
    >>> row = {"truth": 2.0, "truth_se": 0.1, "degrees_of_freedom": 60, "recorded": 1.0,
    ...        "debiased": 1.8, "debiased_low": 1.6, "debiased_high": 1.99, "calibrated": np.nan,
    ...        "alpha": 1.1, "calibrated_low": np.nan, "calibrated_high": np.nan}
    >>> compared(pd.DataFrame([row]))[["nearer", "off", "holds", "holds_allowing"]]
       nearer    off  holds  holds_allowing
    0    True  False    0.0             1.0
    """
    rows = results[results["debiased"].notna() & results["truth"].notna()].copy()
    truth = _log(rows["truth"])
    quantile = stats.t.ppf(0.5 + LEVEL / 2, rows["degrees_of_freedom"].to_numpy(dtype=float))
    error, recorded = _log(rows["debiased"]) - truth, _log(rows["recorded"]) - truth
    rows["error"], rows["recorded_error"] = np.exp(error), np.exp(recorded)
    rows["nearer"] = np.abs(error) < np.abs(recorded)
    rows["off"] = np.abs(error) > np.log(OFF)
    methods = {"debiased": "holds", "calibrated": "calibrated_holds", "anyway": "anyway_holds"}
    for method, name in methods.items():
        if method not in rows:
            continue
        low, high = (_log(rows[f"{method}_{end}"]) for end in ("low", "high"))
        half = (high - low) / 2
        more = np.hypot(half, quantile * rows["truth_se"].to_numpy(dtype=float)) - half
        for column, wider in ((name, np.zeros(len(rows))), (f"{name}_allowing", more)):
            held = (low - wider <= truth) & (truth <= high + wider)
            rows[column] = np.where(np.isnan(low), np.nan, held)
    rows["left"] = rows["error"] * rows["alpha"].astype(float)
    rows["verdict_apart"] = [_verdict_apart(row) for row in rows.to_dict("records")]
    return rows


def _verdict_apart(row: Mapping[Any, Any]) -> str:
    """The verdict of the checks of assumptions other than that of the controls."""
    found = [Verdict(str(row[name])) for name in (f"check_{kind}" for kind in ASSUMPTIONS)
             if isinstance(row.get(name), str)]  # fmt: skip
    return str(Verdict.worst(found))


def _log(values: pd.Series) -> FloatArray:
    return np.asarray(np.log(values.to_numpy(dtype=float)))


def by(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Shares and median errors of compared cells, in groups of equal values of columns."""
    found = []
    for key, part in rows.groupby(list(names), sort=False):
        size = {f"error_{m}": _typical(part[m] / part["truth"]) for m in ("recorded", "debiased")}
        found.append(
            dict(zip(names, key, strict=True)) | {"cells": len(part)} | size | {
                "nearer": part["nearer"].mean(),
                "holds": part["holds_allowing"].mean(),
                "calibrated": int(part["calibrated"].notna().sum()),
                "calibrated_holds": part["calibrated_holds_allowing"].mean(),
                "off": part["off"].mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(found)


def by_likeness(rows: pd.DataFrame) -> pd.DataFrame:
    """What calibration does where the features know the condition as well as the controls, or not.

    Returns
    -------
    DataFrame
        One row per set of features and likeness (see `relprev.controls.likeness`): number of cells,
        typical errors of the estimate and of what the controls make of it, in how many cells the
        latter is nearer the truth, and shares of intervals that hold it.
    """
    known = rows[rows["anyway"].notna()]
    found = []
    for (features, likeness), part in known.groupby(["features", "likeness"], sort=True):
        one, other = (np.abs(_log(part[name] / part["truth"])) for name in ("anyway", "debiased"))
        found.append(
            {
                "features": features, "likeness": likeness, "cells": len(part),
                "error_debiased": _typical(part["debiased"] / part["truth"]),
                "error_anyway": _typical(part["anyway"] / part["truth"]),
                "nearer": int((one < other).sum()), "holds": part["holds_allowing"].mean(),
                "anyway_holds": part["anyway_holds_allowing"].mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(found)


def by_method(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Typical error (median factor) of every method, in groups of cells."""
    found = []
    for key, part in rows.groupby(list(names), sort=False):
        errors = {m: _typical(part[m] / part["truth"]) for m in METHODS if m in part}
        found.append(dict(zip(names, key, strict=True)) | {"cells": len(part)} | errors)
    return pd.DataFrame(found)


def _typical(ratio: pd.Series) -> float:
    """Median of the factor by which a ratio is away from 1, in either direction."""
    known = _log(ratio[ratio > 0])
    return float(np.exp(np.median(np.abs(known)))) if len(known) else float("nan")


def judged_aims(rows: pd.DataFrame, aims: Mapping[str, Aim]) -> list[dict[str, Any]]:
    """Every aim of a plan, in words, what was found, and whether it was met."""
    clear = rows[rows["verdict"] == "no concern"]
    calibrated = clear[clear["calibrated"].notna()]
    wrong = rows[np.abs(_log(rows["error"])) > np.log(aims["warned"].factor)]
    counts = {
        "held": (calibrated["calibrated_holds_allowing"].sum(), len(calibrated)),
        "nearer": (clear["nearer"].sum(), len(clear)),
        "warned": ((wrong["verdict"] != "no concern").sum(), len(wrong)),
    }
    found = []
    for name, aim in aims.items():
        count, of = (int(value) for value in counts[name])
        met = "no such cell" if of == 0 else "met" if count >= aim.share * of else "not met"
        found.append({"aim": aim.words, "cells": of, "count": count, "met": met})
    return found


def warnings_by_check(rows: pd.DataFrame) -> pd.DataFrame:
    """What each check said of cells that are off by more than 1.25, and of the others.

    Returns
    -------
    DataFrame
        One row per check: shares with a concern (``concern_off``, ``concern_near``) and with no
        concern (``clear_off``, ``clear_near``).
    """
    found = []
    for kind in CHECKS:
        if f"check_{kind}" not in rows:
            continue
        said = rows[f"check_{kind}"]
        row: dict[str, Any] = {"check": kind, "assumption": CHECKS[kind].assumption}
        for name, part in (("off", said[rows["off"]]), ("near", said[~rows["off"]])):
            row |= {f"concern_{name}": (part == "concern").mean(),
                    f"clear_{name}": (part == "no concern").mean()}  # fmt: skip
        found.append(row)
    return pd.DataFrame(found)


def spread(rows: pd.DataFrame, column: str) -> dict[str, float]:
    """Quantiles of a measured factor over cells, and how far its log is from 0.

    Returns
    -------
    dict
        cells, low (2.5%), median, high (97.5%), and ``size``, the root mean square of the log.
    """
    values = rows[column].dropna()
    log = _log(values[values > 0])
    low, middle, high = np.exp(np.quantile(log, [0.025, 0.5, 0.975]))
    return {"cells": len(log), "low": float(low), "median": float(middle), "high": float(high),
            "size": float(np.sqrt(np.mean(log**2)))}  # fmt: skip


def gammas(rows: pd.DataFrame) -> pd.Series:
    """Gamma of both groups of every cell, one below the other."""
    return pd.concat([rows["gamma_group"], rows["gamma_versus"]]).rename("gamma")


def draw(rows: pd.DataFrame, panels: Mapping[str, str], column: str) -> Figure:
    """Truth against estimate with the recorded ratio beside, one panel per value of a column."""
    figure = Figure(figsize=(1 + 4.2 * len(panels), 5.8), layout="constrained")
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    every = rows[["truth", "recorded", "debiased"]].to_numpy(dtype=float)
    ends = np.array([np.nanmin(every) / 1.1, np.nanmax(every) * 1.1])
    for axis, (value, title) in zip(axes, panels.items(), strict=True):
        _panel(axis, rows[rows[column] == value], ends)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("True ratio")
    axes[0].set_ylabel("Estimated ratio")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4,
                  fontsize=8)  # fmt: skip
    return figure


def _panel(axis: Axes, part: pd.DataFrame, ends: Any) -> None:
    axis.plot(ends, ends, color="#444444", linewidth=1)
    axis.fill_between(ends, ends / OFF, ends * OFF, color="#EEEEEE", zorder=0)
    truth = part["truth"]
    axis.plot(truth, part["recorded"], "x", color="#888888", markersize=5, label="recorded")
    for verdict, colour in VERDICTS.items():
        own = part[part["verdict"] == verdict]
        label = f"estimate: {verdict}"
        axis.plot(own["truth"], own["debiased"], "o", color=colour, markersize=5, label=label)
    axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axis.set_box_aspect(1)
    for one in (axis.xaxis, axis.yaxis):
        one.set_major_locator(LogLocator(subs=(1, 2, 5)))
        one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        one.set_minor_formatter(NullFormatter())


def figure_of(name: str, rows: pd.DataFrame) -> Figure:
    """The figure of an experiment."""
    if name == "nhanes":
        return draw(rows, nhanes_plan().sets, "features")
    from relprev.experiments.truth.species import species_plan

    titles = {key: f"{one.title}, {one.species}" for key, one in species_plan().regions.items()}
    return draw(rows, titles, "region")


def places_of(name: str) -> Sequence[str]:
    """The columns that cells of an experiment are summarised by."""
    return ("features", "recording", "verdict") if name == "nhanes" else ("region", "verdict")


def write_truth_summary(name: str, results: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """Write ``table.csv``, ``aims.csv`` and the figure; return the table."""
    rows = compared(results) if "debiased" in results else results.iloc[:0]
    table = by(rows, *places_of(name)) if len(rows) else pd.DataFrame()
    with written_whole(folder / "table.csv") as path:
        table.to_csv(path, index=False)
    if name == "nhanes" and len(rows):
        with written_whole(folder / "aims.csv") as path:
            pd.DataFrame(judged_aims(rows, nhanes_plan().aims)).to_csv(path, index=False)
    if len(rows):
        figure = figure_of(name, rows)
        for kind in FORMATS:
            with written_whole(folder / f"figure.{kind}") as path:
                figure.savefig(path, dpi=200, metadata=_undated(kind))
    return table


def _undated(kind: str) -> dict[str, Any]:
    """Metadata without a date, so that the same results give the same file."""
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
