"""The truth behind simulated files: mean p(y=1|x) for every value of a variable.

It describes the population from which visits are drawn, which surveys estimate, and not the
visits that happen to be drawn. Sex, age and missing values are independent of symptoms, so it
also holds for women aged 18 or over.
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
    """The truth about the values of one variable.

    Parameters
    ----------
    values : tuple of str
        Values of the variable as written in the files.
    condition : float array of shape (n values,)
        Mean of p(y=1|x) among visits with each value.
    weight : float array of shape (n values,)
        Share of all visits with each value, up to a constant.
    """

    values: tuple[str, ...]
    condition: NDArray[np.float64]
    weight: NDArray[np.float64]

    def to_frame(self) -> pd.DataFrame:
        """Relative prevalence of each value versus all visits; ratios of these compare values."""
        overall = self.weight @ self.condition / self.weight.sum()
        return pd.DataFrame(
            {"value": list(self.values), "relative_prevalence": self.condition / overall}
        )

    def relative_prevalence(self, among: Sequence[str]) -> NDArray[np.float64]:
        """Relative prevalence of each of the given values versus the others among them."""
        at = [self.values.index(value) for value in among]
        condition, weight = self.condition[at], self.weight[at]
        return np.array([ratio(condition, weight, k, None) for k in range(len(at))])


def population_truth(values: Sequence[str], **settings: Any) -> Truth:
    """The truth about the groups of `relprev.simulate.ed_visits`, named as in the files."""
    return Truth(tuple(values), *group_prevalences(**settings))


def no_difference(values: Sequence[str], truth: Truth) -> Truth:
    """The truth about a variable drawn independently of everything: all values are alike."""
    overall = float(truth.weight @ truth.condition / truth.weight.sum())
    return Truth(tuple(values), np.full(len(values), overall), np.ones(len(values)))
