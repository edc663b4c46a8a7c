"""A simulated cohort together with its truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import Cohort
from relprev.estimates import GroupSummary, RelativePrevalence, relative_prevalence
from relprev.groups import group_counts, group_sums


@dataclass(frozen=True, repr=False)
class Simulation:
    """A cohort whose truth is known.

    Parameters
    ----------
    cohort : Cohort
    condition_probability : float array of shape (n,)
        p(y=1|x), or p(y=1|x,g) where the simulation breaks that assumption.
    condition : uint8 array of shape (n,)
        The drawn y.
    diagnosis_rates : float array of shape (n_groups,)
        c_g as asked for.
    """

    cohort: Cohort
    condition_probability: NDArray[np.float64]
    condition: NDArray[np.uint8]
    diagnosis_rates: NDArray[np.float64]

    def relative_prevalence(self, versus: str = "complement") -> RelativePrevalence:
        """True relative prevalences, from p(y=1|x) rather than the drawn y."""
        cohort, k = self.cohort, self.cohort.n_groups
        weights = np.ones(cohort.n) if cohort.weights is None else cohort.weights

        def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return group_sums(cohort.groups, values, k)

        weight = total(weights)
        groups = GroupSummary(
            names=cohort.group_names,
            weight=weight,
            diagnosed_rate=total(weights * cohort.diagnosed) / weight,
            condition=total(weights * self.condition_probability) / weight,
            diagnosis_rate=self.diagnosis_rates,
            n=group_counts(cohort.groups, k),
            n_diagnosed=group_counts(cohort.groups[cohort.diagnosed == 1], k),
        )
        return relative_prevalence(groups, versus, method="truth")

    def __repr__(self) -> str:
        return f"<Simulation: {self.cohort!r}>"
