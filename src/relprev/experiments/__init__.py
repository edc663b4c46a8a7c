"""The paper's evidence, rerunnable: simulated data with known truth, PURPLE and its rivals."""

from relprev.experiments.reproduce import EXPERIMENTS, Reproduction, run

__all__ = ["EXPERIMENTS", "Reproduction", "run"]
