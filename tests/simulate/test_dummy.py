import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Exclude, GroupVariable, Include, Screening, Strata
from relprev.errors import InvalidInputError
from relprev.simulate.dummy import YEAR, condition_codes, dummy

CONDITION = CodeSet.of("it", ["ICD10:T74*"])


def spec(**more):
    recode = {"north": ("1", "2"), "south": ("3",)}
    return CohortSpec(CONDITION, (GroupVariable("ward", recode=recode),), **more)


def made(study, versions=("ICD10",), columns=()):
    return dummy(study, 2_000, versions, columns, seed=1)


def test_columns_hold_what_rules_and_recodes_name_and_something_else():
    rules = (Include("score", minimum=50, maximum=90), Include("smoker", one_of=("no",)))
    visits = made(spec(include=rules), columns=("extra",)).visits
    assert {"1", "2", "3"} < set(visits["ward"])
    assert visits["score"].lt(50).any()
    assert visits["score"].between(50, 90).any()
    assert {"no", "Other"} <= set(visits["smoker"])
    assert set(visits["extra"]) == {"A", "B", "C", "Other"}


def test_columns_hold_what_exclusions_strata_and_screening_name():
    """A dummy study with `[tested]` warned that nobody was looked at."""
    rules = spec(
        exclude=(Exclude("clinic", one_of=("closed",)),),
        strata=(Strata("region", recode={"far": ("X",), "near": ("Y",)}),
                Strata("score", edges=(50,))),
        tested=Screening("scan", one_of=("ja",)),
    )  # fmt: skip
    visits = made(rules, columns=("region", "score")).visits
    assert {"A", "closed"} < set(visits["clinic"])
    assert set(visits["region"]) == {"X", "Y", "Other"}
    assert visits["score"].lt(50).any()
    assert visits["score"].ge(50).any()
    assert {"ja", "no"} < set(visits["scan"])


def test_ages_are_those_at_the_visit():
    visits = made(spec()).visits
    assert set(visits["year"]) == {YEAR}
    days = (visits["date"] - visits["birth_date"]).dt.days
    assert (visits["age"] - days / 365.25).between(-1.01, 0.01).all()
    assert visits.groupby("patient")["sex"].nunique().max() == 1


def test_only_the_diagnosed_have_codes_of_the_condition():
    codes = made(spec()).codes
    hit = codes[codes["is_condition"]]
    assert all((version, code) in CONDITION for version, code in zip(hit["version"], hit["code"],
                                                                     strict=True))  # fmt: skip
    rest = codes[~codes["is_condition"]]
    assert not CONDITION.matching(zip(rest["version"], rest["code"], strict=True))
    assert hit["visit"].is_unique


def test_a_condition_without_codes_in_the_vocabulary_is_refused():
    with pytest.raises(InvalidInputError, match="no code of 'it' is of ICD9, which the source has"):
        made(spec(), versions=("ICD9",))
    assert condition_codes(CONDITION, "ICD9") == []
