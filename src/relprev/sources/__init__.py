"""Raw files to one canonical pair of tables, visits and codes. See `relprev.sources.source`."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.sources.attrition import Attrition, Step
    from relprev.sources.kinds import Kind
    from relprev.sources.meds import read_meds
    from relprev.sources.mimic import read_mimic
    from relprev.sources.neds import read_neds
    from relprev.sources.nhamcs import read_nhamcs
    from relprev.sources.nhanes import read_nhanes
    from relprev.sources.nhds import read_nhds
    from relprev.sources.omop import read_omop
    from relprev.sources.registry import SOURCES
    from relprev.sources.source import Source
    from relprev.sources.tables import read_tables
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "SOURCES",
    "Attrition",
    "Kind",
    "Source",
    "Step",
    "read_meds",
    "read_mimic",
    "read_neds",
    "read_nhamcs",
    "read_nhanes",
    "read_nhds",
    "read_omop",
    "read_tables",
]
