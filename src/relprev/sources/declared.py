"""How a source is declared: the keys allowed in the ``[source]`` table of a study file.

Next to its reader, each source has a frozen dataclass of its keys. Their types say how a key
is written in TOML and whether a path is read or written; their descriptions go into the JSON
Schema. Class attributes hold what else a study needs to know about the source.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

from pydantic import BeforeValidator

from relprev.errors import InvalidInputError
from relprev.settings import Declared
from relprev.sources.addresses import SHOWN, is_address
from relprev.sources.kinds import DIAGNOSES, Kind, require_known
from relprev.sources.source import Source


class Role(Enum):
    """Whether a path is read or written."""

    INPUT = "read"
    OUTPUT = "written"


def _text(value: Any) -> Any:
    """Refuse anything but text, without showing it: it may hold a password."""
    if value is None or isinstance(value, str):
        return value
    raise InvalidInputError(f"it should be a string, got {_kind(value)}")


def _texts(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise InvalidInputError(f"it should be a string or a list of strings, got {_kind(value)}")


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", dict: "a table"}
    return names.get(type(value), "a list")


InputPath = Annotated[str, BeforeValidator(_text), Role.INPUT]
InputPaths = Annotated[str | tuple[str, ...], BeforeValidator(_texts), Role.INPUT]
OutputPath = Annotated[str, BeforeValidator(_text), Role.OUTPUT]


@dataclass(frozen=True, kw_only=True)
class SourceTable(Declared):
    """The keys of one kind of source; keys that are not given are None."""

    words: ClassVar[str]  # its name in reports, such as "MIMIC-IV"
    read: ClassVar[Callable[..., Source]]
    example: ClassVar[tuple[str, str]]  # a group variable, and one of its groups as reference
    case_role: ClassVar[str] = "diagnosis"  # a role that its codes may have, for [case]
    is_survey: ClassVar[bool] = False  # reports name its years
    has_strata: ClassVar[bool] = False  # subgroups leave some strata with one sampling unit
    kinds: ClassVar[tuple[Kind, ...]] = (DIAGNOSES,)  # of features; its reader takes their names

    kind: str

    def given(self) -> dict[str, Any]:
        """The keys that are given, except ``kind``; tuples as lists."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None and name != "kind"
        }

    def open(self, kinds: Sequence[str] = ()) -> Source:
        """Read the data, with these kinds of features besides those that it has by default."""
        require_known(kinds, self.kinds)
        more = {"kinds": tuple(kinds)} if len(self.kinds) > 1 else {}
        return type(self).read(**self.given(), **more)

    @classmethod
    def path_keys(cls, *roles: Role) -> set[str]:
        """Keys whose values are paths with one of these roles."""
        hints = get_type_hints(cls, include_extras=True)
        return {name for name, hint in hints.items() if set(roles) & set(_metadata(hint))}


def _metadata(hint: Any) -> Iterator[Any]:
    """The metadata of an Annotated type, including those inside a union."""
    yield from getattr(hint, "__metadata__", ())
    for inner in get_args(hint):
        yield from _metadata(inner)


def resolved(value: Any, folder: Path) -> Any:
    """One or more paths relative to a folder, with ~ and variables expanded; addresses as is."""
    if isinstance(value, list | tuple):
        return [resolved(item, folder) for item in value]
    text = os.path.expandvars(os.path.expanduser(str(value)))
    return text if is_address(text) else str(folder / text)


def without_folder(value: Any) -> Any:
    """One or more paths as a record may show them: file names only, and no addresses."""
    if isinstance(value, list | tuple):
        return [without_folder(item) for item in value]
    return SHOWN if is_address(value) else Path(value).name
