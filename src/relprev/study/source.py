"""The ``[source]`` of a study: which reader, with which arguments.

The keys of ``[source]`` are the parameters of the reader that ``kind`` names, so a reader
and the study file cannot disagree. Paths are relative to the study file's folder.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_type_hints

from pydantic import Field

from relprev.settings import SETTINGS
from relprev.sources import READERS as SOURCES
from relprev.sources.addresses import SHOWN, is_address
from relprev.sources.source import Source
from relprev.study.simulated import read_simulated

Reader = Callable[..., Source]
READERS = cast("dict[str, Reader]", SOURCES | {"simulated": read_simulated})
WORDS = {
    "mimic": "MIMIC-IV", "neds": "NEDS", "nhamcs": "NHAMCS", "nhds": "NHDS",
    "omop": "OMOP database", "tables": "own tables", "simulated": "simulated visits",
}  # fmt: skip
SURVEYS = ("neds", "nhamcs", "nhds")
OUTPUTS = {"cache"}  # paths that a reader writes to


@dataclass(frozen=True)
class SourceOptions:
    """A reader and its arguments.

    Parameters
    ----------
    kind : str
        One of `READERS`.
    arguments : mapping
        Of the reader, as they stand in the study file.
    folder : Path
        What relative paths are relative to.

    Examples
    --------
    >>> options = SourceOptions("simulated", {"visits": 2000, "codes": 100})
    >>> options.open()
    <Source simulated: 2,000 visits, attributes group>
    >>> options.files(), options.is_database, options.described()["kind"]
    ([], False, 'simulated')
    """

    kind: str
    arguments: Mapping[str, Any]
    folder: Path = Path()

    def open(self) -> Source:
        """Read the data.

        Returns
        -------
        Source
            Visits and codes.
        """
        return READERS[self.kind](**self._resolved())

    def files(self) -> list[Path]:
        """The files the arguments name, folders opened; they need not exist.

        Returns
        -------
        list of Path
            Paths.
        """
        found: list[Path] = []
        for name, value in self._resolved().items():
            if name in _path_names(self.kind) - OUTPUTS:
                for path in value if isinstance(value, list) else [value]:
                    found += _below(path) if isinstance(path, Path) else []
        return found

    @property
    def is_database(self) -> bool:
        """Whether the data are on a server, where nothing says if they changed."""
        return any(is_address(value) for value in self.arguments.values())

    def described(self) -> dict[str, Any]:
        """Kind and arguments for the manifest: no user, password or folder names.

        Returns
        -------
        dict
            Plain values.
        """
        shown = {name: _without_secrets(value, name in _path_names(self.kind))
                 for name, value in self.arguments.items()}  # fmt: skip
        return {"kind": self.kind, **shown}

    def described_files(self) -> list[dict[str, str]]:
        """The files that exist, for the manifest: names, and no sizes that tell numbers of rows.

        Returns
        -------
        list of dict
            Each with the key ``name``.
        """
        return [{"name": file.name} for file in self.files() if file.is_file()]

    def _resolved(self) -> dict[str, Any]:
        paths = _path_names(self.kind)
        return {
            name: _resolve(value, self.folder) if name in paths else value
            for name, value in self.arguments.items()
        }


def source_words(source: Source) -> str:
    """The source as a report names it, a survey with its years."""
    words = WORDS.get(source.name, source.name)
    if source.name not in SURVEYS:
        return words
    years = source.query("SELECT DISTINCT year FROM visits WHERE year IS NOT NULL ORDER BY year")
    return f"{words} {', '.join(str(year) for (year,) in years)}".strip()


def _resolve(value: Any, folder: Path) -> Any:
    if isinstance(value, str):
        text = os.path.expandvars(os.path.expanduser(value))
        return text if is_address(text) else folder / text
    return [_resolve(item, folder) for item in value]


def _below(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path]


def _without_secrets(value: Any, is_path: bool) -> Any:
    if isinstance(value, list | tuple):
        return [_without_secrets(item, is_path) for item in value]
    if is_address(value):
        return SHOWN
    return Path(value).name if is_path and isinstance(value, str) else value


def _path_names(kind: str) -> set[str]:
    """Parameters of a reader that are paths."""
    hints = get_type_hints(READERS[kind])
    return {
        name
        for name in inspect.signature(READERS[kind]).parameters
        if hints[name] is Any or "Path" in str(hints[name])
    }


def _argument_type(hint: Any, is_path: bool) -> Any:
    """How a reader's parameter is written in TOML."""
    text = str(hint)
    if is_path:
        many = "Iterable" in text
        return str | tuple[str, ...] if many else str
    if "Sequence[int]" in text:
        return tuple[int, ...]
    if "Sequence[str]" in text:
        return str | tuple[str, ...] if text.startswith("str |") else tuple[str, ...]
    kinds = (("bool", bool), ("int", int), ("float", float))
    return next((kind for name, kind in kinds if name in text), str)


def _descriptions(reader: Reader) -> dict[str, str]:
    """First sentence on every parameter in the reader's docstring."""
    text = inspect.getdoc(reader) or ""
    section = re.search(r"Parameters\n-+\n(.*?)\n\n(?:\w+\n-+|$)", text, re.DOTALL)
    found: dict[str, str] = {}
    for names, words in re.findall(
        r"^(\w[\w, ]*) : [^\n]*\n((?:    [^\n]*\n?)*)", section[1] + "\n" if section else "", re.M
    ):
        sentence = " ".join(words.split()).partition(". ")[0]
        found |= {name.strip(): sentence for name in names.split(",")}
    return found


def _table(kind: str, reader: Reader) -> type:
    """The dataclass of ``[source]`` for one kind."""
    hints, words, paths = get_type_hints(reader), _descriptions(reader), _path_names(kind)
    fields: list[tuple[str, Any, Any]] = [("kind", Literal[kind], field())]
    for name, parameter in inspect.signature(reader).parameters.items():
        written = _argument_type(hints[name], name in paths)
        required = parameter.default is inspect.Parameter.empty
        about = Field(description=words.get(name, ""))
        fields.append((name, Annotated[written if required else written | None, about],
                       field() if required else field(default=None)))  # fmt: skip
    return make_dataclass(
        f"{kind.title().replace('-', '')}Source", fields, frozen=True, kw_only=True,
        namespace={"__pydantic_config__": SETTINGS, "__doc__": f"Arguments of a {kind} source."},
    )  # fmt: skip


TABLES = {kind: _table(kind, reader) for kind, reader in READERS.items()}
if TYPE_CHECKING:
    SourceTable = Any
else:
    SourceTable = Annotated[Union[tuple(TABLES.values())], Field(discriminator="kind")]  # noqa: UP007


def source_options(table: Any, folder: Path) -> SourceOptions:
    """The options from a checked ``[source]`` table."""
    values = {name: value for name, value in vars(table).items() if value is not None}
    kind = values.pop("kind")
    return SourceOptions(kind, {k: list(v) if isinstance(v, tuple) else v
                                for k, v in values.items()}, folder)  # fmt: skip
