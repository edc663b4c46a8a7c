"""Damaged files of every format: read, or refused with a message of ours; nothing else."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_tables

VISITS = pd.DataFrame({
    "id": range(50), "who": [k // 2 for k in range(50)], "age": [20 + k for k in range(50)],
    "ward": ["a", "b"] * 25, "dx": ["T7411XA", "R51", "", "I10", "J069"] * 10,
})  # fmt: skip


def write(path: Path) -> bytes:
    if path.suffix == ".parquet":
        VISITS.to_parquet(path)
    elif path.suffix == ".dta":
        VISITS.to_stata(path, write_index=False)
    elif path.suffix == ".xpt":
        pyreadstat = pytest.importorskip("pyreadstat")
        pyreadstat.write_xport(VISITS, str(path), file_format_version=5, table_name="V")
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("visits.csv", VISITS.to_csv(index=False))
    else:
        VISITS.to_csv(path, index=False)
    return path.read_bytes()


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Cut short, some bytes changed (anywhere or at the beginning), or bytes inserted."""
    changed = bytearray(content)
    match rng.randrange(4):
        case 0:
            return content[: rng.randrange(len(content))]
        case 1:
            at = rng.randrange(len(content))
            return content[:at] + rng.randbytes(30) + content[at:]
        case 2:
            places = [rng.randrange(len(content)) for _ in range(15)]
        case _:
            places = [rng.randrange(min(200, len(content))) for _ in range(5)]
    for at in places:
        changed[at] = rng.randrange(256)
    return bytes(changed)


def read(path: Path) -> None:
    read_tables(path, visit_id="id", code=["dx"], version="ICD10", patient="who", age="age",
                attributes=["ward"])  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "dta", "xpt", "zip"])
def test_damaged_files_are_read_or_refused(tmp_path, ending):
    path = tmp_path / f"visits.{ending}"
    content = write(path)
    read(path)
    rng = random.Random(ending)
    refused = 0
    for _ in range(12):
        path.write_bytes(damaged(content, rng))
        try:
            read(path)
        except InvalidInputError:
            refused += 1
    assert refused > 3
