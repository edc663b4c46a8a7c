from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import Case, CohortSpec, Extra, Features, GroupVariable, Include
from relprev.cohort.build import build_cohorts
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.sources import read_tables

ABUSE = CodeSet.of("abuse", ["ICD9:E967.3", "ICD10:T74*"])
WARD = GroupVariable("ward")


def make(visits, codes, **names):
    return read_tables(visits, codes, visit_id="id", code="code", version="version", **names)


def example():
    """Eight visits of five patients; visit 6 has no code, visit 7 no ward."""
    visits = pd.DataFrame({
        "id": range(8), "who": [1, 1, 2, 3, 3, 4, 5, 5], "age": [20, 21, 17, 30, 31, 50, 60, 61],
        "ward": ["a", "a", "a", "a", "b", "b", "b", None], "sex": list("FFFFMFFF"),
        "w": [1.0, 2.0, 1.0, 1.5, 2.5, 3.0, 1.0, 1.0],
    })  # fmt: skip
    codes = pd.DataFrame(
        [(0, "E9673", "9"), (0, "R51", "10"), (1, "E9673", "10"), (1, "R51", "10"),
         (1, "R51", "10"), (2, "T7411XA", "10"), (3, "R11", "10"), (4, "T7491XA", "10"),
         (5, "R112", "10"), (7, "R51", "10")],
        columns=["id", "code", "version"],
    )  # fmt: skip
    names = {"patient": "who", "age": "age", "sex": "sex", "weight": "w", "attributes": ["ward"]}
    return make(visits, codes, **names)


def build(study, source=None):
    return build_cohorts(study, source or example())[study.groups[0].name]


def test_every_step_is_counted_by_hand():
    built = build(CohortSpec(ABUSE, (WARD,), (Include("age", minimum=18),)))
    found = [(step.step, step.visits, step.patients) for step in built.attrition.steps]
    assert found == [
        ("visits in the source", 8, 5), ("age 18 or more", 7, 4),
        ("weight known and positive", 7, 4), ("patient known", 7, 4),
        ("at least one code", 6, 4), ("ward known", 5, 3),
    ]  # fmt: skip
    assert built.cohort.n == 5


def test_labels_leave_x_and_versions_stay_apart():
    cohort = build(CohortSpec(ABUSE, (WARD,), (Include("age", minimum=18),))).cohort
    assert cohort.feature_names == ("ICD10:E9673", "ICD10:R11", "ICD10:R112", "ICD10:R51")
    expected = [[0, 0, 0, 1], [1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert cohort.X.to_scipy().toarray().tolist() == expected
    assert cohort.diagnosed.tolist() == [1, 0, 0, 1, 0]
    assert cohort.group_labels.tolist() == ["a", "a", "a", "b", "b"]
    assert cohort.weights.tolist() == [1.0, 2.0, 1.5, 2.5, 3.0]
    assert cohort.clusters.tolist() == [0, 0, 1, 1, 2]


def test_visits_without_codes_can_be_kept():
    built = build(CohortSpec(ABUSE, (WARD,), without_codes="keep"))
    assert built.cohort.n == 7
    assert "at least one code" not in [step.step for step in built.attrition.steps]


def test_rolling_up_joins_codes_and_counts_a_visit_once():
    cohort = build(CohortSpec(ABUSE, (WARD,), features=Features(roll_up="category"))).cohort
    assert cohort.feature_names == ("ICD10:E96", "ICD10:R11", "ICD10:R51")
    assert cohort.X.to_scipy().sum(axis=0).tolist() == [1, 2, 2]


def test_rare_codes_are_dropped_by_their_count_in_included_visits():
    """R51 is in three visits, one of them of age 61."""
    rare = Features(min_count=1)
    assert build(CohortSpec(ABUSE, (WARD,), features=rare)).cohort.feature_names == ("ICD10:R51",)
    rarer = Features(min_count=2)
    assert build(CohortSpec(ABUSE, (WARD,), features=rarer)).cohort.feature_names == ("ICD10:R51",)
    with pytest.raises(InvalidInputError, match=r"no features remain: .*min_count is 2"):
        build(CohortSpec(ABUSE, (WARD,), (Include("age", maximum=60),), rarer))


def test_extra_features_from_ranges_and_values():
    extra = (Extra("age", (21, 50)), Extra("sex"))
    cohort = build(CohortSpec(ABUSE, (WARD,), features=Features(extra=extra))).cohort
    assert cohort.feature_names[-3:] == ("age:[21,50)", "age:[50,inf)", "sex=M")
    ones = cohort.X.to_scipy().toarray()[:, -3:]
    assert ones.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 1, 0]]


def test_only_the_roles_asked_for_become_features_but_labels_come_from_all():
    visits = pd.DataFrame({"id": range(4), "ward": list("aabb")})
    codes = pd.DataFrame({"id": [0, 0, 1, 2, 3], "code": ["R51", "R11", "R11", "R51", "T7411XA"],
                          "version": 10, "place": ["ed", "ip", "ed", "ip", "ip"]})  # fmt: skip
    source = make(visits, codes, role="place", attributes=["ward"])
    cohort = build(CohortSpec(ABUSE, (WARD,), features=Features(roles=("ed",))), source).cohort
    assert cohort.X.to_scipy().toarray().tolist() == [[0, 1], [1, 0], [0, 0], [0, 0]]
    assert cohort.diagnosed.tolist() == [0, 0, 0, 1]


def test_codes_without_a_role_are_codes():
    visits = pd.DataFrame({"id": range(3), "ward": list("abb")})
    codes = pd.DataFrame({"id": [0, 1, 2], "code": ["T7411XA", "R51", "R51"], "version": 10,
                          "place": ["ed", None, "ed"]})  # fmt: skip
    source = make(visits, codes, role="place", attributes=["ward"])
    cohort = build(CohortSpec(ABUSE, (WARD,)), source).cohort
    assert cohort.X.to_scipy().toarray().tolist() == [[0], [1], [1]]


def test_recodes_leave_other_values_out_and_count_them():
    ward = GroupVariable("age", {"young": ["20", "21"], "old": ["30", "31"]}, name="decade")
    built = build(CohortSpec(ABUSE, (ward,)))
    assert built.cohort.group_names == ("young", "old")
    last = built.attrition.steps[-1]
    assert (last.step, last.visits) == ("decade in one of the study's groups", 4)


def test_visits_without_a_group_can_be_a_group():
    built = build(CohortSpec(ABUSE, (GroupVariable("ward", missing="not stated"),)))
    assert built.cohort.group_names == ("a", "b", "not stated")
    assert built.cohort.group_labels.tolist() == ["a", "a", "a", "a", "b", "b", "not stated"]


def test_small_groups_are_never_dropped_silently():
    visits = pd.DataFrame({"id": range(7), "ward": list("aaabbbc")})
    codes = pd.DataFrame({"id": range(7), "code": ["T7411XA"] + ["R51"] * 6, "version": "10"})
    source = make(visits, codes, attributes=["ward"])
    with pytest.warns(DataWarning, match="ward: excluded for having too few visits: c"):
        built = build(CohortSpec(ABUSE, (GroupVariable("ward", minimum_size=2),)), source)
    assert built.cohort.group_names == ("a", "b")
    assert built.attrition.steps[-1].visits == 6


def test_group_without_visits_is_said_to_have_none():
    recode = {"a": ["a"], "b": ["b"], "z": ["z"]}
    with pytest.warns(DataWarning, match="ward: excluded for having no visits: z"):
        built = build(CohortSpec(ABUSE, (GroupVariable("ward", recode=recode),)))
    assert {name: str(why) for name, why in built.left_out.items()} == {"z": "no visits"}


def test_cohorts_of_one_study_share_their_features():
    study = CohortSpec(ABUSE, (WARD, GroupVariable("sex")))
    built = build_cohorts(study, example())
    assert built["ward"].cohort.feature_names == built["sex"].cohort.feature_names
    assert (built["ward"].cohort.n, built["sex"].cohort.n) == (6, 7)
    assert list(build_cohorts(study, example(), groups=["sex"])) == ["sex"]


def test_the_order_of_the_codes_table_does_not_matter():
    rng = np.random.default_rng(0)
    visits = pd.DataFrame({"id": range(200), "ward": np.tile(["a", "b"], 100)})
    codes = pd.DataFrame({"id": rng.integers(0, 200, 3000), "version": 10,
                          "code": [f"R{k:02d}" for k in rng.integers(0, 40, 3000)]})  # fmt: skip
    study = CohortSpec(CodeSet.of("r00", ["ICD10:R00"]), (WARD,))
    one = build(study, make(visits, codes, attributes=["ward"])).cohort
    two = build(
        study, make(visits, codes.sample(frac=1, random_state=1), attributes=["ward"])
    ).cohort
    expected = (
        pd.crosstab(codes["id"], codes["code"]).clip(upper=1).reindex(range(200), fill_value=0)
    )
    for cohort in (one, two):
        assert (cohort.X.to_scipy().toarray() == expected.drop(columns="R00").to_numpy()).all()
        assert (cohort.diagnosed == expected["R00"].to_numpy()).all()


def test_rows_follow_the_visits_whatever_order_the_source_has():
    source = example()
    source.connection.execute("CREATE TABLE shuffled AS FROM visits ORDER BY hash(visit)")
    source.connection.execute("DROP TABLE visits")
    source.connection.execute("ALTER TABLE shuffled RENAME TO visits")
    study = CohortSpec(ABUSE, (WARD,))
    one, two = build(study, source).cohort, build(study).cohort
    assert one.weights.tolist() == two.weights.tolist()
    assert one.diagnosed.tolist() == two.diagnosed.tolist()
    assert (one.X.to_scipy() != two.X.to_scipy()).nnz == 0


def test_a_condition_without_cases_is_a_clear_error():
    study = CohortSpec(CodeSet.of("burns", ["ICD10:T20*"]), (WARD,))
    with pytest.raises(
        TooFewCasesError, match=r"no visit of the ward cohort \(6 visits\) has a code of 'burns'"
    ):
        build(study)


def test_rules_that_leave_nothing_are_named():
    with pytest.raises(InvalidInputError, match="no visits remain after the step 'age 99 or more'"):
        build(CohortSpec(ABUSE, (WARD,), (Include("age", minimum=99),)))


@pytest.mark.parametrize(
    ("column", "kind"), [("day", "values of type TIMESTAMP"), ("ward", "text, not numbers")]
)
def test_a_minimum_of_dates_or_text_is_refused(column, kind):
    """It left no visit, and the message blamed the value."""
    visits = pd.DataFrame({
        "id": [1, 2], "ward": ["a", "b"], "day": pd.to_datetime(["2019-05-01", "2020-01-01"]),
    })  # fmt: skip
    codes = pd.DataFrame({"id": [1, 2], "dx": ["R51", "N80.1"]})
    source = read_tables(
        visits, codes, visit_id="id", code="dx", version="ICD10", attributes=["ward", "day"]
    )
    study = CohortSpec(
        CodeSet.of("n", ["ICD10:N80*"]), (GroupVariable("ward"),), (Include(column, minimum=2019),)
    )
    with pytest.raises(InvalidInputError, match=f"include: {column} holds {kind}"):
        build(study, source)


def test_columns_and_groups_the_source_lacks_are_named():
    with pytest.raises(InvalidInputError, match="has no race; it has visit"):
        build(CohortSpec(ABUSE, (GroupVariable("race"),)))
    with pytest.raises(InvalidInputError, match=r"groups must be among \['ward'\], got \['race'\]"):
        build_cohorts(CohortSpec(ABUSE, (WARD,)), example(), groups=["race"])


def test_a_recode_that_fits_nothing_is_a_clear_error():
    ward = GroupVariable("ward", {"North": ["N"], "South": ["S"]})
    with (
        pytest.warns(DataWarning, match="North, South"),
        pytest.raises(InvalidInputError, match="0 of the groups"),
    ):
        build(CohortSpec(ABUSE, (ward,)))


def test_values_with_quotes_are_data_not_sql():
    visits = pd.DataFrame({"id": range(4), "ward": ["O'Neill", "b'; DROP TABLE codes; --"] * 2})
    codes = pd.DataFrame({"id": range(4), "code": ["T74", "R51", "R51", "R51"], "version": 10})
    source = make(visits, codes, attributes=["ward"])
    ward = GroupVariable("ward", {"one": ["O'Neill"], "two": ["b'; DROP TABLE codes; --"]})
    assert build(CohortSpec(ABUSE, (ward,)), source).cohort.groups.tolist() == [0, 1, 0, 1]


def test_edges_on_text_are_refused_without_showing_a_value():
    """A patient's value stood in the traceback."""
    features = Features(extra=(Extra("ward", (1,)),))
    with pytest.raises(InvalidInputError, match=r"features\.extra: ward holds text") as caught:
        build(CohortSpec(ABUSE, (WARD,), features=features))
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_edges_on_text_with_numbers_leave_the_rest_in_the_reference():
    visits = pd.DataFrame({"id": range(6), "ward": list("aaabbb"),
                           "stay": ["1", "7", "unknown", "9", None, "2"]})  # fmt: skip
    codes = pd.DataFrame({"id": range(6), "code": ["T741", "R51"] * 3, "version": "10"})
    source = make(visits, codes, attributes=["ward", "stay"])
    features = Features(extra=(Extra("stay", (5,)),))
    cohort = build(CohortSpec(ABUSE, (WARD,), features=features), source).cohort
    assert cohort.feature_names[-1] == "stay:[5,inf)"
    assert cohort.X.to_scipy().toarray()[:, -1].tolist() == [0, 1, 0, 1, 0, 0]


@pytest.mark.parametrize("missing", ["", "unknown"])
def test_many_recoded_values_give_what_few_give(missing):
    """40,000 groups made a CASE that took minutes; many values are looked up in a table."""
    few = {"A": ["a"], "B": ["b", "c"]}
    many = {"A": ["a", *map(str, range(20_000))], "B": ["b", "c", *map(str, range(20_000, 40_000))]}
    first, second = (
        build(CohortSpec(ABUSE, (GroupVariable("ward", recode, missing=missing),)))
        for recode in (few, many)
    )
    assert first.cohort.group_names == second.cohort.group_names
    for name in ("groups", "diagnosed", "weights", "clusters"):
        found = getattr(second.cohort, name)
        np.testing.assert_array_equal(getattr(first.cohort, name), found)
    assert first.attrition == second.attrition


def test_people_have_the_codes_of_all_included_visits():
    visits = pd.DataFrame({
        "id": range(7), "who": ["p", "q", "p", "q", "r", "p", "s"],
        "age": [30, 50, 31, 51, 20, 12, 40], "ward": ["a", "b", "b", "b", "a", "a", "a"],
    })  # fmt: skip
    codes = pd.DataFrame({
        "id": [0, 1, 2, 3, 4, 5, 6],
        "dx": ["R10", "R11", "N80.1", "R10", "R12", "R13", "N80.2"],
    })  # fmt: skip
    source = read_tables(visits, codes, visit_id="id", patient="who", age="age", code="dx",
                         version="ICD10", attributes=["ward"])  # fmt: skip
    spec = CohortSpec(
        CodeSet.of("endometriosis", ["ICD10:N80*"]), (GroupVariable("ward"),),
        (Include("age", minimum=18),), without_codes="keep", unit="person",
    )  # fmt: skip
    built = build_cohorts(spec, source)["ward"]
    cohort = built.cohort
    assert cohort.feature_names == ("ICD10:R10", "ICD10:R11", "ICD10:R12")
    people = {
        (group, *row): int(diagnosed)
        for group, row, diagnosed in zip(
            cohort.group_labels, cohort.X.to_scipy().toarray().astype(int).tolist(),
            cohort.diagnosed, strict=True,
        )
    }  # fmt: skip
    assert people == {
        ("a", 1, 0, 0): 1,  # p: in ward a first; the visit at 12 is left out, with its code
        ("b", 1, 1, 0): 0,  # q
        ("a", 0, 0, 1): 0,  # r
        ("a", 0, 0, 0): 1,  # s
    }
    frame = built.attrition.to_frame()
    assert frame["step"].iloc[0] == "people in the source"
    assert frame["visits"].tolist() == frame["patients"].tolist() == [4] * len(frame)


def test_people_with_two_coded_visits_are_cases():
    visits = pd.DataFrame({"id": range(5), "who": list("ppqqr"), "ward": list("aabba")})
    codes = pd.DataFrame({"id": [0, 1, 2, 3, 4], "dx": ["N80", "N80", "N80", "R10", "R11"]})
    source = read_tables(visits, codes, visit_id="id", patient="who", code="dx", version="ICD10",
                         attributes=["ward"])  # fmt: skip
    spec = CohortSpec(
        CodeSet.of("endometriosis", ["ICD10:N80*"]), (GroupVariable("ward"),),
        case=Case(min_visits=2), unit="person",
    )  # fmt: skip
    cohort = build_cohorts(spec, source)["ward"].cohort
    assert cohort.diagnosed.tolist() == [1, 0, 0]


def test_people_need_a_column_of_patients():
    visits = pd.DataFrame({"id": [1, 2], "dx": ["N80", "R10"], "ward": ["a", "b"]})
    source = read_tables(visits, visit_id="id", code=["dx"], version="ICD10", attributes=["ward"])
    spec = CohortSpec(CodeSet.of("it", ["ICD10:N80*"]), (GroupVariable("ward"),), unit="person")
    with pytest.raises(InvalidInputError, match="does not say whose the visits are"):
        build_cohorts(spec, source)
