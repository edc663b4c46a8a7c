"""The paper's protocol: repeated random splits into training, validation and test rows.

Each split is disjoint in patients. The penalty is chosen on the validation rows,
the relative prevalence is estimated on the test rows, and the mean and standard
deviation over the splits are reported. That standard deviation is not a standard
error: the splits share data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import clone

from relprev.cohort import Cohort, as_cohort
from relprev.errors import InvalidInputError
from relprev.estimates import COMPLEMENT
from relprev.model.purple import PURPLE
from relprev.model.splits import split
from relprev.progress import progress


@dataclass(frozen=True)
class RepeatedSplits:
    """Estimates from each split; ``to_frame`` gives mean and SD.

    Parameters
    ----------
    splits : pandas.DataFrame
        One row per contrast and split.
    seeds : tuple of int
        One per split.

    Notes
    -----
    See :mod:`relprev.model.protocol`.

    Examples
    --------
    >>> splits = pd.DataFrame({
    ...     "group": "a", "versus": "b", "estimate": [1.0, 2.0], "observed_ratio": 1.0,
    ...     "diagnosis_ratio": 1.0})
    >>> RepeatedSplits(splits, seeds=(0, 1)).to_frame()[["estimate", "sd"]].round(2)
       estimate    sd
    0       1.5  0.71
    """

    splits: pd.DataFrame
    seeds: tuple[int, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row per contrast: mean and standard deviation over the splits.

        Columns: group, versus, estimate (the mean), sd, observed_ratio, diagnosis_ratio, n_splits.
        """
        by = self.splits.groupby(["group", "versus"], sort=False, observed=True)
        return by.agg(
            estimate=("estimate", "mean"),
            sd=("estimate", "std"),
            observed_ratio=("observed_ratio", "mean"),
            diagnosis_ratio=("diagnosis_ratio", "mean"),
            n_splits=("estimate", "size"),
        ).reset_index()


def repeated_splits(
    X: Any,
    s: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    estimator: PURPLE | None = None,
    versus: str = COMPLEMENT,
    n_splits: int = 5,
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2),
    random_state: int = 0,
    verbose: bool = False,
) -> RepeatedSplits:
    """Run the paper's protocol.

    Parameters
    ----------
    X : array, sparse matrix, frame, `Matrix` or `Cohort`, shape (n, p)
        Symptoms. With a cohort, give no other data.
    s, groups : arrays of shape (n,)
        Recorded diagnosis and group of each row.
    sample_weight, clusters : arrays of shape (n,), optional
        As in `PURPLE.fit`. Weights enter both the fit and the estimate.
    estimator : PURPLE, optional
        Default: ``PURPLE(selection="auc")``, the paper's choice.
    versus : str
        As in `PURPLE.relative_prevalence`.
    n_splits : int
        Number of random splits.
    shares : (train, validation, test)
        Shares of the patients in each.
    random_state : int
        Split k uses seed ``random_state + k``.
    verbose : bool
        Show progress on standard error.

    Returns
    -------
    RepeatedSplits
        Estimates from each split. Their spread is not a standard error: the splits share data.

    Notes
    -----
    The paper's protocol, see :mod:`relprev.model.protocol`; the estimate, :mod:`relprev.estimates`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3)).cohort
    >>> table = repeated_splits(cohort, versus="b", n_splits=2).to_frame()
    >>> table[["group", "versus", "estimate", "sd", "n_splits"]].round(1)  # the truth is 0.4
      group versus  estimate   sd  n_splits
    0     a      b       0.4  0.0         2
    """
    if n_splits < 2:
        raise InvalidInputError(f"n_splits must be 2 or more to give a deviation, got {n_splits}")
    if len(shares) != 3:
        raise InvalidInputError(f"shares must be (train, validation, test), got {shares}")
    cohort: Cohort = as_cohort(X, s, groups=groups, sample_weight=sample_weight, clusters=clusters)
    estimator = PURPLE(selection="auc") if estimator is None else estimator
    seeds = tuple(random_state + k for k in range(n_splits))
    tables = []
    with progress("Splits", n_splits, verbose) as advance:
        for number, seed in enumerate(seeds):
            advance(f"split {number + 1} of {n_splits}")
            train, validation, test = (cohort.take(rows) for rows in split(cohort, shares, seed))
            fitted = clone(estimator).fit(train, validation=validation)
            table = fitted.relative_prevalence(versus, on=test).to_frame()
            tables.append(table.assign(split=number, seed=seed, lambda_=fitted.lambda_))
    return RepeatedSplits(pd.concat(tables, ignore_index=True), seeds)
