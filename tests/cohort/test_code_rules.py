from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import Case, CohortSpec, Exclude, GroupVariable, Include, build_cohorts
from relprev.errors import InvalidInputError
from relprev.sources import read_tables

ASTHMA = CodeSet.of("asthma", ["ICD10:J45*"])
# patient, day, ward, codes in their order
VISITS = [
    ("p", "2019-01-01", "a", ["J45.0", "R05"]),
    ("p", "2019-01-20", "a", ["R05", "J45.1", "J45.0"]),
    ("p", "2019-06-01", "b", ["R05"]),
    ("q", "2019-01-01", "b", ["R05", "J45.9"]),
    ("q", "2019-12-01", "b", ["J45.9"]),
    ("r", "2019-03-01", "a", ["O80", "R05"]),
    ("r", "2019-08-01", "b", ["R05"]),
    ("s", "2019-08-01", None, ["R05", "J45.9"]),
]


def source(*, dates=True, patients=True):
    """The visits above, and others so that features and groups are common enough."""
    more = [(f"x{k}", "2019-05-05", "ab"[k % 2], ["J45.8", "R05"] if k % 4 < 2 else ["R05", "R51"])
            for k in range(40)]  # fmt: skip
    everyone = VISITS + more
    visits = pd.DataFrame(
        {"id": range(len(everyone)), "who": [v[0] for v in everyone],
         "day": [v[1] for v in everyone], "ward": [v[2] for v in everyone]})  # fmt: skip
    codes = [(k, code, seq) for k, v in enumerate(everyone) for seq, code in enumerate(v[3], 1)]
    table = pd.DataFrame(codes, columns=["id", "dx", "seq"])
    named = {"date": "day"} if dates else {}
    named |= {"patient": "who"} if patients else {}
    return read_tables(visits, table, visit_id="id", code="dx", version="ICD10", position="seq",
                       attributes=["ward"], **named)  # fmt: skip


def built(case=None, include=(), exclude=(), **how):
    wards = GroupVariable("ward", missing="none", few_diagnosed="keep")
    spec = CohortSpec(ASTHMA, (wards,), include, exclude=exclude, case=case or Case())
    with source(**how) as data:
        return build_cohorts(spec, data, keep_ids=True)["ward"]


def diagnosed(case):
    cohort = built(case).cohort
    return {int(k) for k, s in zip(cohort.ids, cohort.diagnosed, strict=True) if s and int(k) < 8}


def kept(**rules):
    return {int(k) for k in built(**rules).cohort.ids if int(k) < 8}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (Case(), {0, 1, 3, 4, 7}),
        (Case(roles=("principal",)), {0, 4}),
        (Case(min_codes=2), {1}),
        (Case(min_visits=2), {0, 1, 3, 4}),
        (Case(min_visits=2, within_days=30), {0, 1}),
        (Case(roles=("principal",), later_days=365), {0, 3, 4}),
        (Case(min_codes=2, later_days=30), {0, 1}),
    ],
)
def test_who_counts_as_diagnosed(case, expected):
    assert diagnosed(case) == expected


@pytest.mark.parametrize(
    ("rules", "left_out"),
    [
        ({"include": (Include(codes=("ICD10:R05",)),)}, {4}),
        ({"include": (Include(codes=("ICD10:J45*",), lookback_days=150),)}, {5, 6}),
        ({"exclude": (Exclude(codes=("ICD10:O*",)),)}, {5}),
        ({"exclude": (Exclude(codes=("ICD10:O*",), lookback_days=200),)}, {5, 6}),
        ({"exclude": (Exclude(codes=("ICD10:O*",), lookback_days=100),)}, {5}),
        ({"exclude": (Exclude("ward", one_of=("a",)),)}, {0, 1, 5}),  # a missing value stays
    ],
)
def test_visits_are_left_out_by_codes_and_columns(rules, left_out):
    assert kept(**rules) == set(range(8)) - left_out


def test_codes_of_the_condition_are_no_features_whoever_is_a_case():
    names = built(Case(roles=("principal",))).cohort.feature_names
    assert names == ("ICD10:O80", "ICD10:R05", "ICD10:R51")


def test_every_rule_is_a_step_of_the_attrition_in_words():
    item = built(include=(Include(codes=("ICD10:R05",)),),
                 exclude=(Exclude(codes=("ICD10:O*",), lookback_days=200),))  # fmt: skip
    steps = {step.step: step.visits for step in item.attrition.steps}
    assert steps["a code of ICD10:R05 in the visit"] == 47
    assert steps["not: a code of ICD10:O* in the visit or the 200 days before"] == 45


@pytest.mark.parametrize(
    ("case", "how", "words"),
    [
        (Case(min_visits=2), {"patients": False}, "does not say who the patients are"),
        (Case(min_visits=2, within_days=9), {"dates": False}, "within_days needs the dates"),
        (Case(later_days=9), {"dates": False}, "later_days needs the dates"),
        (Case(roles=("first",)), {}, "no code has the role 'first'.*principal, secondary"),
    ],
)
def test_rules_that_the_data_cannot_answer_are_refused(case, how, words):
    with pytest.raises(InvalidInputError, match=words):
        built(case, **how)


def test_lookback_needs_dates():
    rule = Exclude(codes=("ICD10:O*",), lookback_days=9)
    with pytest.raises(InvalidInputError, match="lookback_days needs the dates"):
        built(exclude=(rule,), dates=False)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Include(), "either column or codes"),
        (lambda: Exclude("age", codes=("ICD10:O*",)), "exclude: give either column or codes"),
        (lambda: Include(codes=("O80",)), "VERSION:code"),
        (lambda: Include(codes=("ICD10:O*",), minimum=1), "go with a column"),
        (lambda: Include(codes=("ICD10:O*",), lookback_days=0), "must be 1 or more"),
        (lambda: Include("age", minimum=1, lookback_days=3), "goes with codes"),
        (lambda: Case(min_codes=0), "min_codes must be 1 or more"),
        (lambda: Case(within_days=9), "goes with min_visits"),
    ],
)
def test_impossible_rules_are_refused(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()
