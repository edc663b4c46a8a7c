import pytest

from relprev.cohort import Include, Screening
from relprev.errors import InvalidInputError


def test_rules_print_as_the_attrition_table_shows_them():
    assert str(Include("age", minimum=18, maximum=64)) == "age 18 or more and 64 or less"
    assert str(Include("sex", one_of=("F", "M"))) == "sex F or M"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "either minimum/maximum or one_of"),
        ({"minimum": 1, "one_of": ("2",)}, "either minimum/maximum or one_of"),
        ({"minimum": float("nan")}, "minimum and maximum must be numbers"),
        ({"maximum": "old"}, "minimum and maximum must be numbers"),
    ],
)
def test_impossible_rules_are_refused(settings, words):
    with pytest.raises(InvalidInputError, match=words):
        Include("age", **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"one_of": ()}, "tested 'screened': one_of must name a value"),
        ({"not_tested": "forget"}, "'keep' or 'drop', got 'forget'"),
    ],
)
def test_impossible_screening_is_refused(settings, words):
    with pytest.raises(InvalidInputError, match=words):
        Screening("screened", **settings)


def test_numbers_are_compared_as_text():
    assert Include("age", one_of=(18, 19)).one_of == ("18", "19")
    assert Screening("screened", one_of=(2,)).one_of == ("2",)
