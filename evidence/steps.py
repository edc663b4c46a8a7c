"""Why PURPLE errs on separable data: what its curve takes from each group's positives.

On separable data p(y=1|x) is a step. A logistic curve can only be too flat for a step, never too
steep, and a flat curve loses most where positives lie near the boundary. For each group

    lost = 1 - mean of the fitted p(y=1|x) over the group's positives,

fitted without an L1 penalty, so that the penalty is not what makes the curve flat. Estimate / truth
is computed on the same rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.measure import write_note

from evidence.store import FOLDER
from relprev import PURPLE
from relprev.simulate import gauss_synth
from relprev.store.files import written_whole

RESULTS, MACHINE = "steps.csv", "steps.json"
DATA_SETS = 20
RATES_B = (0.1, 0.5, 0.9)


def run(data_sets: int = DATA_SETS, results: Path = FOLDER) -> pd.DataFrame:
    """One row per variant, diagnosis rate of group b and data set; also written to a file."""
    rows = pd.DataFrame(
        [
            {"variant": variant, "rate_b": rate, "seed": seed, **_lost(variant, rate, seed)}
            for variant in ("paper", "published")
            for rate in RATES_B
            for seed in range(data_sets)
        ]
    )
    with written_whole(results / RESULTS) as path:
        rows.round(5).to_csv(path, index=False)
    write_note(results / MACHINE)
    return rows


def _lost(variant: str, rate: float, seed: int) -> dict[str, float]:
    data = gauss_synth((0.5, rate), separable=True, variant=variant, seed=seed)
    cohort, y = data.cohort, data.condition == 1
    fitted = PURPLE(lambdas=0.0).fit(cohort)
    p = fitted.predict_condition(cohort.X)
    # from the boundary, in within-group standard deviations
    distance = cohort.X.to_scipy().sum(axis=1) / (4 * np.sqrt(cohort.X.n_cols))
    a, b = (cohort.groups == group for group in (0, 1))
    return {
        "nearest_a": float(distance[a & y].min()),
        "nearest_b": float(distance[b & y].min()),
        "lost_a": float(1 - p[a & y].mean()),
        "lost_b": float(1 - p[b & y].mean()),
        "ratio": float(p[a].mean() / p[b].mean() / (y[a].mean() / y[b].mean())),
    }
