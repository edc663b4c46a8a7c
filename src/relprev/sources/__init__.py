"""Raw files to one canonical pair of tables, visits and codes. See `relprev.sources.source`."""

from relprev.sources.attrition import Attrition, Step
from relprev.sources.nhds import read_nhds
from relprev.sources.source import Source
from relprev.sources.tables import read_tables

__all__ = ["Attrition", "Source", "Step", "read_nhds", "read_tables"]
