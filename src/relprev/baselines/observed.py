"""Observed: the recorded share, as if nobody went undiagnosed.

    m_g = p(s=1|g)

So the relative prevalence is the recorded ratio, off by the ratio of the groups'
diagnosis rates.
"""

from __future__ import annotations

import numpy as np

from relprev.baselines.base import GroupwiseBaseline
from relprev.cohort import Cohort


class Observed(GroupwiseBaseline):
    """The recorded ratio.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.1), seed=1)
    >>> table = Observed().fit(data.cohort).relative_prevalence(versus="b").to_frame()
    >>> bool(table.loc[0, "estimate"] == table.loc[0, "observed_ratio"])
    True
    """

    least_cases = 0

    def _prevalence(self, group: Cohort) -> float:
        return float(np.average(group.diagnosed, weights=group.weights))
