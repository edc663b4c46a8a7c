"""Features far from zero (a temperature, a year), shifted so that their mean is zero.

With an unpenalised intercept b, the models of x and of x - o are the same:

    b + w x = (b + w o) + w (x - o).

They differ, however, under a ridge that does not depend on units and therefore scales with the
size of a feature: it would treat 2015 +- 3 as a large feature and hold its coefficient down.
They also differ for a solver, to which such a feature is nearly the intercept.
Features far from zero are therefore fitted about their mean,

    o_j = mean of x_j   where its values differ and |mean| > standard deviation,  else 0,

and results are reported for the original x. Codes (0 or 1) are not shifted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.cohort.cohort import Cohort
from relprev.cohort.part import CohortPart
from relprev.matrix import Dense, FloatCSR

SAME = 1e-12  # variance over mean square below which values differ by rounding only


def origin_of(cohort: Cohort) -> FloatArray:
    """What to subtract from each feature, shape (p,).

    Examples
    --------
    >>> from relprev import as_cohort
    >>> X = np.array([[37.0, 0.2, 1.0], [38.0, -0.3, 1.0], [39.0, 0.1, 0.0]])
    >>> origin_of(as_cohort(X, [1, 0, 1], groups=["a", "b", "b"]))
    array([38.,  0.,  0.])
    """
    n, sums, squares, count, fixed = cohort.total(_sums)
    mean, some = sums / max(n, 1), np.maximum(count, 1)
    differ = squares / some - (sums / some) ** 2 > SAME * squares / some
    far = mean**2 > squares / max(n, 1) - mean**2
    origin: FloatArray = np.where(differ & far & (fixed == 0), mean, 0.0)
    return origin


def about(cohort: Cohort, origin: FloatArray) -> Cohort:
    """The cohort with ``X - origin`` in place of X.

    Examples
    --------
    >>> from relprev import as_cohort
    >>> cohort = as_cohort(np.array([[37.0], [38.0]]), [1, 0], groups=["a", "b"])
    >>> about(cohort, np.array([37.5])).X.values.ravel()
    array([-0.5,  0.5])
    """
    return cohort.holding(cohort.derive(_moved, origin)) if origin.any() else cohort


def _sums(part: CohortPart) -> tuple[int, FloatArray, FloatArray, NDArray[np.int64], FloatArray]:
    """Rows, sums, sums of squares, number of non-zeros, and 1 where a column cannot be shifted."""
    X, n, p = part.X, part.n, part.n_cols
    if not isinstance(X, Dense | FloatCSR):
        return n, np.zeros(p), np.zeros(p), np.zeros(p, dtype=np.int64), np.ones(p)
    fixed = (~X.movable()).astype(float)
    squares, count = X.nonzero_squares()
    return n, X.rmatvec(np.ones(n)), squares, count.astype(np.int64), fixed


def _moved(part: CohortPart, origin: FloatArray) -> CohortPart:
    assert isinstance(part.X, Dense | FloatCSR)  # others have no origin
    return replace(part, X=part.X.about(origin))
