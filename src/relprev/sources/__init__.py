"""Raw files to one canonical pair of tables, visits and codes. See `relprev.sources.source`."""

from relprev.sources.attrition import Attrition, Step
from relprev.sources.declared import SourceTable
from relprev.sources.meds import MedsTable, read_meds
from relprev.sources.mimic import MimicTable, read_mimic
from relprev.sources.neds import NedsTable, read_neds
from relprev.sources.nhamcs import NhamcsTable, read_nhamcs
from relprev.sources.nhds import NhdsTable, read_nhds
from relprev.sources.omop import OmopTable, read_omop
from relprev.sources.source import Source
from relprev.sources.tables import TablesTable, read_tables

SOURCES: dict[str, type[SourceTable]] = {
    "mimic-iv": MimicTable,
    "neds": NedsTable,
    "nhamcs": NhamcsTable,
    "nhds": NhdsTable,
    "omop": OmopTable,
    "meds": MedsTable,
    "tables": TablesTable,
}

__all__ = [
    "SOURCES",
    "Attrition",
    "Source",
    "Step",
    "read_meds",
    "read_mimic",
    "read_neds",
    "read_nhamcs",
    "read_nhds",
    "read_omop",
    "read_tables",
]
