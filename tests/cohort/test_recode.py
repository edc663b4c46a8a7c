"""Groups as SQL: the same positions by a CASE expression and by a table of values."""

from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable, build_cohorts, recode
from relprev.cohort.recode import MISSING, OTHER, grouping
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
    made = grouping(group, (), source, "true", "ward")
    rows = source.query(f"SELECT {made.position} FROM visits{made.join} ORDER BY visit")
    return made.names, [row[0] for row in rows]


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
        positions(source, GroupVariable("ward"))


def test_missing_values_cannot_take_the_name_of_a_group(source):
    with pytest.raises(InvalidInputError, match="ward already has a group 'a'"):
        positions(source, GroupVariable("ward", missing="a"))


RACE = ["W", "B", "W", None, "B", "X"] * 20
SEX = ["F", "F", "M", "M", None, "M"] * 20
AGE = [10, 18, 64, 65, None, 17] * 20
RACES = GroupVariable("race", recode={"White": ["W"], "Black": ["B"]})


def built(*groups, **more):
    n = len(RACE)
    made = {"id": range(n), "race": RACE, "gender": SEX, "years": AGE} | more
    codes = {"dx": ["J45", "R51", "R52"] * (n // 3), "too": ["J45"] * 60 + ["R51"] * 60}
    visits = pd.DataFrame(made | codes)
    spec = CohortSpec(CodeSet.of("asthma", ["ICD10:J45"]), groups)
    names = [name for name in made if name != "id"]
    with read_tables(visits, visit_id="id", code=["dx", "too"], version="ICD10",
                     attributes=names) as source:  # fmt: skip
        return build_cohorts(spec, source, keep_ids=True)


def groups_of(item):
    ids, labels = item.cohort.ids.tolist(), item.cohort.group_labels.tolist()
    return {int(k): label for k, label in zip(ids, labels, strict=True) if int(k) < 6}


def test_bands_hold_their_lower_edge_and_not_their_upper_one():
    ages = GroupVariable("years", edges=(18, 65), labels=("child", "adult", "old"))
    item = built(ages)["years"]
    assert groups_of(item) == {0: "child", 1: "adult", 2: "adult", 3: "old", 5: "child"}
    item = built(GroupVariable("years", edges=(18, 65), missing="Unknown"))["years"]
    assert groups_of(item)[4] == "Unknown"
    assert item.cohort.group_names == ("under 18", "18 to under 65", "65 and over", "Unknown")


def test_several_columns_make_groups_of_combinations():
    item = built(RACES, GroupVariable(("race", "gender")))["race and gender"]
    assert groups_of(item) == {0: "White / F", 1: "Black / F", 2: "White / M"}
    steps = item.attrition.to_frame().set_index("step")["visits"]
    assert steps["race and gender known"] == 80  # neither race nor sex is missing
    assert steps["race and gender in one of the study's groups"] == 60
    assert not item.left_out  # nobody asked for Black men, of whom there are none


def test_combinations_may_have_bands_and_missing_values_of_their_parts():
    ages = GroupVariable("years", edges=(18,), labels=("child", "adult"), name="age group",
                         missing="no age")  # fmt: skip
    item = built(ages, GroupVariable(("age group", "gender"), missing="?"))["age group and gender"]
    assert groups_of(item) == {0: "child / F", 1: "adult / F", 2: "adult / M", 3: "adult / M",
                               4: "?", 5: "child / M"}  # fmt: skip


SLASHES = {"gender": ["a", "a / b"] * 60, "race": ["b / c", "c"] * 60}
MANY = {"gender": [str(k) for k in range(120)], "race": [str(k % 20) for k in range(120)]}


@pytest.mark.parametrize(
    ("group", "more", "words"),
    [
        (GroupVariable(("race", "gender")), MANY, "2,400 combinations, but at most 1,000"),
        (GroupVariable(("gender", "race")), SLASHES, "values contain ' / '"),
        (GroupVariable("race", edges=(1,)), {}, "text, not numbers"),
        (GroupVariable("race", missing="W"), {}, "already has a group 'W'"),
    ],
)
def test_impossible_groups_are_refused_when_the_data_show_it(group, more, words):
    with pytest.raises(InvalidInputError, match=words):
        built(group, **more)
