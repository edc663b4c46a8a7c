"""Keep the outcomes of stages in a folder, under a digest of everything they depend on.

An outcome is numbers, text, messages and tables. It is kept as one JSON file and one Parquet file
per table. The JSON file is written last, so a stage is there whole or not at all. File names end in
a key: another key is another file, so nothing stale is ever used. Every file has a checksum: what
is damaged counts as missing and is made again. Outcomes are read back even when just made, so that
runs that were stopped and runs that were not use the same numbers.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pandas as pd

from relprev.messages import Message
from relprev.store.digests import digest
from relprev.store.files import written_whole

T = TypeVar("T")


class DamagedError(Exception):
    """A kept file is not as it was written."""


class Result(Protocol):
    """A table, and plain values that tell the rest."""

    @property
    def table(self) -> pd.DataFrame:
        """The table."""

    def plain(self) -> dict[str, Any]:
        """The rest, as values that JSON can hold."""


@dataclass(frozen=True)
class Outcome:
    """What a stage found.

    Parameters
    ----------
    values : mapping
        Plain values that JSON can hold.
    tables : mapping of name to DataFrame
        Columns of numbers and text; the index is not kept.
    warnings : tuple of Message
        Issued while the stage ran.
    seconds : float
        Running time.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    warnings: tuple[Message, ...] = ()
    seconds: float = 0.0

    @staticmethod
    def of(results: Sequence[Result]) -> Outcome:
        """An outcome of results that each have a table; `results` gives them back."""
        tables = {f"table{k}": result.table for k, result in enumerate(results)}
        return Outcome({"results": [result.plain() for result in results]}, tables)

    def results(self, from_plain: Callable[[Any, pd.DataFrame], T]) -> list[T]:
        """The results that the outcome was made of; none if the stage failed."""
        kept = enumerate(self.values.get("results", ()))
        return [from_plain(plain, self.tables[f"table{k}"]) for k, plain in kept]


@dataclass(frozen=True)
class Store:
    """Outcomes of stages in a folder, created for the first; ``say`` hears of damaged ones.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     _ = store.keep("sums", "1f", Outcome({"total": 3}))
    ...     store.find("sums", "1f").values, store.find("sums", "2e")
    ({'total': 3}, None)
    """

    folder: Path
    say: Callable[[str], object] = lambda words: None

    def path(self, name: str) -> Path:
        """Path of a file in the folder."""
        return self.folder / name

    def find(self, stage: str, key: str) -> Outcome | None:
        """The outcome kept under this key, unless there is none or it is damaged."""
        file = self.path(f"{stage}-{key}.json")
        if not file.is_file():
            return None
        try:
            record = json.loads(read_checked(file))
            tables = {
                name: self._table(f"{stage}-{name}-{key}.parquet", mark)
                for name, mark in record["tables"].items()
            }
        except DamagedError:
            self.say(f"{stage.replace('_', ' ')}: what was kept is damaged; it is made again")
            return None
        said = tuple(Message.from_plain(plain) for plain in record["warnings"])
        return Outcome(record["values"], tables, said, record["seconds"])

    def keep(self, stage: str, key: str, outcome: Outcome) -> Outcome:
        """Write an outcome, and return it as read back."""
        marks = {}
        for name, table in outcome.tables.items():
            content = io.BytesIO()
            table.to_parquet(content, index=False)
            marks[name] = digest(content.getvalue())
            _write(self.path(f"{stage}-{name}-{key}.parquet"), content.getvalue())
        record = {
            "values": outcome.values, "tables": marks, "seconds": outcome.seconds,
            "warnings": [message.plain() for message in outcome.warnings],
        }  # fmt: skip
        write_checked(self.path(f"{stage}-{key}.json"), json.dumps(record).encode())
        kept = self.find(stage, key)
        assert kept is not None  # just written
        return kept

    def _table(self, name: str, mark: str) -> pd.DataFrame:
        content = _read(self.path(name))
        if digest(content) != mark:
            raise DamagedError(name)
        return pd.read_parquet(io.BytesIO(content))


def write_checked(path: Path, content: bytes) -> None:
    """Write a file whose first line is the digest of the rest."""
    _write(path, digest(content).encode() + b"\n" + content)


def read_checked(path: Path) -> bytes:
    """Content of a file from `write_checked`; DamagedError if it is not as written."""
    mark, _, content = _read(path).partition(b"\n")
    if mark != digest(content).encode():
        raise DamagedError(path.name)
    return content


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise DamagedError(path.name) from None


def _write(path: Path, content: bytes) -> None:
    with written_whole(path) as temporary:
        temporary.write_bytes(content)
