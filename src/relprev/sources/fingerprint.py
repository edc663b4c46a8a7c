"""Fingerprints of what was read, for a run's record: content, not paths or credentials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from relprev.store.digests import file_digest

Fingerprint = dict[str, Any]


def file_fingerprint(path: Path) -> Fingerprint:
    """Name, size and digest (24 hexadecimal digits) of a file."""
    return {"file": path.name, "bytes": path.stat().st_size, "blake2b": file_digest(path)}


def table_fingerprint(connection: duckdb.DuckDBPyConnection, table: str, name: str) -> Fingerprint:
    """Name, number of rows and digest of a table, whatever the order of its rows.

    The digest is the sum of the rows' MD5 numbers (their lower halves).

    Examples
    --------
    >>> connection = duckdb.connect()
    >>> for name, order in (("up", "ASC"), ("down", "DESC")):
    ...     made = f"CREATE TABLE {name} AS SELECT range AS x FROM range(3) ORDER BY x {order}"
    ...     _ = connection.execute(made)
    >>> one, two = (table_fingerprint(connection, name, "x") for name in ("up", "down"))
    >>> one == two, one["rows"]
    (True, 3)
    """
    rows, total = connection.execute(
        f"SELECT count(*), coalesce(sum(md5_number_lower(t::VARCHAR)), 0) FROM {table} AS t"
    ).fetchall()[0]
    return {"table": name, "rows": int(rows), "md5_sum": f"{int(total) % 2**96:024x}"}
