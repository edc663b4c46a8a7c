"""Kinds of features: chosen, excluded, counted; the cohort does not depend on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Extra, Features, GroupVariable
from relprev.cohort.build import build_cohorts
from relprev.errors import InvalidInputError
from relprev.sources import read_tables
from relprev.sources.kinds import CAUSES, DIAGNOSES, Kind

VITALS = Kind("vitals", "VITAL", "vital signs", ("vital",))
CONDITION = CodeSet.of("abuse", ["ICD10:T74*"])
CODES = [
    (0, "T7411XA", "ICD10", "diagnosis"), (0, "R51", "ICD10", "diagnosis"),
    (0, "FAST", "VITAL", "vital"), (1, "R51", "ICD10", "cause"), (1, "W19", "ICD10", "cause"),
    (2, "R11", "ICD10", "diagnosis"), (2, "FAST", "VITAL", "vital"), (2, "SLOW", "VITAL", "vital"),
    (3, "SLOW", "VITAL", "vital"), (4, "T7401XA", "ICD10", "diagnosis"),
]  # fmt: skip


@pytest.fixture
def source():
    """Visit 3 has a vital sign and no other code."""
    visits = pd.DataFrame({"id": range(5), "ward": list("ababa"), "age": [20, 30, 40, 50, 60]})
    codes = pd.DataFrame(CODES, columns=["id", "code", "version", "role"])
    read = read_tables(
        visits, codes, visit_id="id", code="code", version="version", role="role", age="age",
        attributes=["ward"],
    )  # fmt: skip
    return replace(read, kinds=(DIAGNOSES, CAUSES, VITALS))


def built(source, *, condition=CONDITION, without_codes="drop", **features):
    spec = CohortSpec(
        condition, (GroupVariable("ward"),), features=Features(**features),
        without_codes=without_codes,
    )  # fmt: skip
    return build_cohorts(spec, source)["ward"]


def test_by_default_only_default_kinds_are_features(source):
    found = built(source)
    assert found.cohort.feature_names == ("ICD10:R11", "ICD10:R51", "ICD10:W19")
    assert found.kinds == {"diagnoses": 2, "causes": 1}


def test_named_kinds_are_features_and_others_are_not(source):
    found = built(source, kinds=("vitals",))
    assert found.cohort.feature_names == ("VITAL:FAST", "VITAL:SLOW")
    assert found.kinds == {"vitals": 2}
    both = built(source, kinds=("vitals", "causes"))
    assert both.cohort.feature_names == ("ICD10:R51", "ICD10:W19", "VITAL:FAST", "VITAL:SLOW")
    assert both.kinds == {"causes": 2, "vitals": 2}


@pytest.mark.parametrize("without_codes", ["drop", "keep"])
def test_visits_and_diagnoses_do_not_depend_on_kinds(source, without_codes):
    plain = built(source, without_codes=without_codes)
    other = built(source, without_codes=without_codes, kinds=("vitals",))
    assert plain.attrition == other.attrition
    np.testing.assert_array_equal(plain.visits, other.visits)
    np.testing.assert_array_equal(plain.cohort.diagnosed, other.cohort.diagnosed)
    assert plain.cohort.n == (4 if without_codes == "drop" else 5)


@pytest.mark.parametrize(
    ("without_codes", "names"),
    [("drop", ("VITAL:FAST",)), ("keep", ("VITAL:FAST", "VITAL:SLOW"))],
)
def test_rare_features_are_counted_in_visits_that_stay(source, without_codes, names):
    """SLOW is in visits 2 and 3, of which the latter has no code and is dropped."""
    found = built(source, without_codes=without_codes, kinds=("vitals",), min_count=1)
    assert found.cohort.feature_names == names


def test_a_condition_may_be_recorded_in_a_kind_that_is_no_feature(source):
    fast = CodeSet.of("fast", ["VITAL:FAST"])
    assert built(source, condition=fast).cohort.diagnosed.tolist() == [1, 0, 1, 0]
    with_vitals = built(source, condition=fast, kinds=("vitals",))
    assert with_vitals.cohort.feature_names == ("VITAL:SLOW",)


@pytest.mark.parametrize(
    ("exclude", "gone"),
    [
        (("VITAL:FAST",), {"VITAL:FAST"}),
        (("VITAL:*",), {"VITAL:FAST", "VITAL:SLOW"}),
        (("icd10:r1*", "ICD10:W19"), {"ICD10:R11", "ICD10:W19"}),
        (("ICD9:R11",), set()),
        (("VITAL:/F.*/",), {"VITAL:FAST"}),
    ],
)
def test_excluded_codes_are_no_features(source, exclude, gone):
    kinds = ("diagnoses", "causes", "vitals")
    every = set(built(source, kinds=kinds).cohort.feature_names)
    assert every - set(built(source, kinds=kinds, exclude=exclude).cohort.feature_names) == gone


def test_excluded_codes_are_cut_like_those_of_the_data(source):
    short = replace(source, code_lengths={"ICD10": 3})
    fast = CodeSet.of("fast", ["VITAL:FAST"])
    found = built(short, condition=fast, exclude=("ICD10:R51.9",)).cohort.feature_names
    assert "ICD10:R11" in found
    assert "ICD10:R51" not in found


def test_broader_codes_can_be_excluded_too(source):
    found = built(source, roll_up="category", exclude=("ICD10:R51",)).cohort.feature_names
    assert found == ("ICD10:R11", "ICD10:W19")


def test_features_from_columns_are_counted_apart(source):
    found = built(source, extra=(Extra("age", edges=(30, 50)),))
    assert found.kinds == {"diagnoses": 2, "causes": 1, "extra": 2}
    assert sum(found.kinds.values()) == found.cohort.n_cols


def test_rare_features_do_not_count(source):
    found = built(source, kinds=("diagnoses", "vitals"), min_count=1)
    assert found.kinds == {"diagnoses": 0, "vitals": 1}


def test_parts_on_disk_have_the_same_features(source, tmp_path):
    spec = CohortSpec(
        CONDITION, (GroupVariable("ward"),),
        features=Features(kinds=("diagnoses", "vitals"), exclude=("VITAL:SLOW",)),
    )  # fmt: skip
    memory = build_cohorts(spec, source)["ward"]
    disk = build_cohorts(spec, source, folder=tmp_path / "parts", rows_per_part=2)["ward"]
    assert disk.kinds == memory.kinds
    assert disk.cohort.feature_names == memory.cohort.feature_names
    whole = disk.cohort.collected()
    np.testing.assert_array_equal(
        whole.X.to_scipy().toarray(), memory.cohort.X.to_scipy().toarray()
    )
    np.testing.assert_array_equal(whole.diagnosed, memory.cohort.diagnosed)


def test_a_kind_that_was_not_read_is_refused(source):
    with pytest.raises(InvalidInputError, match="was read without 'reasons', it has diagnoses, ca"):
        built(source, kinds=("reasons",))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"exclude": ("RFV",)}, "exclude: a code must be written VERSION:code"),
        ({"exclude": "RFV:1"}, "exclude must be a list of strings"),
        ({"kinds": "vitals"}, "kinds must be a list of strings"),
    ],
)
def test_settings_that_are_no_lists_of_codes_or_kinds_are_refused(settings, words):
    with pytest.raises(InvalidInputError, match=words):
        Features(**settings)
