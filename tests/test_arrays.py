from __future__ import annotations

import numpy as np
import pytest

from relprev import arrays
from relprev.arrays import group_counts, group_sums, numbered


def test_groups_without_rows_have_zero():
    groups = np.array([2, 0, 2], np.uint8)
    assert group_sums(groups, np.array([1.0, 2.0, 3.0]), 4).tolist() == [2.0, 0.0, 4.0, 0.0]
    assert group_counts(groups, 4).tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize("values", [
    np.array([5, -3, 5, 0]), np.array([10**15, 1, 10**15]), np.arange(50) % 7,
    np.array([200, 201, 200], np.uint8),
])  # fmt: skip
def test_numbers_are_those_of_numpy(values, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK", 3)  # so that several blocks are counted
    distinct, inverse = np.unique(values, return_inverse=True)
    found, number = numbered(values)
    np.testing.assert_array_equal(found, distinct)
    np.testing.assert_array_equal(number, inverse)
    assert number.dtype == np.int32
