import numpy as np
import pytest

from relprev.cohort import as_cohort
from relprev.cohort.alignment import aligned
from relprev.errors import InvalidInputError


@pytest.fixture
def cohort():
    return as_cohort(np.eye(4), [1, 0, 1, 0], groups=["b", "a", "b", "c"])


def test_groups_come_in_the_order_asked_for_and_rows_stay(cohort):
    found = aligned(cohort, ("c", "b", "a"), 4, "validation")
    assert found.group_names == ("c", "b", "a")
    assert found.group_labels.tolist() == ["b", "a", "b", "c"]
    assert found.diagnosed.tolist() == [1, 0, 1, 0]


def test_a_cohort_in_the_right_order_is_left_alone(cohort):
    assert aligned(cohort, ("a", "b", "c"), 4, "on") is cohort


@pytest.mark.parametrize(
    ("names", "width", "words"),
    [
        (("a", "b"), 4, "the groups of on differ from those in fit"),
        (("a", "b", "c", "d"), 4, "the groups of on differ from those in fit"),
        (("a", "b", "c"), 5, "on has 4 features, expected 5 as in fit"),
    ],
)
def test_other_groups_and_features_are_refused(cohort, names, width, words):
    with pytest.raises(InvalidInputError, match=words):
        aligned(cohort, names, width, "on")
