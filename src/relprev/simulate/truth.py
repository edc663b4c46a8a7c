"""The truth behind simulated files: mean p(y=1|x) of every value of a variable.

It is that of the population the visits are drawn from, as a survey's estimate is meant for,
and not of the visits that happened to be drawn. Sex, age and missing values are drawn
independently of symptoms, so it is the truth of women of 18 and more as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.estimates import ratio
from relprev.simulate.visits import group_prevalences


@dataclass(frozen=True, eq=False)
class Truth:
    """What is true of the values of one variable.

    Parameters
    ----------
    values : tuple of str
        The variable's values as they stand in the files.
    condition : float array of shape (n values,)
        Mean of p(y=1|x) among the visits with the value.
    weight : float array of shape (n values,)
        Their share of all visits, up to a constant.
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


def population_truth(values: Sequence[str], **settings: Any) -> Truth:
    """The truth of the groups of `relprev.simulate.ed_visits`, whose names in the files differ."""
    return Truth(tuple(values), *group_prevalences(**settings))


def no_difference(values: Sequence[str], truth: Truth) -> Truth:
    """The truth of a variable drawn independently of everything: all values alike."""
    overall = float(truth.weight @ truth.condition / truth.weight.sum())
    return Truth(tuple(values), np.full(len(values), overall), np.ones(len(values)))
