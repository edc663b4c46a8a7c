"""The paper's experiments, ready to rerun: PURPLE and other methods on data with known truth."""

from relprev.experiments.reproduce import EXPERIMENTS, Reproduction, run

__all__ = ["EXPERIMENTS", "Reproduction", "run"]
