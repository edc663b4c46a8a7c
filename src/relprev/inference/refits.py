"""Refit an estimator to each replicate of a sample, resumably and in several processes.

A replicate may leave a stratum with one PSU, which has no variance; since only a replicate's
estimate is used, strata are left out. An estimator with cross-fitting keeps the folds of the full
sample: dealing new ones would add noise to every replicate, which the jackknife multiplies.

Replicates are independent and each draws from a seed of its own, so results are the same for
any number of processes. They are kept one by one, each under a digest of the cohort, the estimator,
its code and the replicate's weights (`relprev.parallel.kept`): one of another study is never used.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
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
from relprev.parallel.kept import kept_outcomes
from relprev.store.digests import digest
from relprev.store.modules import source_digest
from relprev.store.stages import Outcome

MANY_FAILED = 0.05
RATIOS = ["estimate", "observed_ratio", "diagnosis_ratio"]
KEYS = ["replicate", "group", "versus", *RATIOS]
ROWS = "rows"
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
    """The estimate, and a table of all replicates; those in the folder ``out`` are not refitted."""
    folder = None if out is None else Path(out)
    if folder is not None and folder.is_file():
        raise InvalidInputError(
            f"out must be a folder, in which replicates are kept, and {folder} is a file"
        )
    fitted = clone(work.estimator).fit(work.cohort)
    base = fitted.relative_prevalence(work.versus).to_frame()
    if hasattr(fitted, "folds_"):
        fold = np.zeros(work.cohort.n, dtype=fitted.folds_.dtype)  # rows not used have no fold
        fold[fitted.rows_] = fitted.folds_
        work = replace(work, fold=fold)
    keys = _keys(work, base, count) if folder else {str(number): number for number in range(count)}
    found = kept_outcomes(
        partial(_outcome, work, base), keys, folder, processes, title="Replicates",
        words=lambda number: f"replicate {number + 1}", verbose=verbose,
    )  # fmt: skip
    tables = [_with_reasons(found[key]) for key in keys]
    table = pd.concat(tables, ignore_index=True)
    _warn_of_failures(base, table, count)
    return base, table[KEYS]


def _keys(work: Work, base: pd.DataFrame, count: int) -> dict[str, int]:
    """Number of each replicate, by a digest of all that it depends on."""
    kind = type(work.estimator)
    own = [kind.__module__] if kind.__module__.startswith("relprev.") else []
    parameters = [
        value if isinstance(value, np.ndarray) else repr(value)
        for _, value in sorted(work.estimator.get_params().items())
    ]
    mark = digest(
        source_digest(__name__, *own), kind.__qualname__, work.cohort.digest(), work.versus,
        base[RATIOS].to_numpy(dtype=float), *parameters,
    )  # fmt: skip
    return {digest(mark, number, work.weights(number)): number for number in range(count)}


def _outcome(work: Work, base: pd.DataFrame, number: int) -> Outcome:
    table = _one(work, base, number)
    reasons = [None if why is None else why.plain() for why in table["failure"]]
    return Outcome({"failure": reasons}, {ROWS: table[KEYS]})


def _with_reasons(found: Outcome) -> pd.DataFrame:
    reasons = [None if why is None else Message.from_plain(why) for why in found.values["failure"]]
    return found.tables[ROWS].assign(failure=pd.Series(reasons, dtype=object))


def _one(work: Work, base: pd.DataFrame, number: int) -> pd.DataFrame:
    """Estimates of a replicate; if it could not be fitted, NaN, and the reason in ``failure``."""
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
        if reasons:
            why = reasons.most_common(1)[0][0]
            said = Message("{said}; most often because: {why}", said=said, why=why)
        warnings.warn(DataWarning(said), stacklevel=4)
