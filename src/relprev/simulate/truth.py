"""The truth behind simulated files: mean p(y=1|x) of every value of a variable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.estimates import ratio
from relprev.simulate import Simulation


@dataclass(frozen=True, eq=False)
class Truth:
    """What is true of the values of one variable.

    Parameters
    ----------
    values : tuple of str
        The variable's values as they stand in the files.
    condition : float array of shape (n values,)
        Weighted mean of p(y=1|x) among the visits with the value.
    weight : float array of shape (n values,)
        Their total weight.
    """

    values: tuple[str, ...]
    condition: NDArray[np.float64]
    weight: NDArray[np.float64]

    def to_frame(self) -> pd.DataFrame:
        """Relative prevalence of every value versus all visits; ratios of it compare values."""
        overall = self.weight @ self.condition / self.weight.sum()
        return pd.DataFrame(
            {"value": list(self.values), "relative_prevalence": self.condition / overall}
        )

    def relative_prevalence(self, among: Sequence[str]) -> NDArray[np.float64]:
        """Each of the given values versus the others of them, in the order given."""
        at = [self.values.index(value) for value in among]
        condition, weight = self.condition[at], self.weight[at]
        return np.array([ratio(condition, weight, k, None) for k in range(len(at))])


def truth_of(simulation: Simulation, values: NDArray[Any], rows: NDArray[np.bool_]) -> Truth:
    """The truth of a variable among the given visits (a mask of shape (n,))."""
    weights = simulation.cohort.weights
    weight = np.ones(int(rows.sum())) if weights is None else weights[rows]
    numbers, names = pd.factorize(np.asarray(values)[rows].astype(str), sort=True)
    total = np.bincount(numbers, weight).astype(np.float64)
    mean = np.bincount(numbers, weight * simulation.condition_probability[rows]) / total
    return Truth(tuple(str(name) for name in names), mean, total)
