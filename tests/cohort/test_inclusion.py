"""Who was looked at for the condition: kept apart, or an inclusion rule."""

from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable, Include, LookedAt, Screening, build_cohorts
from relprev.errors import InvalidInputError
from relprev.sources import read_tables

CONDITION = CodeSet.of("abuse", ["ICD10:T74*"])
WARD = (GroupVariable("ward"),)


def source(values):
    n = len(values)
    visits = pd.DataFrame({"id": range(n), "ward": ["a", "b"] * (n // 2), "screened": values,
                           "age": range(20, 20 + n)})  # fmt: skip
    codes = pd.DataFrame({"id": range(n), "code": ["T7411XA", "R51"] * (n // 2)})
    codes = pd.concat([codes, pd.DataFrame({"id": range(n), "code": "R11"})])
    return read_tables(visits, codes, visit_id="id", code="code", version="ICD10", age="age",
                       attributes=["ward", "screened"])  # fmt: skip


TEXTS = ["yes", "no", "YES ", "Y", None, "", "no", "1"]


def build(values, **tested):
    spec = CohortSpec(CONDITION, WARD, tested=Screening("screened", **tested))
    return build_cohorts(spec, source(values))["ward"]


def test_not_looked_at_is_counted_apart_from_not_known():
    built = build(TEXTS)
    assert built.tested == LookedAt({"a": (1, 1, 2), "b": (1, 1, 2)}, (1, 1, 2))
    assert built.cohort.n == 8
    assert all("looked at" not in step.step for step in built.attrition.steps)


def test_dropped_visits_are_a_step_after_the_other_rules():
    spec = CohortSpec(
        CONDITION, WARD, (Include("age", minimum=21),),
        tested=Screening("screened", not_tested="drop"),
    )  # fmt: skip
    built = build_cohorts(spec, source(TEXTS))["ward"]
    steps = [(step.step, step.visits) for step in built.attrition.steps]
    assert steps[:3] == [
        ("visits in the source", 8), ("age 21 or more", 7),
        ("looked at for the condition (screened)", 3),
    ]  # fmt: skip
    assert built.cohort.n == 3
    assert built.tested == LookedAt({"a": (0, 0, 1), "b": (0, 0, 2)}, (0, 0, 1))


@pytest.mark.parametrize(
    "values",
    [
        [1, 0, 1, 1, 0, 0, 1, 1],
        [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0],
        [True, False, True, True, False, False, True, True],
    ],
)
def test_numbers_and_truth_values_are_understood(values):
    assert build(values).tested.visits == {"a": (0, 1, 3), "b": (0, 2, 2)}


def test_other_values_can_be_named():
    assert build(TEXTS, one_of=("NO",)).tested.visits == {"a": (1, 2, 1), "b": (1, 2, 1)}


def test_parts_give_the_same_counts(tmp_path):
    spec = CohortSpec(CONDITION, WARD, tested=Screening("screened"))
    parts = build_cohorts(spec, source(TEXTS), folder=tmp_path / "parts", rows_per_part=3)["ward"]
    assert parts.tested == build(TEXTS).tested


def test_without_the_setting_nothing_is_counted():
    assert build_cohorts(CohortSpec(CONDITION, WARD), source(TEXTS))["ward"].tested is None


def test_nobody_looked_at_is_refused():
    with pytest.raises(InvalidInputError, match="no visits remain after the step 'looked at"):
        build(["no"] * 8, not_tested="drop")


def test_a_column_that_lacks_is_named():
    spec = CohortSpec(CONDITION, WARD, tested=Screening("tested"))
    with pytest.raises(InvalidInputError, match="has no tested"):
        build_cohorts(spec, source(TEXTS))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"one_of": ()}, "tested 'screened': one_of must name a value"),
        ({"not_tested": "leave"}, "not_tested must be 'keep' or 'drop', got 'leave'"),
    ],
)
def test_settings_are_checked(settings, words):
    with pytest.raises(InvalidInputError, match=words):
        Screening("screened", **settings)
