"""Standard errors by fitting again with other weights: bootstrap and replicate weights.

An estimate fitted with replicate weights w_r is theta_r; the variance of log theta is

    V = sum_r k_r (log theta_r - log theta)^2.

The survey bootstrap (Rao and Wu) draws n_h - 1 of the n_h PSUs of each stratum with
replacement and multiplies the weights of a PSU drawn d times by d n_h / (n_h - 1); then
k_r = 1 / R, with the mean of the log theta_r in place of log theta. Patients are the PSUs
where there is no survey design. A PSU drawn twice counts twice instead of entering twice,
so cross-fitting never sees the same patient in two folds.

Replicate weights that come with the data have k_r by their kind: 1 / R for balanced
repeated replication (BRR), 1 / (R (1 - fay)^2) for Fay's, (R - 1) / R for the jackknife
that leaves out one PSU (JK1), or given ones (stratified jackknife).

A replicate may leave one PSU in a stratum, which has no variance of its own; only its estimate is
used, and strata are left out. An estimator that fits out of fold keeps the folds of the full
sample: dealt anew, they would add noise to every theta_r, which the jackknife multiplies by R - 1.

Replicates are independent, so they can be fitted in several processes: each draws from a
seed of its own, and the results are the same for any number of processes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import clone

from relprev.cohort import AnyCohort, Cohort
from relprev.design.base import FloatArray
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.estimates import COLUMNS, COMPLEMENT
from relprev.files import written_whole
from relprev.inference.design import SamplingDesign
from relprev.inference.result import EXTRA_COLUMNS, InferredPrevalence, headline
from relprev.processes import in_processes
from relprev.progress import progress

SAVE_EVERY = 10
MANY_DEGENERATE = 0.05
RATIOS = ["estimate", "observed_ratio", "diagnosis_ratio"]
KEYS = ["replicate", "group", "versus", *RATIOS, "failure"]
Weights = Callable[[int], FloatArray]


@dataclass(frozen=True)
class Replication:
    """An estimate and its replicates.

    Parameters
    ----------
    base : pandas.DataFrame
        The estimator's own table.
    replicates : pandas.DataFrame
        One row a replicate and contrast, NaN where the replicate could not be fitted; those
        fitted here say why in the column failure.
    coefficients : array of shape (R,)
        k_r.
    degrees_of_freedom : int
        Of the intervals.
    centred : bool
        Whether deviations are from the replicates' mean (bootstrap) or the estimate.
    method : str
        Name of the estimator.

    Notes
    -----
    Formula: :mod:`relprev.inference.replication`.

    Examples
    --------
    >>> import pandas as pd
    >>> base = pd.DataFrame({"group": ["a"], "versus": ["b"], "estimate": [2.0]})
    >>> again = pd.DataFrame({"replicate": [0, 1, 2], "group": "a", "versus": "b",
    ...                       "estimate": [1.8, 2.1, 2.2]})
    >>> weights = np.full(3, 1 / 3)  # k_r = 1 / R
    >>> round(Replication(base, again, weights, 2, True, "mine").std_errors()[0], 3)
    np.float64(0.086)
    """

    base: pd.DataFrame
    replicates: pd.DataFrame
    coefficients: FloatArray
    degrees_of_freedom: int
    centred: bool
    method: str

    def std_errors(self, column: str = "estimate") -> FloatArray:
        """Standard errors of the logarithm of a column, in the order of ``base``.

        Parameters
        ----------
        column : str
            A ratio of ``base``: "estimate", "observed_ratio" or "diagnosis_ratio".

        Returns
        -------
        array of shape (rows,)
            Standard errors; NaN where ``base`` has no estimate or fewer than two replicates have.
        """
        usable = [name for name in RATIOS if name in self.base and name in self.replicates]
        if column not in usable:
            raise InvalidInputError(f"column must be one of {usable}, got {column!r}")
        wide, full = self._log(column), _logarithms(self.base[column])
        known = np.isfinite(wide)
        found = known.sum(axis=0)
        centre = np.nansum(wide, axis=0) / np.maximum(found, 1) if self.centred else full
        k = self.coefficients[:, None] * known
        k = k * self.coefficients.sum() / np.maximum(k.sum(axis=0), 1e-300)  # share of the lost
        error = np.sqrt(np.nansum(k * (wide - centre) ** 2, axis=0))
        return np.where((found > 1) & np.isfinite(full), error, np.nan)

    def result(self, level: float = 0.95) -> InferredPrevalence:
        """The table with these standard errors, intervals and p-values.

        Parameters
        ----------
        level : float
            Of the intervals.

        Returns
        -------
        InferredPrevalence
            As from `DebiasedPURPLE.relative_prevalence`.

        Examples
        --------
        >>> from relprev import PURPLE
        >>> from relprev.simulate import gauss_synth
        >>> cohort = gauss_synth((0.5, 0.3), n=(1000, 2000), seed=0).cohort
        >>> found = bootstrap(PURPLE(lambdas=1e-3), cohort, "b", replicates=20)
        >>> found.result(level=0.9).to_frame()[["ci_low", "ci_high"]].round(2)
           ci_low  ci_high
        0    0.39     0.44
        """
        logs = self._log("estimate")
        found = np.isfinite(logs).sum(axis=0)
        each = zip(self.base.iterrows(), self.std_errors(), found, strict=True)
        rows = tuple(self._row(row, float(sigma), int(k), level) for (_, row), sigma, k in each)
        correlation = pd.DataFrame(logs).corr().to_numpy()
        return InferredPrevalence(rows, self.method, {}, level, correlation)

    def _row(self, row: pd.Series, sigma: float, found: int, level: float) -> dict[str, Any]:
        """A row of ``base`` with this standard error, from that many replicates."""
        df = float(self.degrees_of_freedom)
        value, half = float(row["estimate"]), stats.t.ppf(0.5 + level / 2, df) * sigma
        full = dict.fromkeys([*COLUMNS, *EXTRA_COLUMNS], float("nan"))
        full |= {key: row[key] for key in COLUMNS} | {
            "ci_low": value * np.exp(-half), "ci_high": value * np.exp(half), "std_error": sigma,
            "p_value": 2 * stats.t.sf(abs(np.log(value)) / sigma, df) if sigma > 0 else np.nan,
            "degrees_of_freedom": df if np.isfinite(sigma) else np.nan,
        }  # fmt: skip
        which = f"{row['group']} versus {row['versus']}"
        if np.isfinite(sigma):
            words = headline(full, level)
        elif np.isnan(value):
            words = row.get("sentence", f"No estimate for {which}.")
        elif found > 1:
            words = f"No interval for {which} (estimate {value:.2f}): it has no finite logarithm."
        else:
            words = (
                f"No interval for {which} (estimate {value:.2f}): {found} of "
                f"{len(self.coefficients)} replicates gave an estimate, and a standard error "
                "needs 2."
            )
        return full | {"sentence": words}

    def _log(self, column: str) -> FloatArray:
        """Replicates of a column as (R, rows of base), logarithms."""
        wide = self.replicates.pivot(index="replicate", columns=["group", "versus"], values=column)
        order = pd.MultiIndex.from_frame(self.base[["group", "versus"]])
        return _logarithms(wide.reindex(columns=order))


def _logarithms(values: pd.DataFrame | pd.Series) -> FloatArray:
    """NaN where there is no finite one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(values.to_numpy(dtype=float))
    return np.where(np.isfinite(logs), logs, np.nan)


def bootstrap(
    estimator: Any,
    cohort: AnyCohort,
    versus: str = COMPLEMENT,
    *,
    replicates: int = 200,
    lonely_psu: str = "fail",
    random_state: int = 0,
    processes: int = 1,
    out: str | Path | None = None,
    verbose: bool = False,
) -> Replication:
    """Cluster or survey bootstrap of any estimator with ``relative_prevalence``.

    Parameters
    ----------
    estimator : PURPLE, DebiasedPURPLE or another estimator
        Cloned and fitted anew for every replicate.
    cohort : Cohort or PartitionedCohort
    versus : str
        As in ``relative_prevalence``.
    replicates : int
    lonely_psu : "fail", "adjust" or "certainty"
        The bootstrap cannot show the variance of a lonely PSU; other than "fail" keeps it
        as it is in every replicate.
    random_state : int
        Replicate r draws from a stream of its own.
    processes : int
        Processes to fit in, each with a copy of the cohort; 1 for a cohort kept in parts. They
        start by importing the main script, which must therefore guard what it does by
        ``if __name__ == "__main__":``.
    out : path, optional
        CSV file of the replicates; if it exists, those in it are not fitted again.
    verbose : bool

    Returns
    -------
    Replication
        The estimate and its replicates.

    Notes
    -----
    Formula: :mod:`relprev.inference.replication`.

    Examples
    --------
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), n=(1000, 2000), seed=0).cohort
    >>> found = bootstrap(PURPLE(lambdas=1e-3), cohort, "b", replicates=20)
    >>> found.result().to_frame()[["group", "estimate", "ci_low", "ci_high"]].round(2)
      group  estimate  ci_low  ci_high
    0     a      0.42    0.39     0.45
    """
    if replicates < 2:
        raise InvalidInputError(f"replicates must be at least 2, got {replicates}")
    _check_processes(processes, cohort)
    design = SamplingDesign.from_cohort(cohort, lonely_psu)
    given = cohort.gathered("weights")
    weight = np.ones(cohort.n) if given is None else given
    work = _Work(estimator, cohort, versus, partial(_resampled, design, weight, random_state))
    base, table = _refit(work, replicates, processes, out, verbose)
    k = np.full(replicates, 1 / replicates)
    return Replication(base, table, k, design.degrees_of_freedom, True, "bootstrap")


def replicate_weights(
    estimator: Any,
    cohort: AnyCohort,
    weights: ArrayLike,
    versus: str = COMPLEMENT,
    *,
    kind: str = "brr",
    fay: float = 0.0,
    coefficients: ArrayLike | None = None,
    degrees_of_freedom: int | None = None,
    processes: int = 1,
    out: str | Path | None = None,
    verbose: bool = False,
) -> Replication:
    """Standard errors from replicate weights that come with the data.

    Parameters
    ----------
    estimator : PURPLE, DebiasedPURPLE or another estimator
        Cloned and fitted anew for every replicate.
    cohort : Cohort or PartitionedCohort
        The data, with their full-sample weights.
    weights : array of shape (n, R)
        Replicate weights; zero where a replicate leaves a row out.
    versus : str
        As in ``relative_prevalence``.
    kind : "brr", "fay", "jk1" or "given"
        How the weights were made; sets k_r.
    fay : float in [0, 1)
        Fay's coefficient, for ``kind="fay"``.
    coefficients : array of shape (R,)
        k_r, for ``kind="given"``.
    degrees_of_freedom : int, optional
        Default: R - 1.
    processes : int
        As in `bootstrap`.
    out : path, optional
        As in `bootstrap`.
    verbose : bool
        Show progress on standard error.

    Returns
    -------
    Replication
        The estimate and its replicates.

    Notes
    -----
    Formula: :mod:`relprev.inference.replication`.

    Examples
    --------
    The jackknife that leaves out one of ten blocks of visits:

    >>> import numpy as np
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), n=(1000, 2000), seed=0).cohort
    >>> block = np.arange(cohort.n) % 10
    >>> weights = np.where(block[:, None] == np.arange(10), 0.0, 10 / 9)
    >>> found = replicate_weights(PURPLE(lambdas=1e-3), cohort, weights, "b", kind="jk1")
    >>> bool(0.02 < found.std_errors()[0] < 0.2)
    True
    """
    columns = np.asarray(weights, dtype=float)
    if columns.ndim != 2 or len(columns) != cohort.n or columns.shape[1] < 2:
        raise InvalidInputError(
            f"weights must have shape ({cohort.n}, R) with R >= 2, got {columns.shape}"
        )
    if not np.isfinite(columns).all() or (columns < 0).any():
        raise InvalidInputError("weights must be finite and not negative")
    k = _coefficients(kind, columns.shape[1], fay, coefficients)
    _check_processes(processes, cohort)
    work = _Work(estimator, cohort, versus, partial(_column, columns))
    base, table = _refit(work, columns.shape[1], processes, out, verbose)
    df = columns.shape[1] - 1 if degrees_of_freedom is None else degrees_of_freedom
    return Replication(base, table, k, df, False, "replicate weights")


def rao_wu(design: SamplingDesign, rng: np.random.Generator) -> FloatArray:
    """Weight factor of every PSU in one bootstrap replicate."""
    factor = np.ones(len(design.stratum))
    for stratum in np.unique(design.stratum):
        psus = np.flatnonzero(design.stratum == stratum)
        size = len(psus)
        if size > 1:
            drawn = np.bincount(rng.integers(0, size, size - 1), minlength=size)
            factor[psus] = drawn * size / (size - 1)
    return factor


def _coefficients(kind: str, count: int, fay: float, given: ArrayLike | None) -> FloatArray:
    if kind == "given":
        k = np.asarray(given if given is not None else [], dtype=float)
        if k.shape != (count,) or (k < 0).any():
            raise InvalidInputError(f"coefficients must hold {count} numbers >= 0 for kind='given'")
        return k
    if not 0 <= fay < 1:
        raise InvalidInputError(f"fay must be in [0, 1), got {fay}")
    known = {"brr": 1 / count, "fay": 1 / (count * (1 - fay) ** 2), "jk1": (count - 1) / count}
    if kind not in known:
        raise InvalidInputError(f"kind must be one of {[*known, 'given']}, got {kind!r}")
    return np.full(count, known[kind])


def _check_processes(processes: int, cohort: AnyCohort) -> None:
    if not isinstance(processes, int | np.integer) or processes < 1:
        raise InvalidInputError(f"processes must be a whole number >= 1, got {processes!r}")
    if processes > 1 and not isinstance(cohort, Cohort):
        raise InvalidInputError(
            f"processes must be 1 for a cohort kept in parts, got {processes}: every replicate "
            "already uses all cores, or all workers of the cluster"
        )


def _resampled(design: SamplingDesign, weight: FloatArray, seed: int, number: int) -> FloatArray:
    rng = np.random.default_rng(np.random.SeedSequence([seed, number]))
    return weight * rao_wu(design, rng)[design.psu]


def _column(columns: FloatArray, number: int) -> FloatArray:
    return columns[:, number]


@dataclass(frozen=True)
class _Work:
    """What every replicate needs; ``weights`` gives those of a replicate.

    ``fold`` of every row, if the estimator has folds.
    """

    estimator: Any
    cohort: AnyCohort
    versus: str
    weights: Weights
    fold: NDArray[np.integer[Any]] | None = None


def _refit(
    work: _Work, count: int, processes: int, out: str | Path | None, verbose: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The estimate, and one table of all replicates; continues a file if there is one."""
    fitted = clone(work.estimator).fit(work.cohort)
    base = fitted.relative_prevalence(work.versus).to_frame()
    if hasattr(fitted, "folds_"):
        fold = np.zeros(work.cohort.n, dtype=fitted.folds_.dtype)  # rows not used have no fold
        fold[fitted.rows_] = fitted.folds_
        work = replace(work, fold=fold)
    path = None if out is None else Path(out)
    parts = [_kept(work, path, base)] if path is not None and path.is_file() else []
    done = set(parts[0]["replicate"]) if parts else set()
    todo = [number for number in range(count) if number not in done]
    with progress("Replicates", len(todo), verbose) as advance:
        for finished, (number, part) in enumerate(
            in_processes(_one, (work, base), todo, processes), 1
        ):
            advance(f"replicate {number + 1}")
            parts.append(part)
            if path is not None and (finished % SAVE_EVERY == 0 or finished == len(todo)):
                with written_whole(path) as temporary:
                    _ordered(parts).to_csv(temporary, index=False)
    table = _ordered(parts)
    table = table[table["replicate"] < count]
    _warn_of_failures(base, table, count)
    return base, table


def _ordered(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts).sort_values("replicate", kind="stable", ignore_index=True)


def _kept(work: _Work, path: Path, base: pd.DataFrame) -> pd.DataFrame:
    """Replicates of an earlier run; one is fitted again to see that it was the same study."""
    text = dict.fromkeys(["group", "versus", "failure"], str)
    empty = {name: [""] for name in RATIOS}
    kept = pd.read_csv(path, dtype=text, keep_default_na=False, na_values=empty)
    missing = [name for name in KEYS if name not in kept]
    if "replicate" in kept and missing:
        raise InvalidInputError(
            f"{path} has no column {', '.join(missing)}: an earlier version wrote it; give another "
            "file as out, or delete it"
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
            "as out, or delete it"
        )
    return kept


def _one(shared: tuple[_Work, pd.DataFrame], number: int) -> pd.DataFrame:
    """A replicate's estimates; NaN if it could not be fitted."""
    work, base = shared
    weight, estimator = work.weights(number), clone(work.estimator)
    if work.fold is not None:
        estimator.set_params(folds=work.fold[weight != 0])
    part = _reweighted(work.cohort, weight)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # thin groups are counted later
            table = estimator.fit(part).relative_prevalence(work.versus).to_frame()
        why = table.get("sentence", "no finite estimate above 0")
        table["failure"] = np.where(np.isnan(_logarithms(table["estimate"])), why, "")
    except TooFewCasesError as error:
        table = base.assign(**dict.fromkeys(RATIOS, np.nan), failure=str(error))
    return table.assign(replicate=number)[KEYS]


def _reweighted(cohort: AnyCohort, weight: FloatArray) -> AnyCohort:
    """The visits whose weight is not zero, with these weights and without strata."""
    if isinstance(cohort, Cohort):
        return _weighted(cohort, weight)
    pieces = np.split(weight, np.cumsum(cohort.sizes)[:-1])
    which = [k for k, piece in enumerate(pieces) if piece.any()]
    kept = [pieces[k] for k in which]
    return replace(
        cohort,
        parts=cohort.parts.select(which).derive(_weighted, each=kept),
        sizes=tuple(int(np.count_nonzero(piece)) for piece in kept),
        fields=tuple(dict.fromkeys([*cohort.fields, "weights"])),
    ).without("strata")


def _weighted(cohort: Cohort, weight: FloatArray) -> Cohort:
    rows = np.flatnonzero(weight)
    return replace(cohort.take(rows), weights=weight[rows], strata=None)


def _warn_of_failures(base: pd.DataFrame, table: pd.DataFrame, count: int) -> None:
    """Say so if a contrast that has an estimate lacks it in many replicates."""
    failed = table[np.isnan(_logarithms(table["estimate"]))]
    estimated = base.loc[base["estimate"].notna(), ["group", "versus"]]
    failed = failed.merge(estimated, on=["group", "versus"])
    if len(failed) == 0:
        return
    (group, versus), worst = max(
        failed.groupby(["group", "versus"]), key=lambda item: len(item[1])
    )  # fmt: skip
    if len(worst) > MANY_DEGENERATE * count:
        left = (
            "the standard error describes the others only" if count - len(worst) > 1
            else "there is no standard error"
        )  # fmt: skip
        warnings.warn(
            f"{len(worst)} of {count} replicates gave no estimate for {group} versus {versus}; "
            f"{left}; why, most often: {worst['failure'].mode()[0]}",
            DataWarning,
            stacklevel=4,
        )
