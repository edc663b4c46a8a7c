"""Compare the estimates of two runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.errors import InvalidInputError

KEYS = ["variable", "method", "group", "versus"]
SHOWN = ["estimate", "ci_low", "ci_high", "observed_ratio", "n", "n_diagnosed"]


def compare_runs(one: str | Path, two: str | Path) -> pd.DataFrame:
    """Estimates from two results folders, one row per contrast, with their ratio.

    Columns of the first folder end in ``_a``, those of the second in ``_b``. A contrast that only
    one of them has is kept, with gaps.
    """
    frames = [_estimates(Path(folder)) for folder in (one, two)]
    order = list(dict.fromkeys(tuple(row) for frame in frames for row in frame[KEYS].to_numpy()))
    both = frames[0].merge(frames[1], "outer", KEYS, suffixes=("_a", "_b"))
    both = both.set_index(KEYS).loc[pd.MultiIndex.from_tuples(order, names=KEYS)].reset_index()
    with np.errstate(invalid="ignore", divide="ignore"):
        return both.assign(b_over_a=both["estimate_b"] / both["estimate_a"])


def differences(one: str | Path, two: str | Path) -> list[str]:
    """How the questions that two runs answer differ, in words.

    Nothing is said unless both folders have a manifest.
    """
    try:
        a, b = (_asked(Path(folder)) for folder in (one, two))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    found = []
    if a["condition"] != b["condition"]:
        found.append(
            f"the conditions differ ({a['condition']} and {b['condition']}), so the ratio of their "
            "estimates says nothing"
        )
    elif a["codes"] != b["codes"]:
        found.append(f"the codes of {a['condition']} differ")
    if a["source"] != b["source"]:
        found.append(f"the sources differ ({a['source']} and {b['source']})")
    if a["include"] != b["include"]:
        found.append("the rules on which visits to include differ")
    if a["case"] != b["case"]:
        found.append("the rules on which visits count as diagnosed differ")
    return found


def _asked(folder: Path) -> dict[str, Any]:
    """What a run's study was about."""
    study = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["study"]
    cohort = study["cohort"]
    condition = cohort["condition"]
    return {
        "condition": condition["name"], "codes": sorted(condition["codes"]),
        "source": study["source"]["kind"], "include": [cohort["include"], cohort.get("exclude")],
        "case": cohort.get("case"),
    }  # fmt: skip


def _estimates(folder: Path) -> pd.DataFrame:
    file = folder / "estimates.csv"
    if not file.is_file():
        raise InvalidInputError(
            f"{folder} has no estimates.csv; give the folder that 'relprev run' wrote"
        )
    damaged = InvalidInputError(f"{file} is damaged; run the study again")
    try:
        frame = pd.read_csv(file, dtype=dict.fromkeys(KEYS, str), keep_default_na=False,
                            na_values={name: ["", "nan"] for name in SHOWN})  # fmt: skip
    except (ValueError, OSError):
        raise damaged from None
    missing = [name for name in [*KEYS, "estimate"] if name not in frame]
    if missing:
        raise InvalidInputError(f"{file} lacks {', '.join(missing)}; was it made by 'relprev run'?")
    numbers = [name for name in SHOWN if name in frame]
    if not all(pd.api.types.is_numeric_dtype(frame[name]) for name in numbers):
        raise damaged
    if frame.duplicated(KEYS).any():
        raise InvalidInputError(f"{file} has a contrast twice; run the study again")
    return frame[[*KEYS, *numbers]]
