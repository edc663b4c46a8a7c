"""The paper's protocol: repeated random splits into train, validation and test parts.

Each split is disjoint in patients. The penalty is chosen on the validation part,
the relative prevalence is estimated on the test part, and the mean and standard
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
    """Estimates of every split; ``to_frame`` gives mean and SD.

    Parameters
    ----------
    splits : pandas.DataFrame
        One row for each contrast and split.
    seeds : tuple of int
        Seed of every split.

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
        """One row a contrast: mean and standard deviation over the splits."""
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
    X, s, groups, sample_weight, clusters
        As in `PURPLE.fit`; ``X`` may be a `Cohort`. Weights enter the fit and the estimate.
    estimator : PURPLE, optional
        Default: ``PURPLE(selection="auc")``, the paper's choice.
    versus : str
        As in `PURPLE.relative_prevalence`.
    n_splits : int
    shares : (train, validation, test)
    random_state : int
        Split k uses seed ``random_state + k``.
    verbose : bool
        Show progress on standard error.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3)).cohort
    >>> table = repeated_splits(cohort, versus="b", n_splits=2).to_frame()
    >>> list(table.columns)
    ['group', 'versus', 'estimate', 'sd', 'observed_ratio', 'diagnosis_ratio', 'n_splits']
    """
    if n_splits < 2:
        raise InvalidInputError(f"n_splits must be at least 2 to give a deviation, got {n_splits}")
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
