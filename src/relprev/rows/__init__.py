"""Rows in memory, on disk or on a Dask cluster, held in one way."""

from relprev.rows.rows import Rows, one_part, total

__all__ = ["Rows", "one_part", "total"]
