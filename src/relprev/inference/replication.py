"""Standard errors from refitting with other weights: bootstrap and replicate weights.

Let theta_r be the estimate fitted with replicate weights w_r. The variance of log theta is

    V = sum_r k_r (log theta_r - log theta)^2.

The survey bootstrap (Rao and Wu) draws n_h - 1 of the n_h PSUs of each stratum with
replacement and multiplies the weights of a PSU drawn d times by d n_h / (n_h - 1); then
k_r = 1 / R, with the mean of the log theta_r in place of log theta. Without a survey design,
patients are the PSUs. A PSU drawn twice counts twice rather than entering twice,
so cross-fitting never sees the same patient in two folds.

For replicate weights that come with the data, k_r depends on their kind: 1 / R for balanced
repeated replication (BRR), 1 / (R (1 - fay)^2) for Fay's method, (R - 1) / R for the jackknife
that leaves out one PSU (JK1), or given values (stratified jackknife).

How replicates are fitted: `relprev.inference.refits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from relprev.arrays import FloatArray
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.estimates import COLUMNS, COMPLEMENT, withheld
from relprev.inference.intervals import EXTRA_COLUMNS, InferredPrevalence
from relprev.inference.refits import RATIOS, Work, check_processes, logarithms, refit
from relprev.inference.sampling import SamplingDesign


@dataclass(frozen=True)
class Replication:
    """An estimate and its replicates.

    Parameters
    ----------
    base : pandas.DataFrame
        The estimator's own table.
    replicates : pandas.DataFrame
        One row per replicate and contrast; NaN if the replicate could not be fitted.
    coefficients : array of shape (R,)
        k_r.
    degrees_of_freedom : int
        Those of the t distribution behind the intervals.
    centred : bool
        Whether deviations are taken from the replicates' mean (bootstrap) or from the estimate.
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
        """Standard errors of the logarithm of a ratio, one per row of ``base``.

        Parameters
        ----------
        column : str
            "estimate", "observed_ratio" or "diagnosis_ratio".

        Returns
        -------
        array of shape (rows,)
            NaN where ``base``, or all replicates but one, have no estimate.
        """
        usable = [name for name in RATIOS if name in self.base and name in self.replicates]
        if column not in usable:
            raise InvalidInputError(f"column must be one of {usable}, got {column!r}")
        wide, full = self._log(column), logarithms(self.base[column])
        known = np.isfinite(wide)
        found = known.sum(axis=0)
        centre = np.nansum(wide, axis=0) / np.maximum(found, 1) if self.centred else full
        k = self.coefficients[:, None] * known
        k = k * self.coefficients.sum() / np.maximum(k.sum(axis=0), 1e-300)  # others stand in
        error = np.sqrt(np.nansum(k * (wide - centre) ** 2, axis=0))
        return np.where((found > 1) & np.isfinite(full), error, np.nan)

    def result(self, level: float = 0.95) -> InferredPrevalence:
        """The estimates with these standard errors, intervals at ``level`` and p-values.

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
        """A row of ``base`` with this standard error, from ``found`` replicates."""
        df = float(self.degrees_of_freedom)
        value, half = float(row["estimate"]), stats.t.ppf(0.5 + level / 2, df) * sigma
        full = dict.fromkeys([*COLUMNS, *EXTRA_COLUMNS], float("nan"))
        full |= {key: row[key] for key in COLUMNS} | {
            "ci_low": value * np.exp(-half), "ci_high": value * np.exp(half), "std_error": sigma,
            "p_value": 2 * stats.t.sf(abs(np.log(value)) / sigma, df) if sigma > 0 else np.nan,
            "degrees_of_freedom": df if np.isfinite(sigma) else np.nan,
        }  # fmt: skip
        why = row.get("withheld", "")
        if np.isnan(sigma) and not np.isnan(value):
            why = withheld({"no logarithm" if found > 1 else "few replicates": []})
        return full | {"few_cases": bool(row.get("few_cases", False)), "withheld": why}

    def _log(self, column: str) -> FloatArray:
        """Logarithms of a column's replicates, shape (R, rows of base)."""
        wide = self.replicates.pivot(index="replicate", columns=["group", "versus"], values=column)
        order = pd.MultiIndex.from_frame(self.base[["group", "versus"]])
        return logarithms(wide.reindex(columns=order))


def bootstrap(
    estimator: Any, cohort: Cohort, versus: str = COMPLEMENT, *, replicates: int = 200,
    lonely_psu: str = "fail", random_state: int = 0, processes: int = 1,
    out: str | Path | None = None, verbose: bool = False,
) -> Replication:  # fmt: skip
    """Cluster or survey bootstrap of any estimator with ``relative_prevalence``.

    Parameters
    ----------
    estimator : PURPLE, DebiasedPURPLE or another estimator
        Cloned and refitted for each replicate.
    cohort : Cohort
    versus : str
        As in ``relative_prevalence``.
    replicates : int
    lonely_psu : "fail", "adjust" or "certainty"
        The bootstrap cannot show the variance of a lonely PSU; unless this is "fail", such a
        PSU keeps its weights in every replicate.
    random_state : int
        Seed; each replicate draws from a stream of its own.
    processes : int
        Processes to fit in, each with a copy of the cohort; 1 for a cohort kept in parts. They
        start by importing the main script, which must therefore guard its work by
        ``if __name__ == "__main__":``.
    out : path, optional
        Folder in which replicates are kept; those that it holds already are not fitted again.
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
    check_processes(processes, cohort)
    design = SamplingDesign.from_cohort(cohort, lonely_psu)
    given = cohort.weights
    weight = np.ones(cohort.n) if given is None else given
    work = Work(estimator, cohort, versus, partial(_resampled, design, weight, random_state))
    base, table = refit(work, replicates, processes, out, verbose)
    k = np.full(replicates, 1 / replicates)
    return Replication(base, table, k, design.degrees_of_freedom, True, "bootstrap")


def replicate_weights(
    estimator: Any,
    cohort: Cohort,
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
    estimator, cohort : as in `bootstrap`
        The cohort has the full-sample weights.
    weights : array of shape (n, R)
        Replicate weights; zero where a replicate leaves a row out.
    versus : as in `bootstrap`
    kind : "brr", "fay", "jk1" or "given"
        How the weights were made, which determines k_r.
    fay : float in [0, 1)
        Fay's coefficient, for ``kind="fay"``.
    coefficients : array of shape (R,)
        k_r, for ``kind="given"``.
    degrees_of_freedom : int, optional
        Default: R - 1.
    processes, out, verbose : as in `bootstrap`

    Returns
    -------
    Replication
        The estimate and its replicates; formula: :mod:`relprev.inference.replication`.

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
            f"weights must have shape ({cohort.n}, R) with R of 2 or more, got {columns.shape}"
        )
    if not np.isfinite(columns).all() or (columns < 0).any():
        raise InvalidInputError("weights must be finite and zero or more")
    k = _coefficients(kind, columns.shape[1], fay, coefficients)
    check_processes(processes, cohort)
    work = Work(estimator, cohort, versus, partial(_column, columns))
    base, table = refit(work, columns.shape[1], processes, out, verbose)
    df = columns.shape[1] - 1 if degrees_of_freedom is None else degrees_of_freedom
    return Replication(base, table, k, df, False, "replicate weights")


def rao_wu(design: SamplingDesign, rng: np.random.Generator) -> FloatArray:
    """Weight factor of each PSU in one bootstrap replicate, shape (n_psus,)."""
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
            raise InvalidInputError(
                f"coefficients must hold {count} numbers, 0 or more, for kind='given'; got shape "
                f"{k.shape}"
            )
        return k
    if not 0 <= fay < 1:
        raise InvalidInputError(f"fay must be in [0, 1), got {fay}")
    known = {"brr": 1 / count, "fay": 1 / (count * (1 - fay) ** 2), "jk1": (count - 1) / count}
    if kind not in known:
        raise InvalidInputError(f"kind must be one of {[*known, 'given']}, got {kind!r}")
    return np.full(count, known[kind])


def _resampled(design: SamplingDesign, weight: FloatArray, seed: int, number: int) -> FloatArray:
    rng = np.random.default_rng(np.random.SeedSequence([seed, number]))
    return weight * rao_wu(design, rng)[design.psu]


def _column(columns: FloatArray, number: int) -> FloatArray:
    return columns[:, number]
