"""Five splits into train, validation and test parts whose test parts do not overlap.

Patients are dealt into five folds; split k tests on fold k, validates on the next and
trains on the other three: the paper's 60/20/20, and every row is held out exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import Cohort
from relprev.model.splits import split

N_SPLITS = 5
Rows = NDArray[np.int64]


def rotations(cohort: Cohort, seed: int) -> Iterator[tuple[Rows, Rows, Rows]]:
    """Row positions of (train, validation, test) for every split.

    Examples
    --------
    >>> from relprev.simulate import ed_visits
    >>> cohort = ed_visits(2_000, n_codes=100, prevalence=0.3, seed=0).cohort
    >>> sum(len(test) for _, _, test in rotations(cohort, seed=0))
    2000
    """
    folds = split(cohort, [1.0] * N_SPLITS, seed)
    for k in range(N_SPLITS):
        validation = (k + 1) % N_SPLITS
        train = [folds[j] for j in range(N_SPLITS) if j not in (k, validation)]
        yield np.sort(np.concatenate(train)), folds[validation], folds[k]
