"""Compare the estimates of several runs: ratios of ratios, heterogeneity and trend.

Formulas: `relprev.inference.differences`. Standard errors are those that the runs publish or, where
they are hidden, follow from the intervals.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from relprev.arrays import FloatArray
from relprev.errors import InvalidInputError
from relprev.inference.differences import heterogeneity, numbers_of, ratio_of_ratios, trend

KEYS = ["variable", "method", "group", "versus"]
SHOWN = ["estimate", "ci_low", "ci_high", "observed_ratio", "n", "n_diagnosed"]
PRECISION = ["std_error", "degrees_of_freedom"]
RATIO = ["ratio", "ratio_ci_low", "ratio_ci_high", "ratio_p_value"]
LEVEL = 0.95  # of studies whose manifest does not say


def compare_runs(*folders: str | Path, names: Sequence[str] = ()) -> pd.DataFrame:
    """Estimates from results folders, one row per contrast and run.

    Parameters
    ----------
    *folders : path
        Two or more results folders.
    names : sequence of str
        What to call the runs. Default: the folders as given.

    Returns
    -------
    pandas.DataFrame
        Columns variable, method, group, versus, run and the run's estimate, interval and counts;
        ratio is the estimate over that of the first run, with interval and p-value. A contrast
        that a run lacks has a row with gaps.
    """
    if len(folders) < 2:
        raise InvalidInputError("folders: give two or more results folders to compare")
    frames = [_estimates(Path(folder)) for folder in folders]
    labels = _labels(folders, names)
    order = list(dict.fromkeys(tuple(row) for frame in frames for row in frame[KEYS].to_numpy()))
    index = pd.MultiIndex.from_tuples(order, names=KEYS)
    by_run = [frame.set_index(KEYS).reindex(index) for frame in frames]
    compared = [_with_ratios(by_run[0], one, is_first=k == 0) for k, one in enumerate(by_run)]
    table = pd.concat(dict(zip(labels, compared, strict=True)), names=["run"])
    table = table.reorder_levels([*KEYS, "run"])
    table = table.reindex([(*key, run) for key in order for run in labels]).reset_index()
    known = [name for name in [*SHOWN, *PRECISION] if name in table]
    return table[[*KEYS, "run", *known, *RATIO, "level"]]


def across_runs(table: pd.DataFrame, *, level: float = LEVEL) -> pd.DataFrame:
    """For every contrast: are the runs' estimates equal, and do they change with the runs' names?

    Parameters
    ----------
    table : DataFrame
        From `compare_runs`.
    level : float
        Coverage of the interval of the trend.

    Returns
    -------
    pandas.DataFrame
        Columns variable, method, group, versus, runs (with an estimate) and p_equal; if the names
        of all runs are numbers, such as years, also the factor per unit (per_unit, its interval,
        p_trend) and p_line, of the test of whether a line is enough.
    """
    at = numbers_of(list(table["run"].unique()))
    rows = []
    for key, part in table.groupby(KEYS, sort=False):
        errors, freedom = _errors(part), _freedom(part)
        found = heterogeneity(part["estimate"], errors, degrees_of_freedom=freedom)
        row = dict(zip(KEYS, key, strict=True))
        row |= {"runs": int(part["estimate"].notna().sum()), "p_equal": found.p_value}
        if at is not None:
            line = trend(part["estimate"], errors, at, degrees_of_freedom=freedom, level=level)
            row |= {"per_unit": line.factor, "per_unit_ci_low": line.ci_low,
                    "per_unit_ci_high": line.ci_high, "p_trend": line.p_value,
                    "p_line": line.departure}  # fmt: skip
        rows.append(row)
    return pd.DataFrame(rows)


def differences(*folders: str | Path, names: Sequence[str] = ()) -> list[str]:
    """How the questions that runs answer differ, in words.

    Nothing is said about folders without a manifest.
    """
    asked = {}
    for folder, name in zip(folders, _labels(folders, names), strict=True):
        try:
            asked[name] = _asked(Path(folder))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    found: dict[str, None] = {}
    for one, two in combinations(asked, 2):
        found |= dict.fromkeys(_between(one, asked[one], two, asked[two]))
    return list(found)


def _between(one: str, a: dict[str, Any], two: str, b: dict[str, Any]) -> list[str]:
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
    if a["data"] and a["data"] == b["data"]:
        found.append(
            f"{one} and {two} were made from the same data, so their estimates are not "
            "independent, and the interval of their ratio does not hold"
        )
    return found


def _labels(folders: Sequence[str | Path], names: Sequence[str]) -> list[str]:
    labels = [str(name) for name in names] or [str(folder) for folder in folders]
    if len(labels) != len(folders):
        raise InvalidInputError(
            f"names: expected one for each of {len(folders)} folders, got {len(labels)}"
        )
    if len(set(labels)) < len(labels):
        raise InvalidInputError(
            "names: runs need different names, and two are the same; give each a name of its own"
        )
    return labels


def _with_ratios(first: pd.DataFrame, run: pd.DataFrame, *, is_first: bool) -> pd.DataFrame:
    """The run with ratios over the first; those of the first itself are missing."""
    ratios = np.full((len(run), 4), np.nan)
    if not is_first:
        errors, freedom = _errors(first), _freedom(first)
        own, own_freedom = _errors(run), _freedom(run)
        pairs = np.column_stack([first["estimate"], run["estimate"]]).astype(float)
        for k, pair in enumerate(pairs):
            found = ratio_of_ratios(pair, [errors[k], own[k]],
                                    degrees_of_freedom=[freedom[k], own_freedom[k]])  # fmt: skip
            ratios[k] = found.ratio, found.ci_low, found.ci_high, found.p_value
    return run.assign(**dict(zip(RATIO, ratios.T, strict=True)))


def _errors(frame: pd.DataFrame) -> FloatArray:
    """Standard errors of the log ratios, as published or from the interval."""
    unknown = pd.Series(np.nan, frame.index)
    low, high = (frame.get(name, unknown).to_numpy(float) for name in ("ci_low", "ci_high"))
    level = float(frame["level"].dropna().max()) if frame["level"].notna().any() else LEVEL
    with np.errstate(invalid="ignore", divide="ignore"):
        wide = np.log(high / low) / (2 * float(stats.norm.ppf(0.5 + level / 2)))
    error = frame.get("std_error", unknown).to_numpy(float)
    return np.where(np.isfinite(error), error, wide)


def _freedom(frame: pd.DataFrame) -> FloatArray:
    """Degrees of freedom, infinite where the standard error follows from the interval."""
    unknown = pd.Series(np.nan, frame.index)
    error, freedom = (frame.get(name, unknown) for name in PRECISION)
    return np.where(error.notna() & freedom.notna(), freedom, np.inf).astype(float)


def _asked(folder: Path) -> dict[str, Any]:
    """What a run's study was about."""
    manifest = _manifest(folder)
    study = manifest["study"]
    cohort = study["cohort"]
    condition = cohort["condition"]
    return {
        "condition": condition["name"], "codes": sorted(condition["codes"]),
        "source": study["source"]["kind"], "include": [cohort["include"], cohort.get("exclude")],
        "case": cohort.get("case"), "data": manifest.get("data", {}).get("details", {}).get("data"),
    }  # fmt: skip


def _manifest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def _level(folder: Path) -> float:
    """Level of a run's intervals, as its manifest says."""
    try:
        return float(_manifest(folder)["study"]["estimate"]["level"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return LEVEL


def _estimates(folder: Path) -> pd.DataFrame:
    file = folder / "estimates.csv"
    if not file.is_file():
        raise InvalidInputError(
            f"{folder} has no estimates.csv; give the folder that 'relprev run' wrote"
        )
    damaged = InvalidInputError(f"{file} is damaged; run the study again")
    numeric = [*SHOWN, *PRECISION]
    try:
        frame = pd.read_csv(file, dtype=dict.fromkeys(KEYS, str), keep_default_na=False,
                            na_values={name: ["", "nan"] for name in numeric})  # fmt: skip
    except (ValueError, OSError):
        raise damaged from None
    missing = [name for name in [*KEYS, "estimate"] if name not in frame]
    if missing:
        raise InvalidInputError(f"{file} lacks {', '.join(missing)}; was it made by 'relprev run'?")
    numbers = [name for name in numeric if name in frame]
    if not all(pd.api.types.is_numeric_dtype(frame[name]) for name in numbers):
        raise damaged
    if frame.duplicated(KEYS).any():
        raise InvalidInputError(f"{file} has a contrast twice; run the study again")
    return frame[[*KEYS, *numbers]].assign(level=_level(folder))
