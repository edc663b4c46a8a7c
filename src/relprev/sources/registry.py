"""All kinds of sources that are read from files or databases, by their names in study files."""

from __future__ import annotations

from relprev.sources.declared import SourceTable
from relprev.sources.meds import MedsTable
from relprev.sources.mimic import MimicTable
from relprev.sources.neds import NedsTable
from relprev.sources.nhamcs import NhamcsTable
from relprev.sources.nhanes import NhanesTable
from relprev.sources.nhds import NhdsTable
from relprev.sources.omop import OmopTable
from relprev.sources.tables import TablesTable

SOURCES: dict[str, type[SourceTable]] = {
    "mimic-iv": MimicTable,
    "neds": NedsTable,
    "nhamcs": NhamcsTable,
    "nhanes": NhanesTable,
    "nhds": NhdsTable,
    "omop": OmopTable,
    "meds": MedsTable,
    "tables": TablesTable,
}
