"""Refit an estimator to each replicate of a sample, resumably and in several processes.

A replicate may leave a stratum with one PSU, which has no variance; since only a replicate's
estimate is used, strata are left out. An estimator with cross-fitting keeps the folds of the full
sample: dealing new ones would add noise to every replicate, which the jackknife multiplies.

Replicates are independent and each draws from a seed of its own, so results are the same for
any number of processes.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from relprev.arrays import FloatArray
from relprev.cohort import Cohort
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.messages import Message, Number, message_of
from relprev.parallel.processes import in_processes
from relprev.progress import progress
from relprev.store.digests import has_seal, is_sealed, seal
from relprev.store.files import written_whole

SAVE_EVERY = 10
MANY_FAILED = 0.05
RATIOS = ["estimate", "observed_ratio", "diagnosis_ratio"]
KEYS = ["replicate", "group", "versus", *RATIOS]
NO_LOGARITHM = Message("no finite estimate above 0")
Weights = Callable[[int], FloatArray]


def logarithms(values: pd.DataFrame | pd.Series) -> FloatArray:
    """Logarithms; NaN where there is no finite one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(values.to_numpy(dtype=float))
    return np.where(np.isfinite(logs), logs, np.nan)


def check_processes(processes: int, cohort: Cohort) -> None:
    """Fail if a cohort cannot be fitted in that many processes."""
    if not isinstance(processes, int | np.integer) or processes < 1:
        raise InvalidInputError(f"processes must be a whole number, 1 or more, got {processes!r}")
    if processes > 1:
        cohort.in_memory(f"processes={processes} (1 uses all cores, or all workers, already)")


@dataclass(frozen=True)
class Work:
    """What replicates need: ``weights(number)`` of a replicate, and each row's ``fold``, if any."""

    estimator: Any
    cohort: Cohort
    versus: str
    weights: Weights
    fold: NDArray[np.integer[Any]] | None = None


def refit(
    work: Work, count: int, processes: int, out: str | Path | None, verbose: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The estimate, and a table of all replicates; those in the file ``out`` are not refitted."""
    fitted = clone(work.estimator).fit(work.cohort)
    base = fitted.relative_prevalence(work.versus).to_frame()
    if hasattr(fitted, "folds_"):
        fold = np.zeros(work.cohort.n, dtype=fitted.folds_.dtype)  # rows not used have no fold
        fold[fitted.rows_] = fitted.folds_
        work = replace(work, fold=fold)
    path = None if out is None else Path(out)
    tables = [_kept(work, path, base)] if path is not None and path.is_file() else []
    done = set(tables[0]["replicate"]) if tables else set()
    todo = [number for number in range(count) if number not in done]
    with progress("Replicates", len(todo), verbose) as advance:
        for finished, (number, table) in enumerate(
            in_processes(_one, (work, base), todo, processes), 1
        ):
            advance(f"replicate {number + 1}")
            tables.append(table)
            if path is not None and (finished % SAVE_EVERY == 0 or finished == len(todo)):
                with written_whole(path) as temporary:
                    _ordered(tables)[KEYS].to_csv(temporary, index=False)
                seal(path)
    table = _ordered(tables)
    table = table[table["replicate"] < count]
    _warn_of_failures(base, table, count)
    return base, table[KEYS]


def _ordered(tables: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([table for table in tables if len(table)]).sort_values(
        "replicate", kind="stable", ignore_index=True
    )


def _number(text: str) -> float:
    """The number that was written, to its last digit."""
    return float(text) if text else float("nan")


def _kept(work: Work, path: Path, base: pd.DataFrame) -> pd.DataFrame:
    """Replicates of an earlier run; one is refitted to check that it was the same study."""
    if not is_sealed(path) and has_seal(path):
        said = Message("{file} is damaged; its replicates are fitted again", file=path.name)
        warnings.warn(DataWarning(said), stacklevel=5)
        return pd.DataFrame(columns=[*KEYS, "failure"])
    text = dict.fromkeys(["group", "versus"], str)
    kept = pd.read_csv(
        path, dtype=text, keep_default_na=False, converters=dict.fromkeys(RATIOS, _number)
    )
    missing = [name for name in KEYS if name not in kept]
    if "replicate" in kept and missing:
        raise InvalidInputError(
            f"{path} has no column {', '.join(missing)}: an earlier version wrote it; give another "
            "file as out, or delete this one"
        )
    wrong = list(kept.columns) != KEYS
    if not wrong and len(kept):
        number = int(kept["replicate"].iloc[0])
        again = _one((work, base), number)
        same = kept[kept["replicate"] == number]
        wrong = len(same) != len(again) or not np.allclose(
            same["estimate"], again["estimate"], rtol=1e-6, equal_nan=True
        )
    if wrong:
        raise InvalidInputError(
            f"{path} holds replicates of other data, settings or random_state; give another file "
            "as out, or delete this one"
        )
    return kept.assign(failure=None)


def _one(shared: tuple[Work, pd.DataFrame], number: int) -> pd.DataFrame:
    """Estimates of a replicate; if it could not be fitted, NaN, and the reason in ``failure``."""
    work, base = shared
    weight, estimator = work.weights(number), clone(work.estimator)
    if work.fold is not None:
        estimator.set_params(folds=work.fold[weight != 0])
    sample = _reweighted(work.cohort, weight)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # thin groups are counted later
            table = estimator.fit(sample).relative_prevalence(work.versus).to_frame()
        lost = np.isnan(logarithms(table["estimate"]))
        failure = [NO_LOGARITHM if none else None for none in lost]
        table["failure"] = pd.Series(failure, table.index, dtype=object)
    except TooFewCasesError as error:
        table = base.assign(**dict.fromkeys(RATIOS, np.nan))
        table["failure"] = pd.Series([message_of(error)] * len(table), table.index, dtype=object)
    return table.assign(replicate=number)[[*KEYS, "failure"]]


def _reweighted(cohort: Cohort, weight: FloatArray) -> Cohort:
    """The visits of non-zero weight, with these weights and without strata."""
    rows = np.flatnonzero(weight)
    return cohort.take(rows).with_values(weights=weight[rows], strata=None)


def _warn_of_failures(base: pd.DataFrame, table: pd.DataFrame, count: int) -> None:
    """Warn if many replicates lack a contrast that the full sample has."""
    failed = table[np.isnan(logarithms(table["estimate"]))]
    estimated = base.loc[base["estimate"].notna(), ["group", "versus"]]
    failed = failed.merge(estimated, on=["group", "versus"])
    if len(failed) == 0:
        return
    (group, versus), worst = max(
        failed.groupby(["group", "versus"]), key=lambda item: len(item[1])
    )  # fmt: skip
    if len(worst) > MANY_FAILED * count:
        left = (
            "the standard error describes the others only" if count - len(worst) > 1
            else "there is no standard error"
        )  # fmt: skip
        said = Message(
            "{failed} of {count} replicates gave no estimate for {group} versus {versus}; {left}",
            failed=Number(len(worst)), count=Number(count), group=group, versus=versus, left=left,
        )  # fmt: skip
        reasons = Counter(why for why in worst["failure"] if why is not None)
        if reasons:  # those of an earlier run are not known
            why = reasons.most_common(1)[0][0]
            said = Message("{said}; most often because: {why}", said=said, why=why)
        warnings.warn(DataWarning(said), stacklevel=4)
