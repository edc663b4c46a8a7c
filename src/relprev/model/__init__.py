"""The PURPLE model: likelihood, solver, path, tuning, estimator and the paper's protocol."""

from relprev.model.protocol import RepeatedSplits, repeated_splits
from relprev.model.purple import PURPLE

__all__ = ["PURPLE", "RepeatedSplits", "repeated_splits"]
