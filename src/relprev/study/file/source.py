"""The ``[source]`` table of a study: which source, with which arguments.

Every kind is declared beside its reader (`relprev.sources.declared`), so that reader and study file
cannot disagree. Paths are relative to the folder of the study file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from relprev.errors import InvalidInputError
from relprev.settings import suggestion
from relprev.sources import SOURCES as FILES
from relprev.sources.addresses import is_address
from relprev.sources.declared import Role, resolved, without_folder
from relprev.sources.source import Source
from relprev.study.file.simulated import SimulatedTable

SOURCES = FILES | {"simulated": SimulatedTable}
if TYPE_CHECKING:
    SourceTable = Any
else:
    SourceTable = Annotated[reduce(or_, SOURCES.values()), Field(discriminator="kind")]


@dataclass(frozen=True, repr=False)
class SourceOptions:
    """A kind of source and its arguments.

    Parameters
    ----------
    kind : str
        One of `SOURCES`.
    arguments : mapping
        Arguments of its reader, as in the study file.
    folder : Path
        Where relative paths start.

    Examples
    --------
    >>> options = SourceOptions("simulated", {"visits": 2000, "codes": 100})
    >>> options.open()
    <Source simulated: 2,000 visits, attributes group>
    >>> options.files(), options.is_database, options.described()["kind"]
    ([], False, 'simulated')
    >>> options.described_files()
    []
    """

    kind: str
    arguments: Mapping[str, Any]
    folder: Path = Path()

    def __post_init__(self) -> None:
        if self.kind not in SOURCES:
            raise InvalidInputError(f"source={self.kind!r}: {suggestion(self.kind, [*SOURCES])}")

    def open(self, kinds: Sequence[str] = ()) -> Source:
        """Read the data; ``kinds`` are kinds of features to read besides the default ones."""
        return SOURCES[self.kind](kind=self.kind, **self._resolved()).open(kinds)

    def files(self) -> list[Path]:
        """The files named by the arguments or in folders they name; they need not exist."""
        inputs = SOURCES[self.kind].path_keys(Role.INPUT)
        named = [value for name, value in self._resolved().items() if name in inputs]
        paths = [
            item for value in named for item in (value if isinstance(value, list) else [value])
        ]
        return [file for path in paths if not is_address(path) for file in _below(Path(path))]

    @property
    def is_database(self) -> bool:
        """Whether the data are on a server, where changes cannot be noticed."""
        return any(map(is_address, self.arguments.values()))

    def described(self) -> dict[str, Any]:
        """Kind and arguments for the manifest, without users, passwords or folder names."""
        paths = SOURCES[self.kind].path_keys(*Role)
        shown = {name: without_folder(value) if name in paths or is_address(value) else value
                 for name, value in self.arguments.items()}  # fmt: skip
        return {"kind": self.kind, **shown}

    def described_files(self) -> list[dict[str, str]]:
        """The names of the files that exist, for the manifest; sizes would tell numbers of rows."""
        return [{"name": file.name} for file in self.files() if file.is_file()]

    def _resolved(self) -> dict[str, Any]:
        paths = SOURCES[self.kind].path_keys(*Role)
        return {
            name: resolved(value, self.folder) if name in paths else value
            for name, value in self.arguments.items()
        }

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.described().items() if name != "kind"}
        return f"SourceOptions({self.kind!r}, {shown!r})"


def source_words(source: Source) -> str:
    """The source as a report names it, a survey with its years."""
    declared = SOURCES.get(source.name)
    if declared is None or not declared.is_survey:
        return source.name if declared is None else declared.words
    years = source.query("SELECT DISTINCT year FROM visits WHERE year IS NOT NULL ORDER BY year")
    return f"{declared.words} {', '.join(str(year) for (year,) in years)}".strip()


def _below(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path]
