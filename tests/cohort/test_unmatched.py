from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import Case, CohortSpec, GroupVariable, Include, build_cohorts
from relprev.cohort.unmatched import code_hints
from relprev.disclosure import Rule, shown
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.messages import message_of
from relprev.sources import read_tables


def source(codes, version="ICD10", **more):
    n = len(codes)
    made = {"id": range(n), "dx": codes, "other": ["R51", "R52"] * (n // 2), "place": "F"}
    visits = pd.DataFrame(made | {"ward": ["a", "a", "b", "b"] * (n // 4)} | more)
    named = {"patient": "who"} if "who" in visits else {}
    return read_tables(visits, visit_id="id", code=["dx", "other"], version=version,
                       attributes=["ward", "place"], **named)  # fmt: skip


@pytest.mark.parametrize(
    ("recorded", "version", "pattern", "said"),
    [
        ("J45.9", "ICD10", "ICD10:J45", "did you mean ICD10:J45* (40 visits)?"),
        ("J45.9", "ICD10", "ICD9:J45*", "did you mean ICD10:J45* (40 visits)?"),
        ("J45.9", "ICD10", "ICD9:J45", "did you mean ICD10:J45* (40 visits)?"),
        ("J45", "ICD10", "ICD10:J45.901", "did you mean ICD10:J45 (40 visits)?"),
        ("J45.9", "ICD10", "ICD10:Z99", "no visit has ICD10:Z99"),
    ],
)
def test_codes_that_match_nothing_are_told_with_what_would(recorded, version, pattern, said):
    with source([recorded] * 40, version) as data:
        (hint,) = code_hints(CodeSet.of("asthma", [pattern]), data)
    assert str(hint).endswith(said)


def test_a_version_that_the_data_do_not_have_is_passed_over_if_the_other_matches():
    """Every study of ICD-10 data was told that its condition's ICD-9 codes do not occur."""
    both = CodeSet.of("asthma", ["ICD9:493*", "ICD10:J45*", "ICD10:Z99"])
    with source(["J45.9"] * 40) as data:
        assert [str(hint) for hint in code_hints(both, data)] == ["no visit has ICD10:Z99"]
        nothing = CodeSet.of("asthma", ["ICD9:493*", "ICD10:Z99"])
        assert len(code_hints(nothing, data)) == 2


def test_hints_count_patients_where_they_are_known_and_hide_few():
    """Forty visits of five patients: a count that must not be told."""
    with source(["J45.9"] * 40, who=[k % 5 for k in range(40)]) as data:
        (hint,) = code_hints(CodeSet.of("asthma", ["ICD10:J45"]), data)
    assert str(hint).endswith("(5 patients)?")
    assert shown(hint, Rule()).endswith("did you mean ICD10:J45* (fewer than 11 patients)?")


def test_a_cohort_without_the_condition_is_refused_with_what_was_probably_meant():
    spec = CohortSpec(CodeSet.of("asthma", ["ICD10:J45"]), (GroupVariable("ward"),))
    with source(["J45.9"] * 40) as data, pytest.raises(TooFewCasesError) as refused:
        build_cohorts(spec, data)
    assert "no visit has ICD10:J45; did you mean ICD10:J45* (40 visits)?" in str(refused.value)
    assert message_of(refused.value) is not None


def test_codes_that_occur_only_elsewhere_are_said_to():
    spec = CohortSpec(CodeSet.of("asthma", ["ICD10:J45*"]), (GroupVariable("ward"),),
                      (Include("place", one_of=("F",)),))  # fmt: skip
    place = ["M", *["F"] * 39]
    with (
        source(["J45.9", *["R11"] * 39], place=place) as data,
        pytest.raises(TooFewCasesError, match="only in visits that the study leaves out"),
    ):
        build_cohorts(spec, data)


def test_codes_that_occur_but_not_as_the_case_asks_are_said_to():
    """Of principal diagnoses it said "in visits that the study leaves out", and no filter did."""
    spec = CohortSpec(CodeSet.of("asthma", ["ICD10:J45*"]), (GroupVariable("ward"),),
                      case=Case(min_codes=2))  # fmt: skip
    with (
        source(["J45.9", *["R11"] * 39]) as data,
        pytest.raises(TooFewCasesError, match=r"leaves out, or not as \[case\] asks"),
    ):
        build_cohorts(spec, data)


def test_a_filter_that_leaves_nobody_names_the_values_that_there_are():
    """Only common ones: a rare value could identify somebody."""
    spec = CohortSpec(CodeSet.of("asthma", ["ICD10:J45*"]), (GroupVariable("ward"),),
                      (Include("place", one_of=("female",)),))  # fmt: skip
    with (
        source(["J45.9"] * 40, place=["F"] * 20 + ["M"] * 19 + ["X"]) as data,
        pytest.raises(InvalidInputError, match=r"check the rule: place is F, M$"),
    ):
        build_cohorts(spec, data)
