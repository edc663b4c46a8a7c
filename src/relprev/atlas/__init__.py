"""Which conditions are missed, in whom: hundreds of conditions in one pass."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.atlas.conditions import Block, blocks_of_conditions
    from relprev.atlas.null import empirical_null
    from relprev.atlas.result import Atlas, scan_conditions
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["Atlas", "Block", "blocks_of_conditions", "empirical_null", "scan_conditions"]
