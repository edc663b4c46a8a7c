"""The page of keys is complete: made from the schema, and as the page has it."""

import re
from pathlib import Path

import pytest

from relprev.study import study_schema
from relprev.study.file.reference import study_reference
from relprev.study.file.source import SOURCES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "study-file.md"


def test_the_page_is_what_the_command_writes():
    """If this fails: relprev schema --explain > docs/study-file.md"""
    assert PAGE.read_text(encoding="utf-8") == study_reference()


def test_every_key_of_every_table_has_a_row():
    rows = re.findall(r"^\| `(\w+)` \|", study_reference(), re.MULTILINE)
    schema = study_schema()
    for name, table in schema["$defs"].items():
        for key in table.get("properties", {}):
            assert key in rows, f"{name}.{key}"
    headings = re.findall(r"^##+ `(.*?)`", study_reference(), re.MULTILINE)
    tables = {re.split(r"[.\[\]]+", heading.strip("[]"))[0] for heading in headings}
    for key in schema["properties"]:
        assert key in rows or key in tables, key


def test_every_key_is_explained():
    for row in re.findall(r"^\| `.*", study_reference(), re.MULTILINE):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        assert len(cells) == 4, row
        assert all(cells), row


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_has_a_section(kind):
    assert f'### `kind = "{kind}"`' in study_reference()
