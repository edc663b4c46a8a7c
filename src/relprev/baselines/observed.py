"""Observed: the recorded share, as if nobody went undiagnosed.

    m_g = p(s=1|g)

The relative prevalence is then the recorded ratio, which is off by the ratio of the groups'
diagnosis rates.
"""

from __future__ import annotations

import numpy as np

from relprev.baselines.base import GroupwiseBaseline
from relprev.cohort import Cohort


class Observed(GroupwiseBaseline):
    """The recorded ratio, as if nobody went undiagnosed.

    Notes
    -----
    Formula: :mod:`relprev.baselines.observed`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.1), seed=1)
    >>> found = Observed().fit(data.cohort).relative_prevalence(versus="b").to_frame()
    >>> truth = data.relative_prevalence("b").to_frame()
    >>> round(found["estimate"][0] / truth["estimate"][0], 1)  # off by 0.5 / 0.1
    np.float64(5.0)
    """

    least_cases = 0

    def _prevalence(self, group: Cohort) -> float:
        return float(np.average(group.diagnosed, weights=group.weights))
