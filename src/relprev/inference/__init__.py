"""Honest uncertainty: the debiased estimator, survey designs, replication, anchors, planning."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.inference.anchoring import anchor
    from relprev.inference.debiased import DebiasedPURPLE
    from relprev.inference.intervals import InferredPrevalence
    from relprev.inference.planning import Plan, plan
    from relprev.inference.replication import Replication, bootstrap, replicate_weights
    from relprev.inference.sample_size import power, visits_needed
    from relprev.inference.sampling import SamplingDesign
    from relprev.inference.standardising import standardise
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "DebiasedPURPLE",
    "InferredPrevalence",
    "Plan",
    "Replication",
    "SamplingDesign",
    "anchor",
    "bootstrap",
    "plan",
    "power",
    "replicate_weights",
    "standardise",
    "visits_needed",
]
