"""Digests of what was read, for a run's record.

A record may be published. It holds no path, no credential and no number of rows or bytes,
from which a hidden level of the attrition table would follow. A digest covers a file or
table as a whole: two records that differ by one person tell only that the data differ.
(A sum of the rows' own digests would give that person's digest by subtraction.)
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import duckdb

from relprev.store.digests import BLOCK, SIZE, file_digest

Fingerprint = dict[str, Any]


def described_file(path: Path) -> Fingerprint:
    """Name and digest of a file, fit to be published."""
    return {"file": path.name, "blake2b": file_digest(path)}


def file_fingerprint(path: Path) -> Fingerprint:
    """Name, size and digest of a file that is kept, not published."""
    return described_file(path) | {"bytes": path.stat().st_size}


def described_table(connection: duckdb.DuckDBPyConnection, table: str, name: str) -> Fingerprint:
    """Name and digest of a table, whatever the order of its rows; fit to be published.

    Examples
    --------
    >>> connection = duckdb.connect()
    >>> for name, order in (("up", "ASC"), ("down", "DESC")):
    ...     made = f"CREATE TABLE {name} AS SELECT range AS x FROM range(3) ORDER BY x {order}"
    ...     _ = connection.execute(made)
    >>> one, two = (described_table(connection, name, "x") for name in ("up", "down"))
    >>> one == two, sorted(one)
    (True, ['blake2b', 'table'])
    """
    digest = hashlib.blake2b(digest_size=SIZE)
    rows = connection.sql(
        f"SELECT md5_number_lower(t::VARCHAR) AS row FROM {table} AS t ORDER BY row"
    ).to_arrow_reader(BLOCK // 8)
    for batch in rows:
        digest.update(batch.column(0).to_numpy().tobytes())
    return {"table": name, "blake2b": digest.hexdigest()}
