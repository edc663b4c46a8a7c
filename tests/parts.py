"""Cohorts in memory as parts of one."""

from collections.abc import Iterable

import numpy as np

from relprev.cohort import Cohort


def cut(cohort: Cohort, rows: int) -> Iterable[Cohort]:
    """The cohort in pieces of that many visits."""
    for start in range(0, cohort.n, rows):
        yield cohort.take(np.arange(start, min(start + rows, cohort.n)))
