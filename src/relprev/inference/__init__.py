"""Honest uncertainty: the debiased estimator, survey designs, intervals."""

from relprev.inference.debiased import DebiasedPURPLE
from relprev.inference.design import SamplingDesign
from relprev.inference.result import InferredPrevalence

__all__ = ["DebiasedPURPLE", "InferredPrevalence", "SamplingDesign"]
