from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relprev.codes import (
    normalize,
    version_name,
)
from relprev.codes.spelling import normalize_sql


@pytest.mark.parametrize("text", ["T7411XA", "t74.11xa", " T74.11xA ", "T7411XA--"])
def test_dots_case_and_padding_do_not_matter(text):
    assert normalize(text) == "T7411XA"


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12))
def test_sql_spells_codes_as_python_does(text):
    sql = duckdb.execute(f"SELECT {normalize_sql('?')}", [text]).fetchall()[0][0]
    assert sql == normalize(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("9", "ICD9"),
        ("icd-9-cm", "ICD9"),
        ("ICD10CM", "ICD10"),
        ("10", "ICD10"),
        ("9.0", "ICD9"),
        ("snomed", "SNOMED"),
    ],
)
def test_versions_have_one_name(text, name):
    assert version_name(text) == name
