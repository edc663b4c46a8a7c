"""Settings files: TOML to checked dataclasses, with errors that name the line.

The dataclass says which keys there are and of what type; pydantic checks them. A mistake
is reported as file, line, key, what was expected, what came and, for a misspelt key or
value, what was probably meant.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from relprev.errors import InvalidInputError

T = TypeVar("T")
KeyPath = tuple[str | int, ...]

SETTINGS = ConfigDict(extra="forbid", allow_inf_nan=False)  # of every dataclass read from a file
MAX_ERRORS = 5
LONGEST_SHOWN = 60
_KEY = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*""")


def read_settings(path: str | Path, kind: type[T], **context: Any) -> T:
    """The dataclass ``kind`` from a TOML file; ``context`` is for its validators."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = "is not UTF-8 text" if isinstance(error, ValueError) else "cannot be read"
        raise InvalidInputError(f"{path} {why}; expected a TOML file") from None
    return parse_settings(text, kind, str(path), folder=path.parent, **context)


def parse_settings(text: str, kind: type[T], name: str, **context: Any) -> T:
    """The dataclass ``kind`` from TOML text; ``name`` is what errors call the file."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInputError(f"{name} is not valid TOML: {error}") from None
    adapter = TypeAdapter(kind)
    try:
        return adapter.validate_json(_json(content), strict=True, context=context)
    except ValidationError as error:
        schema = adapter.json_schema()
        found = error.errors(include_url=False)
        messages = [_message(item, content, text, name, schema) for item in found]
        rest = f"\n... and {len(found) - MAX_ERRORS} more" if len(found) > MAX_ERRORS else ""
        raise InvalidInputError("\n".join(messages[:MAX_ERRORS]) + rest) from None


def located(text: str, name: str, path: KeyPath, message: str) -> InvalidInputError:
    """An error about one key of a settings file."""
    line = line_of(text, path)
    where = f"{name}, line {line}" if line else name
    return InvalidInputError(
        f"{where}: {dotted(path)}: {message}" if path else f"{where}: {message}"
    )


def suggestion(wrong: str, known: Sequence[str]) -> str:
    """What was probably meant, or what there is."""
    close = difflib.get_close_matches(wrong, known, 2, 0.6)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"there is {', '.join(known)}" if known else ""


def dotted(path: KeyPath) -> str:
    """A key path as people write it: ``groups[2].recode``, counted from 1.

    Examples
    --------
    >>> dotted(("groups", 1, "recode"))
    'groups[2].recode'
    """
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def line_of(text: str, path: KeyPath) -> int | None:
    """Line (from 1) of a key, or of the nearest table above it that has a line.

    Examples
    --------
    >>> line_of('seed = 1\\n[[groups]]\\ncolumn = "race"', ("groups", 0, "column"))
    3
    """
    lines = dict(_lines(text))
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Every table header and key at the start of a line, with its path."""
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    open_until = ""  # inside a value that goes on over several lines
    depth = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if open_until or depth > 0:
            rest = line
        elif header := re.match(r"\s*(\[\[?)([^\[\]]+)\]", line):
            table = _table(_keys(header[2]), header[1] == "[[", counts)
            yield table, number
            continue
        else:
            key, equals, rest = _split_key(line)
            if not equals:
                continue
            yield (*table, *key), number
        open_until, depth = _still_open(rest, open_until, depth)


def _table(keys: list[str], is_array: bool, counts: dict[KeyPath, int]) -> KeyPath:
    """Path of a table header; the last of an array of tables is the one meant."""
    path: KeyPath = ()
    for position, key in enumerate(keys):
        path = (*path, key)
        if is_array and position == len(keys) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _split_key(line: str) -> tuple[list[str], bool, str]:
    keys, position = [], 0
    while found := _KEY.match(line, position):
        keys.append(next(part for part in found.groups() if part is not None))
        position = found.end()
        if line[position : position + 1] == "=":
            return keys, True, line[position + 1 :]
        if line[position : position + 1] != ".":
            break
        position += 1
    return [], False, ""


def _keys(header: str) -> list[str]:
    return [next(p for p in found if p) for found in _KEY.findall(header) if any(found)]


def _still_open(rest: str, quote: str, depth: int) -> tuple[str, int]:
    """Whether a value goes on after this line: the open long quote, and open brackets."""
    tokens = re.compile(r'"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'[^\']*\'|[\[\]{}#]')
    position = 0
    while True:
        if quote:
            end = rest.find(quote, position)
            if end < 0:
                return quote, depth
            position, quote = end + 3, ""
        found = tokens.search(rest, position)
        if found is None or found[0] == "#":
            return quote, depth
        position = found.end()
        if found[0] in ('"""', "'''"):
            quote = found[0]
        elif len(found[0]) == 1:
            depth = max(depth + (1 if found[0] in "[{" else -1), 0)


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, default=str)  # dates are not used by any key: they stay text


def _message(
    error: Any, content: Mapping[str, Any], text: str, name: str, schema: Mapping[str, Any]
) -> str:
    """One mistake in our words."""
    path = _in_file(error["loc"], content, error["type"])
    kind, value = error["type"], error["input"]
    context = error.get("ctx", {})
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        known = known_keys(schema, path[:-1], content)
        words = f"there is no such key; {suggestion(str(path[-1]), known)}"
    elif kind in ("missing", "missing_argument"):
        words = "this key is missing"
    elif kind in ("union_tag_invalid", "literal_error"):
        expected = str(context.get("expected_tags") or context.get("expected"))
        given = context.get("tag", value)
        options = re.findall(r"'([^']*)'", expected)
        words = f"got {_shown(given)}; {suggestion(str(given), options)}"
        path = (*path, "kind") if kind == "union_tag_invalid" else path
    elif kind == "union_tag_not_found":
        words, path = "this key is missing; it names the kind of source", (*path, "kind")
    elif kind == "value_error":
        words = str(context["error"])
    else:
        words = f"{error['msg'].replace('Input should', 'it should')}, got {_shown(value)}"
    return str(located(text, name, path, words))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def _in_file(loc: Sequence[str | int], content: Any, kind: str) -> KeyPath:
    """Pydantic's path without the parts that are not in the file (names of alternatives)."""
    path: list[str | int] = []
    missing_last = kind in ("missing", "missing_argument")
    for position, part in enumerate(loc):
        inside = part in content if isinstance(content, dict) else (
            isinstance(content, list) and isinstance(part, int) and part < len(content)
        )  # fmt: skip
        if inside:
            path.append(part)
            content = content[part]
        elif missing_last and position == len(loc) - 1:
            path.append(part)
    return tuple(path)


def known_keys(schema: Mapping[str, Any], path: KeyPath, content: Any) -> list[str]:
    """Keys that the table at a path may have, by the JSON Schema."""
    node = _resolved(schema, schema, content)
    for part in path:
        content = content[part]
        node = node.get("items", {}) if isinstance(part, int) else node["properties"].get(part, {})
        node = _resolved(node, schema, content)
    return list(node.get("properties", ()))


def _resolved(node: Mapping[str, Any], root: Mapping[str, Any], content: Any) -> Mapping[str, Any]:
    """Follow references; of alternatives take the one the table's ``kind`` names."""
    while True:
        if "$ref" in node:
            node = root["$defs"][node["$ref"].rpartition("/")[2]]
        elif "discriminator" in node and isinstance(content, dict):
            target = node["discriminator"]["mapping"].get(content.get("kind"))
            if target is None:
                return {}
            node = {"$ref": target}
        elif "anyOf" in node:
            node = next((one for one in node["anyOf"] if one.get("type") != "null"), {})
        else:
            return node
