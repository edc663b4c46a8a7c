"""Groups as SQL: the same positions by a CASE expression and by a table of values."""

from __future__ import annotations

import pandas as pd
import pytest

from relprev.cohort import GroupVariable, recode
from relprev.cohort.recode import MISSING, OTHER, group_names, position_sql
from relprev.errors import InvalidInputError
from relprev.sources import read_tables

WARDS = ["b", "a", None, "c", "O'Hara", "a"]


@pytest.fixture
def source():
    visits = pd.DataFrame({"id": range(6), "ward": WARDS, "dx": "R51"})
    with read_tables(visits, visit_id="id", code=["dx"], version="ICD10",
                     attributes=["ward"]) as opened:  # fmt: skip
        yield opened


def positions(source, group):
    names = group_names(group, source, "true")
    position, join = position_sql(group, names, source, 0)
    rows = source.query(f"SELECT {position} FROM visits{join} ORDER BY visit")
    return names, [row[0] for row in rows]


def test_groups_are_the_values_in_the_data(source):
    names, found = positions(source, GroupVariable("ward"))
    assert names == ("O'Hara", "a", "b", "c")
    assert found == [2, 1, MISSING, 3, 0, 1]


@pytest.mark.parametrize("most_cases", [0, recode.MOST_CASES])
def test_recoded_missing_and_other_values_have_their_own_positions(source, monkeypatch, most_cases):
    monkeypatch.setattr(recode, "MOST_CASES", most_cases)
    group = GroupVariable("ward", recode={"first": ("a", "O'Hara"), "second": ("b",)})
    assert positions(source, group) == (("first", "second"), [1, 0, MISSING, OTHER, 0, 0])
    named = GroupVariable("ward", recode={"first": ("a",), "second": ("b",)}, missing="unknown")
    assert positions(source, named) == (("first", "second", "unknown"), [1, 0, 2, OTHER, OTHER, 0])


def test_too_many_values_ask_for_a_recode(source, monkeypatch):
    monkeypatch.setattr(recode, "MAX_GROUPS", 3)
    with pytest.raises(InvalidInputError, match="ward has more than 3 values; give a recode"):
        group_names(GroupVariable("ward"), source, "true")


def test_missing_values_cannot_take_the_name_of_a_group(source):
    with pytest.raises(InvalidInputError, match="ward already has a group 'a'"):
        group_names(GroupVariable("ward", missing="a"), source, "true")
