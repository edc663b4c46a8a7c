"""A simulated cohort together with its truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relprev.cohort import Cohort
from relprev.cohort.summary import group_means, summarise
from relprev.estimates import RelativePrevalence, relative_prevalence


@dataclass(frozen=True, repr=False)
class Simulation:
    """A cohort whose truth is known.

    Parameters
    ----------
    cohort : Cohort
    condition_probability : float array of shape (n,)
        p(y=1|x), or p(y=1|x,g) if the simulation violates that assumption.
    condition : uint8 array of shape (n,)
        The simulated y.
    diagnosis_rates : float array of shape (n_groups,)
        The requested c_g.

    Notes
    -----
    The true ratio is that of the groups' means of p(y=1|x), as in :mod:`relprev.estimates`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> simulation = gauss_synth((0.5, 0.1), seed=1)
    >>> simulation
    <Simulation: <Cohort of 30,000 visits x 5 features, groups a, b>>
    >>> simulation.relative_prevalence("b").to_frame()[["estimate", "observed_ratio"]].round(2)
       estimate  observed_ratio
    0      0.43            2.12
    """

    cohort: Cohort
    condition_probability: NDArray[np.float64]
    condition: NDArray[np.uint8]
    diagnosis_rates: NDArray[np.float64]

    def relative_prevalence(self, versus: str = "complement") -> RelativePrevalence:
        """True relative prevalences, from p(y=1|x) rather than the simulated y.

        ``versus`` is ``"complement"`` (everyone else), ``"pairwise"`` or the name of a group.
        The result has one row per contrast, with the truth as its ``estimate``.
        """
        condition = group_means(self.condition_probability, self.cohort)
        groups = summarise(self.cohort, condition, self.diagnosis_rates)
        return relative_prevalence(groups, versus, method="truth")

    def __repr__(self) -> str:
        return f"<Simulation: {self.cohort!r}>"
