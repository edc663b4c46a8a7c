"""Raw files to one canonical pair of tables, visits and codes. See `relprev.sources.source`."""

from relprev.sources.attrition import Attrition, Step
from relprev.sources.mimic import read_mimic
from relprev.sources.neds import read_neds
from relprev.sources.nhamcs import read_nhamcs
from relprev.sources.nhds import read_nhds
from relprev.sources.omop import read_omop
from relprev.sources.source import Source
from relprev.sources.tables import read_tables

READERS = {
    "mimic-iv": read_mimic,
    "neds": read_neds,
    "nhamcs": read_nhamcs,
    "nhds": read_nhds,
    "omop": read_omop,
    "tables": read_tables,
}

__all__ = [
    "READERS",
    "Attrition",
    "Source",
    "Step",
    "read_mimic",
    "read_neds",
    "read_nhamcs",
    "read_nhds",
    "read_omop",
    "read_tables",
]
