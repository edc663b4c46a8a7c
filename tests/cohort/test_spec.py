from __future__ import annotations

import pytest

from relprev.codes import CodeSet, code_set
from relprev.cohort import CohortSpec, Extra, Features, GroupVariable, Include, cohort_spec
from relprev.cohort.spec import cohort_spec_names
from relprev.errors import InvalidInputError

TEXT = """
condition = {name = "burns", codes = ["ICD10:T20*", "ICD9:941*"]}
without_codes = "keep"

[[include]]
column = "age"
minimum = 18
maximum = 64

[features]
roll_up = "category"
min_count = 10
roles = ["ed"]

[[features.extra]]
column = "age"
edges = [35, 50]

[[groups]]
column = "race"
minimum_size = 100
missing = "Not stated"
[groups.recode]
White = ["1"]
Other = ["2", "3"]
"""


def test_a_file_says_what_the_dataclasses_say(tmp_path):
    file = tmp_path / "burns.toml"
    file.write_text(TEXT)
    assert cohort_spec(str(file)) == CohortSpec(
        CodeSet.of("burns", ["ICD10:T20*", "ICD9:941*"]),
        (
            GroupVariable(
                "race", {"White": ("1",), "Other": ("2", "3")}, "Not stated", minimum_size=100
            ),
        ),
        (Include("age", minimum=18, maximum=64),),
        Features("category", 10, ("ed",), (Extra("age", (35, 50)),)),
        without_codes="keep",
        name="burns",
    )


def test_shipped_studies_are_the_papers():
    assert set(cohort_spec_names()) == {"ipv-mimic", "ipv-neds"}
    for name in cohort_spec_names():
        found = cohort_spec(name)
        assert found.condition == code_set("ipv")
        assert [str(rule) for rule in found.include] == ["sex F", "age 18 or more"]
        assert found.features == Features()
    groups = {group.name: tuple(group.recode) for group in cohort_spec("ipv-mimic").groups}
    assert groups["race"] == ("White", "Black", "Asian", "Hispanic/Latino")
    assert groups["insurance"] == ("Medicare", "Medicaid")
    assert groups["marital_status"] == ("Legally unmarried", "Married", "Divorced")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: CohortSpec(code_set("ipv"), (GroupVariable("r"), GroupVariable("R"))),
            "names must differ",
        ),
        (lambda: CohortSpec(code_set("ipv"), ()), "at least one group variable"),
        (lambda: CohortSpec(code_set("ipv"), (GroupVariable("r"),) * 2), "names must differ"),
        (
            lambda: CohortSpec(code_set("ipv"), (GroupVariable("r"),), without_codes="?"),
            "'drop' or 'keep'",
        ),
    ],
)
def test_impossible_parts_are_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("minimum = 18", "least = 18", r"line 7: include\[1\].least: there is no such key"),
        ("without_codes", "with_codes", "line 3: with_codes.*did you mean 'without_codes'"),
        ("[features]", "[features", "not valid TOML"),
        (
            "condition = {",
            "condition = 3 #{",
            "line 2: condition: it must be the name of a code set",
        ),
        ('column = "race"\n', "", r"line 19: groups\[1\].column: this key is missing"),
        ("min_count = 10", 'min_count = "10"', "line 12: features.min_count: .*got '10'"),
        ("[35, 50]", "[50, 35]", "edges must be increasing"),
        ('["ICD10:T20*", "ICD9:941*"]', "[941]", "line 2: condition: codes must be strings"),
        ('["ICD10:T20*", "ICD9:941*"]', "941", "line 2: condition: codes must be a list"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path, old, new, message):
    file = tmp_path / "burns.toml"
    assert old in TEXT
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(InvalidInputError, match=message):
        CohortSpec.read(file)


def test_a_missing_file_lists_the_shipped_ones(tmp_path):
    with pytest.raises(InvalidInputError, match="shipped: ipv-mimic, ipv-neds"):
        cohort_spec(str(tmp_path / "nothing.toml"))
