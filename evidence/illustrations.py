"""Figures 1 and 2A of the paper: illustrations, drawn from small invented examples."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

PREVALENCE = {"group a": 0.20, "group b": 0.10}
RATES = {"group a": 0.25, "group b": 0.50}
HIDDEN, SEEN, POSITIVE, NEGATIVE = "#CBB0DA", "#7B3294", "#009E73", "#D55E00"
POINTS = 400


def underreporting() -> Figure:
    """Figure 1: twice as common in a, recorded equally often; and what PURPLE uses."""
    figure = Figure(figsize=(8.4, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.5))
    for place, group in enumerate(PREVALENCE):
        sick, seen = 100 * PREVALENCE[group], 100 * PREVALENCE[group] * RATES[group]
        left.bar(place, sick, 0.6, color=HIDDEN, label="have the condition" if not place else None)
        left.bar(place, seen, 0.6, color=SEEN, label="are diagnosed" if not place else None)
    left.set_xticks(range(len(PREVALENCE)), list(PREVALENCE))
    left.set_ylabel("per 100 visits")
    left.set_title("A. True ratio 2, recorded ratio 1", fontsize=10)
    left.legend(frameon=False, fontsize=8)
    right.set_axis_off()
    right.set_title("B. What is seen, what is modelled, what is estimated", fontsize=10)
    boxes = (
        (0.10, "seen\n\nsymptoms x\ngroup g\ndiagnosis s"),
        (0.45, "modelled\n\np(s=1|x,g) =\np(y=1|x) · c$_g$"),
        (0.83, "estimated\n\nmean p(y=1|x) in a\nover the same in b"),
    )
    for x, words in boxes:
        style = {"boxstyle": "round,pad=0.6", "facecolor": "white", "edgecolor": SEEN}
        right.text(x, 0.5, words, ha="center", va="center", fontsize=9, bbox=style)
    for x in (0.24, 0.59):
        right.annotate(
            "", (x + 0.05, 0.5), (x, 0.5), arrowprops={"arrowstyle": "->", "color": SEEN}
        )
    return figure


def separability() -> Figure:
    """Figure 2A: positives apart from negatives, and positives among them."""
    rng = np.random.default_rng(0)
    figure = Figure(figsize=(7, 3.3), layout="constrained")
    panels = (
        ("Separable", (0.0, 0.0), 0.5, (2.4, 2.4), 0.5),
        ("Non-separable", (0.5, 0.5), 0.9, (1.0, 1.0), 0.5),
    )
    for axis, (title, low, wide, high, narrow) in zip(figure.subplots(1, 2), panels, strict=True):
        negative = np.array(low) + wide * rng.standard_normal((POINTS, 2))
        positive = np.array(high) + narrow * rng.standard_normal((POINTS, 2))
        axis.scatter(*negative.T, s=5, color=NEGATIVE, alpha=0.6, label="negative", rasterized=True)
        axis.scatter(*positive.T, s=5, color=POSITIVE, alpha=0.6, label="positive", rasterized=True)
        axis.set(title=title, xlabel="feature 1", xticks=[], yticks=[])
        axis.set_ylabel("feature 2")
    axis.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


FIGURES = {"figure-1": underreporting, "figure-2a": separability}
