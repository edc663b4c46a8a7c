"""The working folder: what is finished stays finished, whatever happens next.

A stage is a function that returns numbers, texts and tables. Its outcome is kept as one
JSON file and one Parquet file a table, the JSON file last, so a stage is either there
whole or not there. The file's name ends in a key: the digest of all that the outcome
depends on (settings, data, relprev itself). Another key is another file, so nothing stale
is ever used. Outcomes are read back even when they were just made: a run that was stopped
and one that was not go through the same numbers.

The folder holds patients' data while a study runs; only its owner can read it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.cohort import Cohort
from relprev.cohort.part import ROW_FIELDS
from relprev.files import written_whole


@dataclass(frozen=True)
class Outcome:
    """What a stage found.

    Parameters
    ----------
    values : mapping
        Plain values, as JSON holds them.
    tables : mapping of name to DataFrame
    warnings : tuple of str
        Said while the stage ran.
    seconds : float
        It took.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Store:
    """Outcomes of stages in a folder."""

    folder: Path

    def path(self, name: str) -> Path:
        """A file in the folder."""
        return self.folder / name

    def find(self, stage: str, key: str) -> Outcome | None:
        """The outcome kept under this key, if there is one and it can be read."""
        try:
            record = json.loads(self.path(f"{stage}-{key}.json").read_text(encoding="utf-8"))
            tables = {
                name: pd.read_parquet(self.path(f"{stage}-{name}-{key}.parquet"))
                for name in record["tables"]
            }
            return Outcome(record["values"], tables, tuple(record["warnings"]), record["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, stage: str, key: str, outcome: Outcome) -> Outcome:
        """Write an outcome and return it as it will be read."""
        for name, table in outcome.tables.items():
            with written_whole(self.path(f"{stage}-{name}-{key}.parquet")) as temporary:
                table.to_parquet(temporary, index=False)
        record = {
            "values": outcome.values, "tables": list(outcome.tables),
            "warnings": list(outcome.warnings), "seconds": outcome.seconds,
        }  # fmt: skip
        with written_whole(self.path(f"{stage}-{key}.json")) as temporary:
            temporary.write_text(json.dumps(record), encoding="utf-8")
        kept = self.find(stage, key)
        assert kept is not None  # just written
        return kept


def timed(make: Callable[[], Outcome]) -> Outcome:
    """The outcome with the seconds it took."""
    began = time.perf_counter()
    made = make()
    seconds = time.perf_counter() - began
    return Outcome(made.values, made.tables, made.warnings, seconds)


def digest(*parts: Any) -> str:
    """Short digest of plain values (and arrays' bytes).

    Examples
    --------
    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", 2)
    (True, False)
    """
    total = hashlib.blake2b(digest_size=12)
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(f"{part.dtype}{part.shape}".encode())
            total.update(np.ascontiguousarray(part).data)
        else:
            total.update(json.dumps(part, sort_keys=True, default=str).encode())
    return total.hexdigest()


def cohort_digest(cohort: Cohort) -> str:
    """Digest of everything in a cohort but the visits' identifiers."""
    arrays = [*cohort.X.to_arrays().values()]
    arrays += [
        getattr(cohort, name)
        for name in ROW_FIELDS
        if name != "ids" and getattr(cohort, name) is not None
    ]
    return digest(cohort.group_names, cohort.feature_names, *arrays)


def files_digest(files: list[Path]) -> str:
    """Digest of names, sizes and times of change of files; missing ones count as such."""
    seen = []
    for file in files:
        try:
            about = file.stat()
            seen.append([str(file), about.st_size, about.st_mtime_ns])
        except OSError:
            seen.append([str(file), None, None])
    return digest(seen)


@cache
def code_digest() -> str:
    """Digest of relprev's own source, so that a new version starts afresh."""
    root = Path(str(resources.files("relprev")))
    total = hashlib.blake2b(digest_size=12)
    for file in sorted(root.rglob("*.py")):
        total.update(file.relative_to(root).as_posix().encode())
        total.update(file.read_bytes())
    return total.hexdigest()
