"""Numbers as 0/1 features: whether a value is among the highest, or the lowest, twentieth.

Nobody "has" a number, so that visits with it cannot be counted. Visits with its highest values can,
and these are the ones that would give a diagnosis away. Of a curve of a number
(`relprev.cohort.numbers`) only the first column is used, which grows with the number.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.checks.feature_counts import feature_labels, numeric_features
from relprev.cohort import Cohort, CohortPart
from relprev.matrix import BinaryCSR

TWENTIETH = 0.05
MANY = 2 * TWENTIETH  # values that are the same as the one where a tail begins are left out
BENDS = re.compile(r":spline(?!1$)\d+$")


def with_tails(cohort: Cohort) -> Cohort:
    """The cohort with two 0/1 features in place of every number; as it is if it has none.

    Examples
    --------
    >>> from relprev import as_cohort
    >>> X = np.column_stack([np.arange(40.0), np.arange(40) % 2])
    >>> made = with_tails(as_cohort(X, [0, 1] * 20, groups=["a"] * 20 + ["b"] * 20))
    >>> made.feature_names
    ('column 1', 'column 0, highest twentieth', 'column 0, lowest twentieth')
    >>> made.X.nonzero_squares()[1]
    array([20,  2,  2])
    """
    is_number = numeric_features(cohort)
    if not is_number.any():
        return cohort
    labels, codes = feature_labels(cohort), np.flatnonzero(~is_number)
    numbers = [j for j in np.flatnonzero(is_number) if not BENDS.search(labels[j])]
    ends = [(j, sign, _begins(sign * cohort.gathered(_column, j)))
            for j in numbers for sign in (1.0, -1.0)]  # fmt: skip
    words = {1.0: "highest", -1.0: "lowest"}
    names = (*(labels[j] for j in codes),
             *(f"{labels[j]}, {words[sign]} twentieth" for j, sign, _ in ends))  # fmt: skip
    rows = cohort.derive(_with_ends, codes, ends)
    return cohort.holding(rows, n_cols=len(names), feature_names=names)


def _column(part: CohortPart, j: int) -> FloatArray:
    return part.X.matvec((np.arange(part.n_cols) == j).astype(float))


def _begins(x: FloatArray) -> float:
    """The lowest value of the highest twentieth."""
    cut = float(np.quantile(x, 1 - TWENTIETH, method="higher"))
    if np.mean(x >= cut) <= MANY:
        return cut
    above = x[x > cut]
    return float(above.min()) if len(above) else np.inf


def _with_ends(
    part: CohortPart, codes: NDArray[np.int64], ends: list[tuple[int, float, float]]
) -> CohortPart:
    own = sp.csr_array(part.X.to_scipy())[:, codes]
    tails = [sign * _column(part, j) >= cut for j, sign, cut in ends]
    X = sp.hstack([own, sp.csr_array(np.column_stack(tails).astype(float))], format="csr")
    X.eliminate_zeros()
    return replace(part, X=BinaryCSR(X.indptr, X.indices, X.shape[1]))
