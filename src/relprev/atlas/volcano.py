"""A volcano-like figure: how far from the other conditions, against how certain.

Drawn as SVG of the page's own: a click on a point opens its condition, to which keyboards and
screen readers come by the table's links. Horizontally the ratio of
diagnosis rates on a log scale, vertically -log10 of the p-value against the empirical null; the
area of a point grows with the recorded cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relprev.estimates import versus_words

WIDTH, HEIGHT = 720.0, 420.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 16.0, 14.0, 46.0
FARTHEST, HIGHEST = np.log(8.0), 10.0  # points beyond lie on the edge
TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SMALLEST, LARGEST = 2.5, 11.0  # radius
STANDS_OUT = 0.05


@dataclass(frozen=True)
class Point:
    """A condition: place, radius, anchor, what a pointer shows, whether it stands out."""

    x: float
    y: float
    radius: float
    anchor: str
    words: str
    stands_out: bool


@dataclass(frozen=True)
class Volcano:
    """The figure of one contrast.

    Parameters
    ----------
    title, description : str
        What screen readers read.
    points : list of Point
        The largest first, so that small ones stay visible.
    across, up : list of (place, label)
        Ticks of the axes.
    usual : tuple of float
        Left and right end of the band that holds 95% of the null.
    """

    title: str
    description: str
    points: list[Point]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    usual: tuple[float, float]
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    bottom: float = HEIGHT - BOTTOM
    top: float = TOP
    right: float = WIDTH - RIGHT


def volcano(rows: pd.DataFrame, null: Mapping[Any, Any], anchors: Mapping[str, str]) -> Volcano:
    """The figure of the rows of one contrast, given its null and the conditions' anchors."""
    known = rows[rows["null_p_value"].notna() & rows["diagnosis_ratio"].notna()]
    high = (
        float(np.clip(-np.log10(known["null_p_value"].clip(lower=1e-12)).max(), 3, HIGHEST))
        if len(known)
        else 3.0
    )
    cases = known["n_recorded"].astype(float).fillna(0.0)
    most = max(float(cases.max()), 1.0) if len(known) else 1.0

    def place(ratio: float) -> float:
        share = np.clip(np.log(ratio) / FARTHEST, -1, 1)
        return round(float((LEFT + WIDTH - RIGHT) / 2 + share * (WIDTH - LEFT - RIGHT - 16) / 2), 1)

    def level(value: float) -> float:
        return round(HEIGHT - BOTTOM - min(value / high, 1) * (HEIGHT - TOP - BOTTOM - 8), 1)

    points = [
        Point(
            place(row["diagnosis_ratio"]), level(-np.log10(max(row["null_p_value"], 1e-12))),
            round(SMALLEST + (LARGEST - SMALLEST) * float(np.sqrt(count / most)), 1),
            anchors[row["condition"]],
            f"{row.get('description') or row['condition']}: {row['diagnosis_ratio']:.2f}",
            bool(row["null_q_value"] <= STANDS_OUT),
        )
        for row, count in zip(known.to_dict("records"), cases, strict=True)
    ]  # fmt: skip
    pair = f"{null['group']} versus {versus_words(null['versus'])}"
    out = sum(point.stands_out for point in points)
    ends = np.exp(null["centre"] + np.array([-1.96, 1.96]) * null["spread"])
    return Volcano(
        f"Diagnosis-rate ratios, {pair}",
        f"{len(points):,} conditions by diagnosis-rate ratio and certainty; {out:,} stand out. The "
        "table below has all numbers.",
        sorted(points, key=lambda point: -point.radius),
        [(place(tick), f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}") for tick in TICKS],
        [(level(k), f"{10.0**-k:g}") for k in range(int(high) + 1)],
        (place(float(ends[0])), place(float(ends[1]))),
    )
