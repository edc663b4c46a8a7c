import numpy as np
import pytest

from relprev.simulate.truth import Truth, no_difference

TRUTH = Truth(("1", "2", "3"), np.array([0.1, 0.2, 0.4]), np.array([2.0, 1.0, 1.0]))


def test_values_are_compared_with_the_others_among_them():
    assert TRUTH.relative_prevalence(["1", "2"]) == pytest.approx([0.5, 2.0])
    others = (2 * 0.1 + 1 * 0.2) / 3
    assert TRUTH.relative_prevalence(["3", "2", "1"])[0] == pytest.approx(0.4 / others)


def test_the_table_compares_with_everybody():
    table = TRUTH.to_frame().set_index("value")["relative_prevalence"]
    assert table["3"] / table["1"] == pytest.approx(4.0)
    assert (table.to_numpy() * [2, 1, 1]).sum() == pytest.approx(4.0)


def test_a_variable_drawn_at_random_has_no_differences():
    assert no_difference(["x", "y"], TRUTH).relative_prevalence(["x", "y"]).tolist() == [1.0, 1.0]
