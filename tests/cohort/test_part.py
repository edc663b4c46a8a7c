import numpy as np
import pytest

from relprev.cohort.part import CohortPart
from relprev.errors import InvalidInputError
from relprev.matrix import Dense

ROWS = np.arange(6.0).reshape(3, 2)


def part(**changes):
    given = {
        "X": Dense(ROWS), "diagnosed": np.array([1, 0, 0], np.uint8),
        "groups": np.array([0, 1, 1], np.uint8), "group_names": ("a", "b"),
        "weights": np.array([1.0, 2.0, 3.0]),
    }  # fmt: skip
    return CohortPart(**(given | changes))


def test_joined_parts_hold_the_rows_one_after_another():
    whole = part()
    again = CohortPart.joined([whole.take(np.array([0])), whole.take(np.array([1, 2]))])
    np.testing.assert_array_equal(again.X.to_scipy(), ROWS)
    assert again.weights.tolist() == [1.0, 2.0, 3.0]
    assert again.group_labels.tolist() == ["a", "b", "b"]


def test_fields_that_are_unknown_stay_unknown():
    plain = part(weights=None)
    assert plain.fields == ("diagnosed", "groups")
    assert plain.take(np.array([2])).weights is None
    assert plain.row_weights.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("change", "words"), [
    ({"group_names": ("a", "a")}, "holds a name twice"),
    ({"group_names": ("a", "complement")}, "a group is named 'complement', .*rename the group"),
    ({"groups": np.array([0, 1, 2], np.uint8)}, r"positions in group_names \(0 to 1\), got 2"),
    ({"diagnosed": np.array([0, 2, 0], np.uint8)}, "diagnosed must be 0 or 1"),
    ({"psus": np.zeros(2, int)}, r"psus has shape \(2,\), expected \(3,\)"),
    ({"X": Dense(np.empty((0, 2)))}, "has 0 rows; check the inclusion rules"),
])  # fmt: skip
def test_parts_out_of_form_are_refused(change, words):
    with pytest.raises(InvalidInputError, match=words):
        part(**change)
