"""relprev: how much more common is an underreported condition in one group than another?

The flow, from left to right:

    sources -> cohort -> model -> inference -> checks -> report

    from relprev import DebiasedPURPLE, PURPLE, checks
    from relprev.simulate import ed_visits
    visits = ed_visits(100_000)                       # or your own arrays, see as_cohort
    est = PURPLE().fit(visits.cohort)                 # or .fit(X, s, groups=g)
    est.relative_prevalence(versus="Group B").to_frame()
    debiased = DebiasedPURPLE().fit(visits.cohort)    # with confidence intervals
    checks.check_constant_ratio(debiased)             # could the assumptions be wrong?
"""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev import baselines, checks, simulate, sources
    from relprev.atlas import Atlas, scan_conditions
    from relprev.cohort import Cohort, as_cohort
    from relprev.controls import Calibration, calibrate
    from relprev.estimates import RelativePrevalence
    from relprev.inference import DebiasedPURPLE, anchor, bootstrap, plan
    from relprev.model import PURPLE, RepeatedSplits, repeated_splits
    from relprev.study import Study
else:
    __getattr__, __dir__ = on_demand(__name__)

__version__ = "0.2.0"

__all__ = [
    "PURPLE",
    "Atlas",
    "Calibration",
    "Cohort",
    "DebiasedPURPLE",
    "RelativePrevalence",
    "RepeatedSplits",
    "Study",
    "anchor",
    "as_cohort",
    "baselines",
    "bootstrap",
    "calibrate",
    "checks",
    "plan",
    "repeated_splits",
    "scan_conditions",
    "simulate",
    "sources",
]
