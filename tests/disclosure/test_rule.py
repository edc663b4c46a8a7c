import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relprev.disclosure import Rule
from relprev.errors import InvalidInputError


def test_counts_up_to_the_threshold_are_small_and_none_is_not():
    rule = Rule(threshold=7)
    assert [n for n in range(12) if rule.is_small(n)] == [1, 2, 3, 4, 5, 6, 7]
    assert rule.is_small(0.4)
    assert rule.is_small(7.6)


def test_nothing_is_small_where_all_is_shown():
    assert not Rule(hide=False).is_small(3)


@pytest.mark.parametrize("wrong", [
    {"threshold": 0}, {"threshold": 2.5}, {"threshold": True}, {"round_to": -1},
    {"round_to": 10**6},
])  # fmt: skip
def test_wrong_values_are_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidInputError, match=rf"{name} must be a whole number .*got {value}"):
        Rule(**wrong)


@given(st.integers(0, 10**7), st.sampled_from([1, 5, 10]))
def test_rounded_counts_are_near_multiples(count, to):
    rounded = Rule(round_to=to).rounded(count)
    assert rounded % to == 0
    assert abs(rounded - count) <= to / 2


@given(st.floats(0.01, 100), st.integers(11, 10**6))
def test_statistic_tells_no_more_than_a_rounded_count(value, count):
    """Two counts that rounding does not tell apart by much give the same statistic, or near."""
    rule = Rule(round_to=5)
    shown = rule.coarse(value, count)
    step = value * 5 / count  # what the value changes by where the count changes by 5
    grid = 10 ** math.ceil(math.log10(step))
    assert grid >= step * (1 - 1e-9)
    assert abs(shown / grid - round(shown / grid)) < 1e-6


def test_statistic_of_an_unknown_count_tells_as_little_as_one_of_few():
    """The row of all groups in a check stopped every study that rounds its counts."""
    rule = Rule(round_to=5)
    assert rule.coarse(0.7654, math.nan) == rule.coarse(0.7654, 5) == 1.0


def test_reader_is_told_of_the_rule():
    assert Rule().words.startswith(
        "Counts of 1 to 10 people, and what would reveal them, are hidden"
    )
    assert Rule(threshold=7, round_to=5).words.endswith("rounded to multiples of 5.")
    assert Rule(hide=False).words == ""
