from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Extra, Features, GroupVariable, Include, build_cohorts
from relprev.cohort.controls import Controls
from relprev.errors import InvalidInputError
from relprev.sources import read_tables
from relprev.sources.derived import DERIVED, with_derived
from relprev.study import Study
from relprev.study.inspect import inspect_study


@pytest.fixture
def source():
    visits = pd.DataFrame({
        "id": range(8), "dx": ["R51"] * 8, "a1c": [6.0, 5.1, None, 6.4, 5.9, 5.0, 7.0, 6.1],
        "told": ["1", "2", "1", "2", "1", "2", "9", "1"], "ward": ["a", "b"] * 4,
    })  # fmt: skip
    return read_tables(
        visits, visit_id="id", code=["dx"], version="ICD10", attributes=["a1c", "told", "ward"]
    )


def spec(**more) -> CohortSpec:
    features = Features(extra=(Extra("a1c", (5.5, 6.2), missing=True), Extra("high")))
    return CohortSpec(
        CodeSet.of("diabetes", ["IS:diagnosed"]), (GroupVariable("ward"),), features=features,
        without_codes="keep", derive={"diagnosed": "told == 1", "high": "a1c >= 5.7"}, **more,
    )  # fmt: skip


def test_tables_without_codes():
    visits = pd.DataFrame({"id": range(4), "x": [1, 2, 3, 4], "ward": list("abab")})
    source = read_tables(visits, visit_id="id", attributes=["x", "ward"])
    own = CohortSpec(
        CodeSet.of("x", ["IS:big"]), (GroupVariable("ward"),), without_codes="keep",
        features=Features(extra=(Extra("x", (2.0, 3.0)),)), derive={"big": "x > 2"},
    )  # fmt: skip
    assert build_cohorts(own, source)["ward"].cohort.diagnosed.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"code": ["dx"]}, "version is missing"),
        ({"version": "ICD10"}, "code is missing"),
        ({"codes": pd.DataFrame({"id": [0]})}, "code is missing"),
    ],
)
def test_codes_need_a_column_and_a_version(given, words):
    with pytest.raises(InvalidInputError, match=words):
        read_tables(pd.DataFrame({"id": [0], "dx": ["R51"]}), visit_id="id", **given)


def test_a_column_that_is_true_or_false_is_a_condition_and_a_feature(source):
    cohort = build_cohorts(spec(), source)["ward"].cohort
    assert cohort.diagnosed.tolist() == [1, 0, 1, 0, 1, 0, 0, 1]
    assert cohort.feature_names == (
        "ICD10:R51", "a1c:[5.5,6.2)", "a1c:[6.2,inf)", "a1c:missing", "high=false",
    )  # fmt: skip
    X = cohort.X.to_scipy().toarray()
    assert X[:, 3].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert X[:, 1].tolist() == [1, 0, 0, 0, 1, 0, 0, 1]
    assert X[:, 4].tolist() == [0, 1, 0, 0, 0, 1, 0, 0]


def test_a_feature_of_values_can_be_missing_too(source):
    features = Features(extra=(Extra("high", missing=True),))
    with_missing = CohortSpec(
        CodeSet.of("x", ["IS:diagnosed"]), (GroupVariable("ward"),), features=features,
        derive={"diagnosed": "told == 1", "high": "a1c >= 5.7"},
    )  # fmt: skip
    cohort = build_cohorts(with_missing, source)["ward"].cohort
    assert cohort.feature_names == ("ICD10:R51", "high=false", "high=missing")
    assert cohort.X.to_scipy().toarray()[:, 2].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


def test_rules_and_controls_use_derived_columns(source):
    own = spec(
        include=(Include("high", one_of=("true",)),),
        controls=Controls(conditions={"very high": ("IS:HIGH",)}),
    )
    cohort = build_cohorts(own, source)["ward"].cohort
    assert cohort.n == 5
    assert cohort.control_names == ("very high",)
    assert cohort.controls.tolist() == [1] * 5


def test_the_source_itself_is_left_as_it_is(source):
    one = with_derived(source, {"high": "a1c >= 5.7"})
    two = with_derived(one, {"low": "not high"})
    assert source.kinds == (source.kinds[0],)
    assert two.kinds.count(DERIVED) == 1
    assert "high" not in source.columns("visits")
    codes = two.query("SELECT DISTINCT code FROM codes WHERE version = 'IS' ORDER BY code")
    assert codes == [("HIGH",), ("LOW",)]
    assert with_derived(source, {}) is source


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"WARD": "a1c > 1"}, "there is a column 'WARD' already"),
        ({"x": "a1d > 1"}, "^x: 'a1d > 1': there is no column 'a1d'; did you mean 'a1c'"),
        ({"x": "y", "y": "a1c"}, "there is no column 'y'"),
    ],
)
def test_a_wrong_column_is_named(source, columns, words):
    with pytest.raises(InvalidInputError, match=words):
        with_derived(source, columns)


STUDY = """
condition = {{name = "diabetes", codes = ["IS:diagnosed"]}}
[source]
kind = "tables"
visits = "visits.csv"
visit_id = "id"
code = ["dx"]
version = "ICD10"
attributes = ["told", "ward", "a1c"]
[derive]
diagnosed = "{expression}"
[[groups]]
column = "ward"
"""


def study(folder, expression: str) -> Study:
    rows = [f"{k},R51,{k % 3},{'ab'[k % 2]},{5 + k % 4 / 2}" for k in range(400)]
    (folder / "visits.csv").write_text("\n".join(["id,dx,told,ward,a1c", *rows]))
    (folder / "study.toml").write_text(STUDY.format(expression=expression))
    return Study.from_toml(folder / "study.toml")


def test_a_study_of_text_columns_derives_its_condition(tmp_path):
    seen = inspect_study(study(tmp_path, "told == 1 and a1c >= 6"))
    assert seen.codes == {"IS:DIAGNOSED": 1}


def test_a_study_names_the_place_of_a_wrong_expression(tmp_path):
    with pytest.raises(InvalidInputError, match=r"study.toml, line \d+: derive: diagnosed: .*told"):
        inspect_study(study(tmp_path, "tolt == 1"))
