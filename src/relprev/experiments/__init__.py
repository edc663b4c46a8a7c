"""The paper's experiments, ready to rerun: PURPLE and other methods on data with known truth."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.experiments.reproduce import EXPERIMENTS, Reproduction, run
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["EXPERIMENTS", "Reproduction", "run"]
