import dataclasses

import numpy as np
import pytest

from relprev import Cohort
from relprev.errors import InvalidInputError
from relprev.matrix import Dense


def _cohort(**changes):
    parts = {
        "X": Dense(np.arange(8.0).reshape(4, 2)),
        "diagnosed": np.array([1, 0, 0, 1], np.uint8),
        "groups": np.array([0, 0, 1, 1], np.uint8),
        "group_names": ("a", "b"),
    }
    return Cohort.of(**(parts | changes))


def test_cohort_cannot_be_changed():
    cohort = _cohort(weights=np.ones(4))
    with pytest.raises(dataclasses.FrozenInstanceError):
        cohort.weights = None
    with pytest.raises(ValueError, match="read-only"):
        cohort.diagnosed[0] = 0


def test_callers_arrays_stay_writable():
    s = np.array([1, 0, 0, 1], np.uint8)
    _cohort(diagnosed=s)
    s[0] = 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"diagnosed": np.zeros(3, np.uint8)}, r"diagnosed has shape \(3,\), expected \(4,\)"),
        ({"weights": np.ones(5)}, "weights has shape"),
        ({"feature_names": ("x",)}, "1 names, X has 2 columns"),
        ({"group_names": ("a", "a")}, "a name twice"),
        ({"group_names": ("a", "complement")}, "'complement'.*rename"),
        ({"group_names": ("pairwise", "a")}, "'pairwise'.*rename"),
        ({"group_names": ("a",)}, r"positions in group_names \(0 to 0\), got 1"),
        ({"diagnosed": np.full(4, 2, np.uint8)}, "must be 0 or 1"),
        ({"X": Dense(np.empty((0, 2)))}, "0 rows"),
    ],
)
def test_inconsistent_parts_are_refused(change, message):
    with pytest.raises(InvalidInputError, match=message):
        _cohort(**change)


def test_taken_rows_keep_all_groups_and_all_fields():
    cohort = _cohort(weights=np.arange(1.0, 5), ids=np.array(["p", "q", "r", "s"]))
    part = cohort.take(np.array([True, False, False, False]))
    assert part.group_names == ("a", "b")
    assert part.weights.tolist() == [1.0]
    assert part.ids.tolist() == ["p"]


def test_repr_tells_size_and_groups_but_no_identifier():
    text = repr(_cohort(ids=np.array(["secret"] * 4), clusters=np.arange(4)))
    assert text == "<Cohort of 4 visits x 2 features, groups a, b, with clusters>"
