"""Honest uncertainty: the debiased estimator, survey designs, replication, anchors, planning."""

from relprev.inference.anchor import anchor
from relprev.inference.debiased import DebiasedPURPLE
from relprev.inference.intervals import InferredPrevalence
from relprev.inference.plan import Plan, plan
from relprev.inference.replication import Replication, bootstrap, replicate_weights
from relprev.inference.sampling import SamplingDesign

__all__ = [
    "DebiasedPURPLE",
    "InferredPrevalence",
    "Plan",
    "Replication",
    "SamplingDesign",
    "anchor",
    "bootstrap",
    "plan",
    "replicate_weights",
]
