"""A cohort whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import Cohort


@dataclass(frozen=True, eq=False)
class KnownTruth:
    """A cohort of two groups, who of it has the condition, and the groups compared.

    Parameters
    ----------
    cohort : Cohort
        Recorded cases, features and design; the condition is not in it.
    condition : 0/1 array of shape (n,)
        Who has it; of no meaning where it is not known.
    known : boolean array of shape (n,)
        The rows whose condition is known, and which the true ratio is about.
    group, versus : str
        Names of groups.
    """

    cohort: Cohort
    condition: NDArray[np.uint8]
    known: NDArray[np.bool_]
    group: str
    versus: str
