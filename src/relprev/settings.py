"""Read settings from TOML files into validated dataclasses, with errors that name the line.

The dataclass defines the keys and their types; pydantic checks them. An error names the file,
line and key, what was expected, what was found and, for a misspelt key or value, what was
probably meant.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from relprev.errors import InvalidInputError

T = TypeVar("T")
KeyPath = tuple[str | int, ...]

SETTINGS = ConfigDict(extra="forbid", allow_inf_nan=False)  # of every dataclass read from a file
MAX_ERRORS = 5
LONGEST_SHOWN = 60
LONGEST_FILE = 10_000_000  # bytes, more than any settings need
DEEPEST = 16  # nested tables, more than any settings need
SECRET = "source"  # the table whose strings may be passwords: errors never show them
WORDS = {  # pydantic's terms, and TOML's
    "an object": "a table", "a valid dictionary": "a table", "a valid tuple": "a list",
    "a valid array": "a list",
}  # fmt: skip
NO_XML = "\ufffe\uffff"  # characters that no page can contain
_CLOSING = re.compile(r"""(?:[\]}]|"{3}|'{3})\s*(?:#.*)?$""")  # ends a value of several lines


class Declared:
    """Base of the dataclasses that are read from files: no other keys, no infinite numbers.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Region(Declared):
    ...     title: str
    >>> parse_settings("title = 'New Zealand'", Region, "plan.toml")
    Region(title='New Zealand')
    """

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS


def read_settings(path: str | Path, kind: type[T], **context: Any) -> T:
    """Read a TOML file as the dataclass ``kind``, whose validators receive ``context``."""
    path = Path(path)
    return parse_settings(settings_text(path), kind, str(path), folder=path.parent, **context)


def settings_text(path: Path) -> str:
    """The text of a settings file, without a byte order mark."""
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise InvalidInputError(f"{path} is too long for settings; give a TOML file")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = "is not UTF-8 text" if isinstance(error, ValueError) else "cannot be read"
        raise InvalidInputError(f"{path} {why}; expected a TOML file") from None


def parse_settings(
    text: str, kind: type[T], name: str, moved: Mapping[KeyPath, str] | None = None, **context: Any
) -> T:
    """Read TOML text as the dataclass ``kind``.

    Parameters
    ----------
    text : str
        Content of the file.
    kind : type
        Dataclass that defines the keys.
    name : str
        What errors call the file.
    moved : mapping of key path to str, optional
        Keys of earlier versions, and what to write instead.
    **context
        Passed to the validators of ``kind``.
    """
    content = _parsed(text, name)
    for path, instead in (moved or {}).items():
        if _holds(content, path):
            raise located(text, name, path, f"this key no longer exists; {instead}")
    adapter = TypeAdapter(kind)
    try:
        return adapter.validate_json(_json(content), strict=True, context=context)
    except ValidationError as error:
        schema = adapter.json_schema()
        found = error.errors(include_url=False)
        lines = dict(_lines(text))
        messages = [_message(item, content, lines, name, schema) for item in found[:MAX_ERRORS]]
        rest = f"\n... and {len(found) - MAX_ERRORS} more" if len(found) > MAX_ERRORS else ""
        raise InvalidInputError("\n".join(messages) + rest) from None


def unprintable(text: str) -> bool:
    """Whether a text contains characters that no page, table or figure can show.

    Examples
    --------
    >>> unprintable("Café au lait"), unprintable("bell\\a"), unprintable("two\\nlines")
    (False, True, True)
    """
    return any(unicodedata.category(sign) in ("Cc", "Cs") or sign in NO_XML for sign in text)


def _parsed(text: str, name: str) -> dict[str, Any]:
    """Parse TOML, and refuse tables nested too deeply and strings that cannot be printed."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        where = re.search(r"\(at [^()]*\)$", str(error))
        what = "it is nested too deeply" if isinstance(error, RecursionError) else _syntax(error)
        raise InvalidInputError(f"{name} is not valid TOML: {what} {where[0] if where else ''}"
                                .rstrip()) from None  # fmt: skip
    waiting: list[tuple[KeyPath, Any]] = [((), content)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > DEEPEST:
            raise located(text, name, path[:1], "it is nested too deeply for a setting")
        if isinstance(value, str) and unprintable(value):
            raise located(text, name, path, "it contains a control character, such as a line "
                          "break; write it on one line, without such characters")  # fmt: skip
        items = value.items() if isinstance(value, dict) else (
            enumerate(value) if isinstance(value, list) else ())  # fmt: skip
        for key, inner in items:
            if isinstance(key, str) and unprintable(key):
                raise located(text, name, path, f"remove the control character in its key {key!r}")
            waiting.append(((*path, key), inner))
    return content


def _syntax(error: Exception) -> str:
    """What is wrong with the syntax, without the values that Python's message may quote."""
    words = re.sub(r"\s*\(at [^()]*\)$", "", str(error))
    return re.sub(r"\(.*\)|'[^']{2,}'|\"[^\"]{2,}\"", "a key", words)


def _holds(content: Any, path: KeyPath) -> bool:
    for part in path:
        if not isinstance(content, dict) or part not in content:
            return False
        content = content[part]
    return True


def located(text: str, name: str, path: KeyPath, message: str) -> InvalidInputError:
    """An error about one key of a settings file."""
    return _located(dict(_lines(text)), name, path, message)


def _located(
    lines: Mapping[KeyPath, int], name: str, path: KeyPath, message: str
) -> InvalidInputError:
    line = _line(lines, path)
    where = f"{name}, line {line}" if line else name
    if path[:1] == (SECRET,):  # a key may be a misplaced address
        path = tuple(part if _is_plain(part) else "(a key)" for part in path)
    return InvalidInputError(
        f"{where}: {dotted(path)}: {message}" if path else f"{where}: {message}"
    )


def suggestion(wrong: str, known: Sequence[str]) -> str:
    """What was probably meant, or what is available."""
    longer = [name for name in known if wrong and name.lower().startswith(wrong.lower())]
    close = longer[:2] or difflib.get_close_matches(wrong, known, 2, 0.6)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"available: {', '.join(known)}" if known else ""


def dotted(path: KeyPath) -> str:
    """A key path as people write it, ``groups[2].recode``, counting from 1.

    Examples
    --------
    >>> dotted(("groups", 1, "recode"))
    'groups[2].recode'
    """
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def line_of(text: str, path: KeyPath) -> int | None:
    """Line, counted from 1, of a key or of the nearest enclosing table that has one.

    Examples
    --------
    >>> line_of('seed = 1\\n[[groups]]\\ncolumn = "race"', ("groups", 0, "column"))
    3
    """
    return _line(dict(_lines(text)), path)


def _is_plain(part: str | int) -> bool:
    return isinstance(part, int) or re.fullmatch(r"[\w-]{1,60}", part) is not None


def _line(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    for length in range(len(path), 0, -1):
        inside = [line for known, line in lines.items() if known[:length] == path[:length]]
        if inside:
            return min(inside)
    return None


def _lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Path and line of every table header and every key."""
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    statement, first = "", 1
    for number, line in enumerate(text.split("\n"), start=1):
        statement += f"{line}\n"
        if number > first and not _CLOSING.search(line):
            continue  # a value of many lines goes on, and parsing it again would take long
        try:
            content = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue  # the value goes on
        if statement.lstrip().startswith("["):
            table = _table(content, counts)
            yield table, first
        else:
            yield from (((*table, *path), first) for path in _paths(content))
        statement, first = "", number + 1


def _table(content: Any, counts: dict[KeyPath, int]) -> KeyPath:
    """Path of a table header, which refers to the last table of an array of tables."""
    path: KeyPath = ()
    while content:
        key, content = next(iter(content.items()))
        path = (*path, key)
        if isinstance(content, list):  # [[key]] begins the next table
            counts[path] = counts.get(path, -1) + 1
            content = None
        if path in counts:
            path = (*path, counts[path])
    return path


def _paths(content: Mapping[str, Any]) -> Iterator[KeyPath]:
    """All keys, and those of tables within."""
    waiting: list[tuple[KeyPath, Mapping[str, Any]]] = [((), content)]
    while waiting:  # a key of thousands of dots is that many tables within one another
        above, table = waiting.pop()
        for key, value in table.items():
            yield (*above, key)
            if isinstance(value, dict):
                waiting.append(((*above, key), value))


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, default=str)  # no key is a date: they stay text


def _message(
    error: Any, content: Mapping[str, Any], lines: Mapping[KeyPath, int], name: str,
    schema: Mapping[str, Any],
) -> str:  # fmt: skip
    """One of pydantic's errors in our words."""
    path = _in_file(error["loc"], content, error["type"])
    kind, value = error["type"], error["input"]
    context = error.get("ctx", {})
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        known = known_keys(schema, path[:-1], content)
        words = f"there is no such key; {suggestion(str(path[-1]), known)}".removesuffix("; ")
    elif kind in ("missing", "missing_argument"):
        words = "this key is missing"
    elif kind in ("union_tag_invalid", "literal_error"):
        expected = str(context.get("expected_tags") or context.get("expected"))
        given = context.get("tag", value)
        options = re.findall(r"'([^']*)'", expected)
        plain = isinstance(given, str) and re.fullmatch(r"[\w-]{1,30}", given)
        got = repr(given) if plain else _shown(given, path)
        words = f"got {got}; {suggestion(str(given), options)}"
        path = (*path, "kind") if kind == "union_tag_invalid" else path
    elif kind == "union_tag_not_found":
        words, path = "this key is missing; it names the kind of source", (*path, "kind")
    elif kind == "value_error":
        words = str(context["error"])
    else:
        words = f"{_expected(error['msg'])}, got {_shown(value, path)}"
    return str(_located(lines, name, path, words))


def _expected(words: str) -> str:
    """What pydantic expected, in the terms of TOML."""
    words = re.sub(r"^\w+ should", "it should", words).partition(" after validation")[0]
    for theirs, ours in WORDS.items():
        words = words.replace(theirs, ours)
    return words


def _shown(value: Any, path: KeyPath) -> str:
    """A value as errors may show it: for strings that may be passwords, only the type."""
    if path[:1] == (SECRET,) and isinstance(value, str | list | dict):
        return {"str": "a string", "list": "a list", "dict": "a table"}[type(value).__name__]
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def _in_file(loc: Sequence[str | int], content: Any, kind: str) -> KeyPath:
    """Pydantic's path without the parts that are not in the file (names of union members)."""
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
    """Keys that the JSON Schema allows in the table at a path."""
    node = _resolved(schema, schema, content)
    for part in path:
        content = content[part]
        node = node.get("items", {}) if isinstance(part, int) else node["properties"].get(part, {})
        node = _resolved(node, schema, content)
    return list(node.get("properties", ()))


def _resolved(node: Mapping[str, Any], root: Mapping[str, Any], content: Any) -> Mapping[str, Any]:
    """Follow references and, in a union, the alternative that the table's ``kind`` names."""
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
