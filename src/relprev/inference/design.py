"""Variance of an estimate from its influence function, under the sampling design.

An estimate with influence function psi has, with weights omega that sum to one, the
linearised error sum_i omega_i psi_i. Summed within primary sampling units (PSU) j of
stratum h to totals t_hj, its Taylor-linearised variance (PSUs as if drawn with
replacement) is

    V = sum_h n_h / (n_h - 1) sum_j (t_hj - mean t_h) (t_hj - mean t_h)',
    df = number of PSUs - number of strata.

Without a survey design patients are the PSUs of a single stratum; without repeated
patients, rows are. A stratum with a single PSU has no variance to show; ``lonely``
says what to do: "fail" (default), "adjust" (its distance from the overall mean, which
is zero for an influence function) or "certainty" (it was sure to be drawn: no variance).

Domains: the estimate concerns some rows only (women, say), but all PSUs were sampled.
`SamplingDesign.take` keeps PSUs that lose all their rows, with total zero; the degrees
of freedom count the PSUs and strata that still have rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import Cohort
from relprev.design.base import FloatArray
from relprev.errors import InvalidInputError, TooFewCasesError

LONELY = ("fail", "adjust", "certainty")


@dataclass(frozen=True)
class SamplingDesign:
    """PSU of every row and stratum of every PSU.

    Parameters
    ----------
    psu : integer array of shape (n,)
        Numbers 0 to the number of PSUs less one.
    stratum : integer array of shape (n_psus,)
        Stratum number of every PSU.
    lonely : "fail", "adjust" or "certainty"

    Examples
    --------
    >>> import numpy as np
    >>> design = SamplingDesign(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    >>> design.degrees_of_freedom
    2
    >>> design.covariance(np.array([[1.0], [2.0], [5.0], [5.0]]))
    array([[1.]])
    """

    psu: NDArray[np.integer[Any]]
    stratum: NDArray[np.integer[Any]]
    lonely: str = "fail"

    def __post_init__(self) -> None:
        if self.lonely not in LONELY:
            raise InvalidInputError(f"lonely_psu must be one of {LONELY}, got {self.lonely!r}")
        alone = int((np.bincount(self.stratum) == 1).sum())
        if alone and self.lonely == "fail":
            raise InvalidInputError(
                f"{alone} strata have a single primary sampling unit, which shows no variance; "
                "merge them with similar strata, or choose lonely_psu='adjust' (cautious) or "
                "'certainty' (the unit was sure to be drawn)"
            )

    @classmethod
    def from_cohort(cls, cohort: Cohort, lonely: str = "fail") -> SamplingDesign:
        """Strata and PSUs of the cohort; where it has no PSUs, its patients or rows."""
        unit = next(u for u in (cohort.psus, cohort.clusters, np.arange(cohort.n)) if u is not None)
        if cohort.strata is None:
            psu = np.unique(unit, return_inverse=True)[1]
            return cls(psu, np.zeros(int(psu.max()) + 1, dtype=np.int64), lonely)
        stratum = np.unique(cohort.strata, return_inverse=True)[1].astype(np.int64)
        number = np.unique(unit, return_inverse=True)[1].astype(np.int64)
        # A PSU number may be used again in another stratum: the pair is what counts.
        pairs, psu = np.unique(stratum * (number.max() + 1) + number, return_inverse=True)
        return cls(psu, pairs // (number.max() + 1), lonely)

    def take(self, rows: NDArray[Any]) -> SamplingDesign:
        """The design of a domain: rows left out, their PSUs kept."""
        return replace(self, psu=self.psu[rows])

    @property
    def n_psus(self) -> int:
        """Number of PSUs that have rows."""
        return len(np.unique(self.psu))

    @property
    def n_strata(self) -> int:
        """Number of strata that have rows."""
        return len(np.unique(self.stratum[np.unique(self.psu)]))

    @property
    def degrees_of_freedom(self) -> int:
        """PSUs less strata, of those that have rows."""
        return self.n_psus - self.n_strata

    def totals(self, columns: Iterable[FloatArray]) -> FloatArray:
        """Sums within PSUs of q columns of shape (n,), as (number of PSUs, q)."""
        count = len(self.stratum)
        return np.column_stack([np.bincount(self.psu, column, count) for column in columns])

    def covariance(self, totals: FloatArray) -> FloatArray:
        """V for the totals of q influence functions, shape (q, q)."""
        if self.degrees_of_freedom < 1:
            raise TooFewCasesError(
                f"the design has {self.n_psus} PSUs in {self.n_strata} strata, which leaves no "
                "degree of freedom for a variance; merge strata"
            )
        n_strata = int(self.stratum.max()) + 1
        size = np.bincount(self.stratum, minlength=n_strata)
        sums = np.column_stack([np.bincount(self.stratum, t, n_strata) for t in totals.T])
        mean = sums / np.maximum(size, 1)[:, None]
        factor = np.where(size > 1, size / np.maximum(size - 1, 1), 1.0)
        if self.lonely == "adjust":
            mean[size == 1] = totals.mean(axis=0)
        away = (totals - mean[self.stratum]) * np.sqrt(factor)[self.stratum, None]
        return away.T @ away
