"""Draw estimates, checks and features, on the given axes or on new ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogFormatter, ScalarFormatter

from relprev.checks.check import CheckResult
from relprev.checks.registry import CHECKS
from relprev.display import cell, with_interval
from relprev.estimates import RelativePrevalence, answers, versus_words
from relprev.report.figures.style import (
    CORRECTED,
    INK,
    OTHERS,
    RECORDED,
    WIDTH,
    axes_for,
    height_of,
    legend_above,
    log_axis,
    named_rows,
    styled,
    wrapped_label,
)
from relprev.report.sentences.words import symptom_words

POINTS_PER_LETTER = 4.6  # of numbers beside a forest plot
NOTHING_DRAWN = "Nothing is drawn: all points rest on few people."
MARKERS = ("o", "s", "^", "v")

Estimates = pd.DataFrame | RelativePrevalence | Mapping[str, pd.DataFrame | RelativePrevalence]


@styled
def plot_forest(
    estimates: Estimates, truth: pd.Series | None = None, ax: Axes | None = None
) -> Axes:
    r"""Relative prevalences on a log axis, recorded and corrected, one row per contrast.

    Parameters
    ----------
    estimates : RelativePrevalence or DataFrame, or a mapping of method to either
        An estimator's result, its table (from ``to_frame`` or `disclosed_estimates`), or those of
        several methods with the same rows, drawn side by side.
    truth : Series, optional
        Known values in the table's order, for simulated data.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib Axes
        Where it was drawn.

    Examples
    --------
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.1), seed=1)
    >>> ax = plot_forest(PURPLE(lambdas=1e-4).fit(data.cohort).relative_prevalence("b"))
    >>> ax.get_yticklabels()[0].get_text(), ax.get_xlabel().split("\n")[0]
    ('a versus b', 'Relative prevalence')
    """
    frames = _frames(estimates)
    first = next(iter(frames.values()))
    y = np.arange(len(first))[::-1].astype(float)
    labels, other = _row_labels(first)
    own = ax is None
    ax = axes_for(ax, labels, 0.32 + 0.14 * len(frames), 1.1)
    ax.axvline(1.0, color=INK, alpha=0.45, linewidth=1, zorder=0)
    offsets = np.linspace(0.22, -0.22, len(frames) + 1)
    values = [_draw_method(ax, y + offsets[k], k, len(frames), name, frame)
              for k, (name, frame) in enumerate(frames.items())]  # fmt: skip
    recorded = first["observed_ratio"].to_numpy(float)
    ax.plot(recorded, y + offsets[-1], "D", mfc="none", mec=RECORDED, ms=6, mew=1.6,
            label="Recorded")  # fmt: skip
    values.append(recorded)
    if truth is not None:
        exact = truth.to_numpy(float)
        ax.plot(exact, y + offsets[0], "|", color=INK, ms=18, mew=2, label="Truth")
        values.append(exact)
    log_axis(ax, np.concatenate(values))
    named_rows(ax, y, labels)
    label = wrapped_label(f"Relative prevalence{other}", 44)
    ax.set_xlabel(f"{label}\n(log scale; 1 = equally common; lines: pointwise intervals)")
    legend_above(ax)
    _print_numbers(ax, y, first, own)
    return ax


def _print_numbers(ax: Axes, y: np.ndarray, frame: pd.DataFrame, own: bool) -> None:
    """Print the estimates of a method, and of how many people, to the right of its rows."""
    missing = frame.get("note", pd.Series("", frame.index)).fillna("").map(
        lambda note: "cannot tell" if note else "no estimate")  # fmt: skip
    estimates = zip(frame["estimate"], frame["ci_low"], frame["ci_high"], missing, strict=True)
    columns = {"Ratio (interval)": [
        with_interval(estimate, *ends) if estimate == estimate else words
        for estimate, *ends, words in estimates
    ]}  # fmt: skip
    if {"n", "n_diagnosed"} <= set(frame):
        counts = zip(frame["n_diagnosed"], frame["n"], strict=True)
        columns["Diagnosed of n"] = [f"{cell(some)} of {cell(every)}" for some, every in counts]
    right = 8.0  # points
    for title, texts in columns.items():
        for height, text in zip([len(y) - 0.45, *y], [title, *texts], strict=True):
            ax.annotate(
                text, (1.0, height), (right, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", fontsize=8.5, label="_number",
                annotation_clip=False,
            )  # fmt: skip
        right += POINTS_PER_LETTER * max(map(len, [title, *texts])) + 8.0
    if own:
        ax.figure.set_figwidth(WIDTH + right / 72)  # type: ignore[union-attr]


def _row_labels(frame: pd.DataFrame) -> tuple[list[str], str]:
    """Labels of the rows, and what they are compared with if that is the same for all."""
    others = frame["versus"].map(versus_words)
    if others.nunique() == 1 and len(frame) > 1:
        return [wrapped_label(group) for group in frame["group"]], f" versus {others.iloc[0]}"
    pairs = zip(frame["group"], others, strict=True)
    return [wrapped_label(f"{group} versus {other}") for group, other in pairs], ""


def _draw_method(
    ax: Axes, y: np.ndarray, position: int, count: int, name: str, frame: pd.DataFrame
) -> np.ndarray:
    """Draw the estimates and intervals of one method; return every value drawn."""
    label = "Corrected for underreporting" if count == 1 else name
    colour = CORRECTED if position == 0 else OTHERS[(position - 1) % len(OTHERS)]
    low, high = frame["ci_low"].to_numpy(float), frame["ci_high"].to_numpy(float)
    if np.isfinite(low).any():
        ax.hlines(y, low, high, color=colour, linewidth=2)
    estimate = frame["estimate"].to_numpy(float)
    ax.plot(estimate, y, MARKERS[position % len(MARKERS)], color=colour, ms=7, label=label)
    return np.concatenate([estimate, low, high])


@styled
def plot_check(check: CheckResult, ax: Axes | None = None) -> Axes:
    """Any check's result, drawn as in the report.

    Parameters
    ----------
    check : CheckResult
        From any of `relprev.checks`.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib Axes
        Where it was drawn.

    Examples
    --------
    >>> from relprev.checks import check_leakage
    >>> from relprev.simulate import ed_visits
    >>> check = check_leakage(ed_visits(5_000, n_codes=60, seed=0).cohort)
    >>> plot_check(check).get_xlabel()
    'share diagnosed among rows with the feature'
    """
    own = ax is None
    ax = axes_for(ax, [""], 0.0, 3.4)
    CHECKS[check.kind].draw(ax, check.table)
    if not ax.has_data():
        ax.text(0.5, 0.5, NOTHING_DRAWN, ha="center", va="center", transform=ax.transAxes)
        ax.set_axis_off()
        return ax
    if _names(ax.yaxis):
        _roomy_rows(ax, own)
    if _names(ax.xaxis):
        ax.set_xlim(-0.6, len(ax.get_xticks()) - 0.4)
    if ax.get_xscale() == "log":
        log_axis(ax, np.asarray(ax.get_xlim()))
    if ax.get_legend() is not None:
        legend_above(ax)
    return ax


def _names(axis: Axis) -> bool:
    """Whether an axis shows names, not numbers."""
    return not isinstance(axis.get_major_formatter(), ScalarFormatter | LogFormatter)


def _roomy_rows(ax: Axes, own: bool) -> None:
    """Wrap the rows' labels and give each row the same room."""
    places = ax.get_yticks()
    labels = [wrapped_label(label.get_text(), lines=2) for label in ax.get_yticklabels()]
    ax.set_yticks(places, labels)
    ax.tick_params(axis="y", length=0)
    ends = (min(places) - 0.6, max(places) + 0.6)
    ax.set_ylim(ends[::-1] if ax.yaxis_inverted() else ends)
    if own:
        ax.figure.set_size_inches(WIDTH, height_of(labels, 0.26, 0.9))  # type: ignore[union-attr]


@styled
def plot_symptoms(symptoms: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Weights of features, as bars from zero.

    Parameters
    ----------
    symptoms : DataFrame
        Columns feature and weight, and description where there is one.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib Axes
        Where it was drawn.

    Examples
    --------
    >>> table = pd.DataFrame({"feature": ["S00", "Z34"], "weight": [1.2, -0.4]})
    >>> [text.get_text() for text in plot_symptoms(table).get_yticklabels()]
    ['S00', 'Z34']
    """
    labels = [wrapped_label(symptom_words(row), 34) for row in symptoms.to_dict("records")]
    ax = axes_for(ax, labels, 0.28, 0.9)
    weight = symptoms["weight"].to_numpy(float)
    y = np.arange(len(weight))[::-1]
    colours = np.where(weight >= 0, CORRECTED, RECORDED)
    ax.barh(y, weight, color=list(colours), height=0.62)
    ax.axvline(0.0, color=INK, alpha=0.45, linewidth=1)
    named_rows(ax, y, labels)
    ax.set_xlabel("Weight (log-odds of the condition)")
    return ax


def _frames(estimates: Estimates) -> dict[str, pd.DataFrame]:
    """The table of every method, with rows in the order of the first."""
    named = estimates if isinstance(estimates, Mapping) else {"": estimates}
    frames = {
        name: answers(one if isinstance(one, pd.DataFrame) else one.to_frame())
        for name, one in named.items()
    }
    rows = next(iter(frames.values()))[["group", "versus"]]
    return {name: rows.merge(frame, "left", ["group", "versus"]) for name, frame in frames.items()}
