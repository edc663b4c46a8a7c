import time

import pytest

from relprev.cohort import GroupVariable
from relprev.errors import InvalidInputError


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"recode": {"a\x00": ["1"]}}, "cannot be printed"),
        ({"name": "a\x1b[2J"}, "cannot be printed"),
        ({"recode": {"a": ["1"], "b": ["1", "2"]}}, "in more than one group: '1'"),
        ({"recode": {str(k): [str(k)] for k in range(1001)}}, "at most 1,000"),
    ],
)
def test_impossible_groups_are_refused(settings, words):
    with pytest.raises(InvalidInputError, match=words):
        GroupVariable("r", **settings)


def test_one_value_may_stand_without_a_list():
    assert GroupVariable("r", {"a": "one", "b": ["two"]}).recode == {"a": ("one",), "b": ("two",)}


def test_many_recoded_values_are_compared_in_a_moment():
    """40,000 values took minutes: each was counted among all others."""
    values = [str(k) for k in range(40_000)]
    began = time.perf_counter()
    group = GroupVariable("r", {"low": values[:20_000], "high": values[20_000:]})
    assert time.perf_counter() - began < 2
    assert len(group.recode["high"]) == 20_000
