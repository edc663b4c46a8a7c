"""A made-up extract of NHANES: prediabetes is known, other conditions are absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def extract(folder: Path, n: int = 6_000, seed: int = 1) -> Path:
    """People of two cycles; Black people are told of prediabetes half as often as white ones."""
    rng = np.random.default_rng(seed)
    race = rng.choice([3, 4], n)
    sex = rng.choice([1, 2], n)
    age = rng.integers(20, 80, n)
    a1c = np.round(4.9 + 0.01 * age + 0.15 * (race == 4) + rng.normal(0, 0.35, n), 1)
    told = (rng.random(n) < np.where(race == 4, 0.25, 0.5)) & (a1c >= 5.7)
    answer = np.where(told, 1.0, 2.0)
    answer[:20] = 9  # don't know
    frame = pd.DataFrame({
        "SEQN": np.arange(1, n + 1), "cycle": np.where(np.arange(n) < n / 2, "2005-2006",
                                                       "2007-2008"),
        "RIDAGEYR": age, "RIAGENDR": sex, "RIDRETH1": race, "DIQ010": 2.0, "DIQ160": answer,
        "LBXGH": a1c, "BMXBMI": np.round(rng.normal(28, 5, n), 1),
        "LBXHGB": np.round(rng.normal(13.5, 1.3, n), 1),
        "WTMEC2YR": rng.uniform(500, 1500, n), "SDMVSTRA": 44 + np.arange(n) % 15,
        "SDMVPSU": 1 + np.arange(n) // 15 % 2,
    })  # fmt: skip
    path = folder / "extract.parquet"
    frame.to_parquet(path)
    return path
