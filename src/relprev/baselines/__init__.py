"""Other methods to estimate a relative prevalence, which share one interface."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.baselines.base import Baseline
    from relprev.baselines.bbe import BBE
    from relprev.baselines.dedpul import DEDPUL
    from relprev.baselines.elkan_noto import ElkanNoto
    from relprev.baselines.km2 import KM2
    from relprev.baselines.negative import Negative
    from relprev.baselines.observed import Observed
    from relprev.baselines.oracle import Oracle
    from relprev.baselines.sar_em import SAREM
    from relprev.baselines.tice import TIcE
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "BBE", "DEDPUL", "KM2", "SAREM", "Baseline", "ElkanNoto", "Negative", "Observed", "Oracle",
    "TIcE",
]  # fmt: skip
