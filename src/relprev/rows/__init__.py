"""One way to hold rows in memory, on disk or on a Dask cluster."""

from relprev.rows.rows import Rows, one_part, total

__all__ = ["Rows", "one_part", "total"]
