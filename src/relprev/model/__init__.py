"""The PURPLE model: likelihood, solver, path, tuning, estimator and the paper's protocol."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.model.protocol import RepeatedSplits, repeated_splits
    from relprev.model.purple import PURPLE
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["PURPLE", "RepeatedSplits", "repeated_splits"]
