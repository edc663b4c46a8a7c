from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Features, GroupVariable, build_cohorts
from relprev.cohort.grouped import _Labels, _PatientNumbers, _Tally
from relprev.errors import InvalidInputError
from relprev.sources import read_tables


def test_a_tally_counts_visits_and_each_patient_once_across_parts():
    tally = _Tally(3)
    tally.add(np.array([True, True, False]), np.array([0, 0, 1], np.int32))
    tally.add(np.array([True]), np.array([2], np.int32))
    assert (tally.step("x").visits, tally.step("x").patients) == (3, 2)
    assert _Tally(None).step("x").patients is None


def test_patients_and_labels_are_numbered_by_first_appearance_across_parts():
    number = _PatientNumbers(9)
    assert number(np.array([7, 2, 7], np.int32)).tolist() == [0, 1, 0]
    assert number(np.array([5, 2], np.int32)).tolist() == [2, 1]
    label = _Labels()
    assert label(pd.Series(["s", "t"])).tolist() == [0, 1]
    assert label(pd.Series(["u", "t"])).tolist() == [2, 1]


def study_of(group):
    return CohortSpec(CodeSet.of("it", ["ICD10:N80*"]), (group,), features=Features(min_count=0))


def wards(n_small):
    """Two wards of 30 visits, and one of a few; every third visit is diagnosed."""
    ward = ["a"] * 30 + ["b"] * 30 + ["c"] * n_small
    codes = ["N809" if k % 3 == 0 else "R51" for k in range(len(ward))]
    visits = pd.DataFrame({"id": range(len(ward)), "ward": ward, "dx": codes})
    return read_tables(visits, visit_id="id", code=["dx"], version="ICD10", attributes=["ward"])


def test_a_small_group_is_left_out_with_a_reason_and_a_step():
    spec = study_of(GroupVariable("ward", minimum_size=10))
    with wards(6) as source, pytest.warns(match="ward: excluded for having too few visits: c"):
        built = build_cohorts(spec, source)["ward"]
    assert built.cohort.group_names == ("a", "b")
    assert {group: str(why) for group, why in built.left_out.items()} == {"c": "too few visits"}
    last = built.attrition.steps[-1]
    assert (last.step, last.visits) == ("ward group of 10 or more", 60)


def test_one_group_alone_cannot_be_compared():
    spec = study_of(GroupVariable("ward", recode={"x": ("a",)}))
    with wards(0) as source, pytest.raises(InvalidInputError, match="at least two are needed"):
        build_cohorts(spec, source)
