"""Every key of the study file, explained: a page made from the schema.

The schema has the keys, their types and defaults. Where a key has no words of its own there, they
are those of the class that it becomes, from the parameters in its docstring.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from relprev import cohort as cohort_package
from relprev.disclosure.rule import Rule
from relprev.study.file import options
from relprev.study.file.keys import StudyFile, study_schema
from relprev.study.file.source import SOURCES

Node = Mapping[str, Any]
INTRODUCTION = """\
# Every key of the study file

`relprev init` writes a file to start from, `relprev check` compares one with the data. This page
is made from the schema that both use (`relprev schema --explain`), so no key is missing. Paths are
relative to the study file.
"""
TYPES = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false",
    "object": "table",
}  # fmt: skip
OWN_WORDS = {  # keys that no class explains
    "condition": "Name of a code set, path of a .toml file, or table with name and codes.",
    "without_codes": "What to do with visits without any code: `drop`, the default, or `keep`.",
    "kind": "Which kind of source this is.",
    "estimate": "How relative prevalences are estimated.",
    "inference": "What the standard errors account for.",
    "checks": "Which checks of the assumptions to run.",
    "report": "Wording of the report that the data cannot supply.",
    "disclosure": "Which counts are hidden, and how the others are rounded.",
    "atlas": "What the conditions of `relprev atlas` are.",
    "compute": "Where cohorts are kept while a study runs.",
}


def study_reference() -> str:
    """The page, in Markdown: one section per table of the file, one row per key."""
    schema = study_schema()
    lines = [INTRODUCTION, "## At the top", "", *_rows(StudyFile, _plain_keys(schema), schema)]
    for name, node in schema["properties"].items():
        if name not in _plain_keys(schema):
            lines += ["", *_section(name, node, schema)]
    return "\n".join(lines) + "\n"


def _plain_keys(schema: Node) -> dict[str, Node]:
    """Keys at the top that are no tables."""
    return {
        name: node
        for name, node in schema["properties"].items()
        if not _tables(node, schema) and name != "source"
    }


def _section(name: str, node: Node, schema: Node) -> Iterator[str]:
    if name == "source":
        yield from ("## `[source]`", "", "Where the data come from; the keys depend on the kind.")
        for kind, declared in SOURCES.items():
            target = node["discriminator"]["mapping"][kind]
            own = _resolved({"$ref": target}, schema)
            yield from ("", f'### `kind = "{kind}"`: {declared.words}', "")
            yield from _rows(declared, own["properties"], schema, own.get("required", ()))
        return
    for title, own in _tables(node, schema):
        heading = title.format(name=name)
        yield f"## `{heading}`"
        words = node.get("description") or OWN_WORDS.get(name, "")
        yield from ("", words, "")
        yield from _rows(_class(own), own["properties"], schema, own.get("required", ()))
        for key, inner in own["properties"].items():
            for inner_title, table in _tables(inner, schema):
                inner_heading = inner_title.format(name=f"{name}.{key}")
                yield from ("", f"### `{inner_heading}`", "")
                required = table.get("required", ())
                yield from _rows(_class(table), table["properties"], schema, required)


def _tables(node: Node, schema: Node) -> list[tuple[str, Node]]:
    """The tables with fixed keys that a key holds, and how their headers are written."""
    found = []
    for one in _alternatives(node, schema):
        items = one.get("items")
        values = one.get("additionalProperties")
        if "properties" in one and "title" in one:
            found.append(("[{name}]", one))
        elif isinstance(items, dict) and "properties" in _resolved(items, schema):
            found.append(("[[{name}]]", _resolved(items, schema)))
        elif isinstance(values, dict) and "properties" in _resolved(values, schema):
            found.append(("[{name}.<variable>]", _resolved(values, schema)))
    return found


def _rows(
    kind: Any, properties: Mapping[str, Node], schema: Node, required: Any = ()
) -> Iterator[str]:
    """A table of keys."""
    told = _parameters(kind)
    yield "| key | what it holds | default | meaning |"
    yield "|---|---|---|---|"
    for name, node in properties.items():
        words = node.get("description") or told.get(name) or OWN_WORDS.get(name, "")
        default = "must be given" if name in required else _default(node)
        yield f"| `{name}` | {_type(node, schema)} | {default} | {_cell(words)} |"


def _type(node: Node, schema: Node) -> str:
    """What a key may hold, in words."""
    found = dict.fromkeys(_one_type(one, schema) for one in _alternatives(node, schema))
    return " or ".join(found)


def _one_type(node: Node, schema: Node) -> str:
    if "enum" in node or "const" in node:
        values = node.get("enum", [node.get("const")])
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    if node.get("type") == "array":
        inner = node.get("items") or {}
        listed = _type(inner, schema) if inner else "numbers"
        return f"list of {'tables' if listed == 'table' else listed}"
    if isinstance(node.get("type"), list):
        return " or ".join(TYPES[kind] for kind in node["type"])
    return TYPES.get(str(node.get("type")), "text or table")


def _default(node: Node) -> str:
    value = node.get("default")
    if value is None or value in ("", [], {}) or isinstance(value, dict):
        return "none"
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text}`" if len(text) <= 60 else "all"


def _alternatives(node: Node, schema: Node) -> list[Node]:
    """The node, or what it may be instead, without null."""
    node = _resolved(node, schema)
    if "anyOf" not in node:
        return [node]
    found = [_resolved(one, schema) for one in node["anyOf"]]
    return [one for one in found if one.get("type") != "null"]


def _resolved(node: Node, schema: Node) -> Node:
    while "$ref" in node:
        node = {**schema["$defs"][node["$ref"].rpartition("/")[2]]}
    return node


def _class(node: Node) -> Any:
    """The class of a table, by the title in the schema."""
    name = str(node.get("title", ""))
    if name == Rule.__name__:
        return Rule
    return getattr(options, name, None) or getattr(cohort_package, name, None)


def _parameters(kind: Any) -> dict[str, str]:
    """Words for every parameter in a numpydoc docstring."""
    text = inspect.getdoc(kind) or ""
    block = re.search(r"Parameters\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", text, re.DOTALL)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in block[1].splitlines() if block else ():
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        else:
            found |= {name: f"{found.get(name, '')} {line.strip()}".strip() for name in names}
    return found


def _cell(words: str) -> str:
    """Words as they stand in a table of Markdown."""
    plain = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", words.replace("``", "`"))
    return plain.replace("|", "\\|").replace("\n", " ")
