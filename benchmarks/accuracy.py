"""Accuracy on Gauss-Synth (the paper's text) against the true p(y|x).

Mean and standard deviation, over seeds, of the estimated divided by the true ratio.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relprev import PURPLE
from relprev.simulate import gauss_synth

RATES_B = (0.1, 0.3, 0.5, 0.7, 0.9)


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per cell: separable or not, diagnosis rate of group b."""
    rows = []
    for separable in (False, True):
        for rate in RATES_B:
            ratios = [_ratio(rate, separable, seed) for seed in range(5 if quick else 40)]
            row = {
                "separable": separable, "c_b": rate, "seeds": len(ratios),
                "mean": float(np.mean(ratios)), "sd": float(np.std(ratios, ddof=1)),
            }  # fmt: skip
            print(row, flush=True)
            rows.append(row)
    return rows


def _ratio(rate: float, separable: bool, seed: int) -> float:
    data = gauss_synth((0.5, rate), separable=separable, seed=seed)
    found = PURPLE(random_state=seed).fit(data.cohort).relative_prevalence("b").to_frame()
    truth = data.relative_prevalence("b").to_frame()
    return float(found.loc[0, "estimate"] / truth.loc[0, "estimate"])
