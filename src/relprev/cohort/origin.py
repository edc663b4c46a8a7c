"""Features far from zero (a temperature, a year), moved so that their mean is zero.

With an intercept b that is not penalised, the models of x and of x - o are the same:

    b + w x = (b + w o) + w (x - o).

They are not the same to a penalty that judges a feature by its size, which is what a
ridge does that does not depend on units: it would take 2015 +- 3 for a large feature and hold
its coefficient down. Nor to a solver, to which such a feature is nearly the intercept.
So what is far from zero is fitted about its mean,

    o_j = mean of x_j   where its values differ and |mean| > standard deviation,  else 0,

and results are given for x as it came. Codes (0 or 1) stay where they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.cohort.cohort import Cohort
from relprev.cohort.part import CohortPart
from relprev.matrix import Dense, FloatCSR

SAME = 1e-12  # variance over mean square below which values are equal but for rounding


def origin_of(cohort: Cohort) -> FloatArray:
    """What to take off every feature.

    Returns
    -------
    float array of shape (p,)

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
    """The cohort with ``X - origin`` for X.

    Examples
    --------
    >>> from relprev import as_cohort
    >>> cohort = as_cohort(np.array([[37.0], [38.0]]), [1, 0], groups=["a", "b"])
    >>> about(cohort, np.array([37.5])).X.values.ravel()
    array([-0.5,  0.5])
    """
    return cohort.holding(cohort.derive(_moved, origin)) if origin.any() else cohort


def _sums(part: CohortPart) -> tuple[int, FloatArray, FloatArray, NDArray[np.int64], FloatArray]:
    """Rows, sums, sums of squares, non-zero values, and 1 where a column cannot be moved."""
    X, n, p = part.X, part.n, part.n_cols
    if not isinstance(X, Dense | FloatCSR):
        return n, np.zeros(p), np.zeros(p), np.zeros(p, dtype=np.int64), np.ones(p)
    fixed = (~X.movable()).astype(float)
    squares, count = X.nonzero_squares()
    return n, X.rmatvec(np.ones(n)), squares, count.astype(np.int64), fixed


def _moved(part: CohortPart, origin: FloatArray) -> CohortPart:
    assert isinstance(part.X, Dense | FloatCSR)  # others have no origin
    return replace(part, X=part.X.about(origin))
