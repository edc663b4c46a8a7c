"""Variance of an estimate from its influence function, under the sampling design.

An estimate with influence function psi has, with weights omega that sum to one, the
linearised error sum_i omega_i psi_i. Summed within primary sampling units (PSU) j of
stratum h to totals t_hj, its Taylor-linearised variance (PSUs as if drawn with
replacement) is

    V = sum_h n_h / (n_h - 1) sum_j (t_hj - mean t_h) (t_hj - mean t_h)',
    df = number of PSUs - number of strata.

Without a survey design patients are the PSUs of a single stratum; if patients are not
identified, rows are. A stratum with a single PSU shows no variance; ``lonely`` says what to
do: "fail" (default), "adjust" (use its distance from the overall mean, which is zero for an
influence function) or "certainty" (it was certain to be drawn: no variance).

Domains: the estimate concerns some of the rows (women, say), but all PSUs were sampled.
`SamplingDesign.take` keeps PSUs that lose all their rows, with a total of zero; the degrees
of freedom count the PSUs and strata that still have rows. So does a cohort that a study's rules
made of a survey: it knows how many PSUs every stratum had before (`Cohort.sampled_psus`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, numbered
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.messages import Count, Message, Number
from relprev.rows import Rows, total

LONELY = ("fail", "adjust", "certainty")


@dataclass(frozen=True)
class SamplingDesign:
    """PSU of each row and stratum of each PSU.

    Parameters
    ----------
    psu : integer array of shape (n,)
        Numbers from 0.
    stratum : integer array of shape (n_psus,)
        Numbers from 0.
    lonely : "fail", "adjust" or "certainty"
        What to do with a stratum that has a single PSU.
    patient : integer array of shape (n,), optional
        Patient of each row, for counting cases. Default: each row is a patient.

    Notes
    -----
    Formula: :mod:`relprev.inference.sampling`.

    Examples
    --------
    Two strata of two primary sampling units, each with one row:

    >>> import numpy as np
    >>> design = SamplingDesign(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    >>> design.n_psus, design.n_strata, design.degrees_of_freedom
    (4, 2, 2)
    >>> totals = design.totals([np.array([1.0, 2.0, 5.0, 5.0])])
    >>> design.covariance(totals)
    array([[1.]])

    A domain keeps the units whose rows are left out:

    >>> design.take(np.array([0, 1, 3])).n_psus
    3
    >>> from relprev.simulate import gauss_synth
    >>> SamplingDesign.from_cohort(gauss_synth().cohort).degrees_of_freedom
    29999
    """

    psu: NDArray[np.integer[Any]]
    stratum: NDArray[np.integer[Any]]
    lonely: str = "fail"
    patient: NDArray[np.integer[Any]] | None = None

    def __post_init__(self) -> None:
        if self.lonely not in LONELY:
            raise InvalidInputError(f"lonely_psu must be one of {LONELY}, got {self.lonely!r}")
        alone = int((np.bincount(self.stratum) == 1).sum())
        if alone and self.lonely == "fail":
            raise InvalidInputError(
                Message(
                    "{alone} strata have a single primary sampling unit, which shows no variance; "
                    "merge them with similar strata, or choose lonely_psu='adjust' (cautious) or "
                    "'certainty' (the unit was certain to be drawn)",
                    alone=Number(alone, ","),
                )
            )

    @classmethod
    def from_cohort(cls, cohort: Cohort, lonely: str = "fail") -> SamplingDesign:
        """The design of all rows of a cohort; without PSUs, its patients or rows are the PSUs."""
        psus, clusters, strata = cohort.psus, cohort.clusters, cohort.strata
        known = (values for values in (psus, clusters) if values is not None)
        units, psu = numbered(next(known, np.arange(cohort.n)))
        patient = clusters if clusters is None else psu if psus is None else numbered(clusters)[1]
        if strata is None:
            return cls(psu, np.zeros(len(units), dtype=np.int64), lonely, patient)
        # PSU numbers may be reused in other strata: the pair identifies a PSU.
        names, pair = numbered(strata)
        pair = pair.astype(np.int64)
        pair *= len(units)
        pair += psu
        pairs, psu = numbered(pair)
        stratum = pairs // len(units)
        if psus is not None and cohort.sampled_psus:
            sampled = np.array(cohort.sampled_psus)[names]
            without_rows = np.maximum(sampled - np.bincount(stratum), 0)
            stratum = np.concatenate([stratum, np.repeat(np.arange(len(names)), without_rows)])
        return cls(psu, stratum, lonely, patient)

    def take(self, rows: NDArray[Any]) -> SamplingDesign:
        """The design of a domain: only these rows (positions or a mask), but all PSUs."""
        patient = None if self.patient is None else self.patient[rows]
        return replace(self, psu=self.psu[rows], patient=patient)

    @cached_property
    def _found(self) -> NDArray[np.integer[Any]]:
        """The PSUs that have rows."""
        return numbered(self.psu)[0]

    @property
    def n_psus(self) -> int:
        """Number of PSUs that have rows."""
        return len(self._found)

    @property
    def n_strata(self) -> int:
        """Number of strata that have rows."""
        return len(np.unique(self.stratum[self._found]))

    @property
    def degrees_of_freedom(self) -> int:
        """PSUs minus strata, of those that have rows."""
        return self.n_psus - self.n_strata

    def totals(self, columns: Iterable[FloatArray]) -> FloatArray:
        """Sums of q columns of shape (n,) within primary sampling units, shape (n_psus, q)."""
        return _totals(self.psu, len(self.stratum), columns)

    def covariance(self, totals: FloatArray) -> FloatArray:
        """Covariance V, shape (q, q), from `totals` of q weighted influence functions."""
        self._require_freedom()
        return self._covariance(*_sums(totals, self.stratum, self._factor))

    def covariance_in_parts(
        self, data: Rows[Any], columns: Callable[..., Iterable[FloatArray]], *shared: Any,
        each: Sequence[Any] | None = None,
    ) -> FloatArray:  # fmt: skip
        """Covariance V, shape (q, q), of q estimates whose rows may be kept in parts.

        A PSU whose rows all lie in one part is summed there. Those with rows in several
        parts are few; their totals are collected.

        Parameters
        ----------
        data : Rows
            The rows of this design, in the same order.
        columns : function of a part, its entry of ``each`` if given, and ``shared``
            Yields the q columns.
        *shared, each : as in `Rows.map`

        Examples
        --------
        The standard error of the share diagnosed:

        >>> from relprev import DebiasedPURPLE
        >>> from relprev.simulate import gauss_synth
        >>> cohort = gauss_synth((0.5, 0.1), n=(500, 1000), seed=1).cohort
        >>> fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(cohort)
        >>> p = cohort.diagnosed.mean()
        >>> V = fitted.design_.covariance_in_parts(
        ...     fitted.score_data_, lambda part: [part.omega * (part.s - p)])
        >>> bool(np.isclose(V[0, 0], p * (1 - p) / (cohort.n - 1)))
        True
        """
        self._require_freedom()
        pieces = self._pieces(data.sizes)
        own: list[Any] = [()] * len(pieces) if each is None else [(value,) for value in each]
        both = list(zip(pieces, own, strict=True))
        found = data.map(_psu_sums, columns, self._factor, *shared, each=both)
        products, sums = total([part[:2] for part in found])
        split = np.concatenate([piece.split for piece in pieces])
        if len(split):
            numbers, place = np.unique(split, return_inverse=True)
            totals = np.zeros((len(numbers), products.shape[0]))
            np.add.at(totals, place, np.concatenate([part[2] for part in found]))
            more = _sums(totals, self.stratum[numbers], self._factor)
            products, sums = products + more[0], sums + more[1]
        return self._covariance(products, sums)

    def _require_freedom(self) -> None:
        if self.degrees_of_freedom < 1:
            raise TooFewCasesError(
                Message(
                    "the design has {units} in {strata} strata, which leaves no degree of freedom "
                    "for a variance; merge strata",
                    units=Count(self.n_psus, "primary sampling unit"),
                    strata=Number(self.n_strata, ","),
                )
            )

    @property
    def _size(self) -> NDArray[np.int64]:
        """Number of PSUs per stratum."""
        return np.bincount(self.stratum, minlength=int(self.stratum.max()) + 1)

    @property
    def _factor(self) -> FloatArray:
        """n_h / (n_h - 1) per stratum; 1 for a lonely PSU."""
        return np.where(self._size > 1, self._size / np.maximum(self._size - 1, 1), 1.0)

    def _covariance(self, products: FloatArray, sums: FloatArray) -> FloatArray:
        """V from sum_j factor_h t_j t_j' and the strata's sums of t."""
        size, factor = self._size, self._factor
        mean = sums / np.maximum(size, 1)[:, None]
        if self.lonely == "adjust":
            mean[size == 1] = sums.sum(axis=0) / len(self.stratum)
        crossed = (factor[:, None] * sums).T @ mean
        squared = ((factor * size)[:, None] * mean).T @ mean
        return products - crossed - crossed.T + squared

    def _pieces(self, sizes: Sequence[int]) -> list[_Piece]:
        """The PSUs of every part."""
        if len(sizes) == 1:
            none = np.empty(0, dtype=np.int64)
            return [_Piece(self.psu, self.stratum, np.zeros(len(self.stratum), bool), none)]
        edges = np.cumsum([0, *sizes])
        parts = [numbered(self.psu[a:b]) for a, b in itertools.pairwise(edges)]
        seen = np.bincount(np.concatenate([numbers for numbers, _ in parts]))
        return [
            _Piece(local, self.stratum[numbers], seen[numbers] > 1, numbers[seen[numbers] > 1])
            for numbers, local in parts
        ]


@dataclass(frozen=True)
class _Piece:
    """The PSUs of one part: number in the part of every row's; their strata; which of them
    have rows in other parts too, and the numbers of those in the design."""

    psu: NDArray[np.integer[Any]]
    stratum: NDArray[np.integer[Any]]
    is_split: NDArray[np.bool_]
    split: NDArray[np.integer[Any]]


def _psu_sums(
    data: Any, both: tuple[_Piece, tuple[Any, ...]],
    columns: Callable[..., Iterable[FloatArray]], factor: FloatArray, *shared: Any,
) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
    """Sums over the part's own PSUs, and the totals of those that are split."""
    piece, own_values = both
    totals = _totals(piece.psu, len(piece.stratum), columns(data, *own_values, *shared))
    own = ~piece.is_split
    return *_sums(totals[own], piece.stratum[own], factor), totals[piece.is_split]


def _totals(psu: NDArray[np.integer[Any]], count: int, columns: Iterable[FloatArray]) -> FloatArray:
    return np.column_stack([np.bincount(psu, column, count) for column in columns])


def _sums(
    totals: FloatArray, stratum: NDArray[np.integer[Any]], factor: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """sum_j factor_h t_j t_j', shape (q, q), and the strata's sums of t, (n_strata, q)."""
    products = (factor[stratum][:, None] * totals).T @ totals
    by_stratum = [np.bincount(stratum, column, len(factor)) for column in totals.T]
    return products, np.column_stack(by_stratum)
