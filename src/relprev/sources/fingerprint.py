"""Digests of what was read, for the record of a run.

A record may be published. It holds no paths, no credentials and no numbers of rows or bytes,
from which hidden counts of the attrition table would follow. A digest covers a whole file or
table: if two data sets differ by one person, their records reveal only that they differ.
(A sum of row digests would reveal that person's digest by subtraction.)
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import duckdb

from relprev.store.digests import BLOCK, SIZE, file_digest

Fingerprint = dict[str, Any]


def described_file(path: Path) -> Fingerprint:
    """Name and digest of a file, safe to publish."""
    return {"file": path.name, "blake2b": file_digest(path)}


def file_fingerprint(path: Path) -> Fingerprint:
    """Name, size and digest of a file, for records that are not published."""
    return described_file(path) | {"bytes": path.stat().st_size}


def described_table(connection: duckdb.DuckDBPyConnection, table: str, name: str) -> Fingerprint:
    """Name and digest of a table, whatever its row order; safe to publish.

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
        f'SELECT md5_number_lower("a whole row"::VARCHAR) AS row FROM {table} AS "a whole row" '
        "ORDER BY row"
    ).to_arrow_reader(BLOCK // 8)
    for batch in rows:
        digest.update(batch.column(0).to_numpy().tobytes())
    return {"table": name, "blake2b": digest.hexdigest()}
