"""Dense, correlated numeric features: L1 logistic regression against liblinear on the same rows.

NHANES, the adults of six cycles, where ``nhanes_2005_2016_adults.parquet`` is in ``nhanes`` of
$RELPREV_DATA or of ../shared/data: whether somebody was told to have diabetes, from measurements,
answers, their squares and whether they are missing. Elsewhere as many rows and columns are
simulated, with ten factors behind them. Times are to the same objective, as in ``l1_logistic``, but
to 1e-4: where the intercept's penalty is made negligible, liblinear hardly comes closer here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.l1_logistic import by_liblinear, by_relprev, times
from relprev.matrix import Dense

ROWS, COLUMNS, FACTORS = 27_511, 156, 10
LAMBDAS = (1e-3, 1e-4)
GOAL = 1e-4
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DESIGN = ("SEQN", "WTMEC2YR", "SDMVSTRA", "SDMVPSU", "SDDSRVYR")


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per penalty."""
    file = Path(os.environ.get("RELPREV_DATA", SHARED)) / "nhanes/nhanes_2005_2016_adults.parquet"
    data = "NHANES" if file.is_file() else "simulated"
    X, s = _nhanes(file) if file.is_file() else _simulated()
    X, s = X[:: 10 if quick else 1].copy(), s[:: 10 if quick else 1].copy()
    rows = []
    for l1 in LAMBDAS:
        solvers = {
            "relprev": lambda tolerance, l1=l1: by_relprev(Dense(X), s, l1, tolerance),
            "liblinear": lambda tolerance, l1=l1: by_liblinear(X, s, l1, tolerance),
        }
        row = {"data": data, "rows": len(X), "columns": X.shape[1], "lambda": l1}
        rows.append(row | times(X, s, l1, solvers, GOAL))
        print(rows[-1], flush=True)
    return rows


def _nhanes(file: Path) -> tuple[np.ndarray, np.ndarray]:
    frame = pd.read_parquet(file)
    told = pd.to_numeric(frame["DIQ010"], errors="coerce")
    frame, told = frame[told.isin([1, 2])][:ROWS], told[told.isin([1, 2])][:ROWS]
    names = [name for name in frame if name not in DESIGN and not str(name).startswith("DIQ")]
    values = frame[names].apply(pd.to_numeric, errors="coerce").astype(float)
    known = values.notna()
    filled = ((values - values.mean()) / values.std()).fillna(0.0).clip(-5, 5)
    X = np.hstack([part.to_numpy(float) for part in (filled, filled**2, known)])
    spread = X.std(axis=0)
    X = ((X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0])[:, :COLUMNS]
    return np.ascontiguousarray(X), (told == 1).to_numpy().astype(np.uint8)


def _simulated() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    behind = rng.normal(size=(ROWS, FACTORS)) @ rng.normal(size=(FACTORS, COLUMNS))
    X = behind + rng.normal(size=(ROWS, COLUMNS))
    X /= X.std(axis=0)
    w = np.where(np.arange(COLUMNS) % 10 == 0, rng.normal(size=COLUMNS), 0.0)
    return X, (rng.random(ROWS) < 1 / (1 + np.exp(2 - X @ w))).astype(np.uint8)
