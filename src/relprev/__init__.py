"""relprev: how much more common is an underreported condition in one group than another?

The flow, from left to right:

    simulate or your data -> Cohort -> PURPLE -> RelativePrevalence -> table, figure

    from relprev import PURPLE
    from relprev.simulate import ed_visits
    visits = ed_visits(100_000)                       # or your own arrays, see as_cohort
    est = PURPLE().fit(visits.cohort)                 # or .fit(X, s, groups=g)
    est.relative_prevalence(versus="Group B").to_frame()
"""

from relprev import simulate
from relprev.cohort import Cohort, as_cohort
from relprev.estimates import RelativePrevalence
from relprev.model import PURPLE, RepeatedSplits, repeated_splits

__version__ = "0.1.0"

__all__ = [
    "PURPLE",
    "Cohort",
    "RelativePrevalence",
    "RepeatedSplits",
    "as_cohort",
    "repeated_splits",
    "simulate",
]
