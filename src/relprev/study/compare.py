"""Two runs side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from relprev.errors import InvalidInputError

KEYS = ["variable", "method", "group", "versus"]
SHOWN = ["estimate", "ci_low", "ci_high", "observed_ratio", "n", "n_diagnosed"]


def compare_runs(one: str | Path, two: str | Path) -> pd.DataFrame:
    """Estimates of two results folders, one row a contrast, with their ratio.

    Columns ending in ``_a`` are the first's, in ``_b`` the second's. A contrast that only one of
    them has is kept, with gaps.
    """
    frames = [_estimates(Path(folder)) for folder in (one, two)]
    order = list(dict.fromkeys(tuple(row) for frame in frames for row in frame[KEYS].to_numpy()))
    both = frames[0].merge(frames[1], "outer", KEYS, suffixes=("_a", "_b"))
    both = both.set_index(KEYS).loc[pd.MultiIndex.from_tuples(order, names=KEYS)].reset_index()
    with np.errstate(invalid="ignore", divide="ignore"):
        return both.assign(b_over_a=both["estimate_b"] / both["estimate_a"])


def _estimates(folder: Path) -> pd.DataFrame:
    file = folder / "estimates.csv"
    if not file.is_file():
        raise InvalidInputError(
            f"{folder} has no estimates.csv; give the folder that 'relprev run' wrote"
        )
    try:
        frame = pd.read_csv(file)
    except (ValueError, OSError):
        raise InvalidInputError(f"{file} is damaged; run the study again") from None
    missing = [name for name in [*KEYS, "estimate"] if name not in frame]
    if missing:
        raise InvalidInputError(f"{file} lacks {', '.join(missing)}; was it made by 'relprev run'?")
    return frame[[*KEYS, *(name for name in SHOWN if name in frame)]]
