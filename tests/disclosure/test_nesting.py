import numpy as np

from relprev.disclosure import nested_groups


def test_groups_of_the_same_visits_are_named_both_ways():
    one = np.array([0, 0, 1, 1])
    found = nested_groups({"a": one, "b": one}, {"a": ["x", "y"], "b": ["u", "v"]})
    assert set(found) == {
        ("a", "x", "b", "u"), ("a", "y", "b", "v"), ("b", "u", "a", "x"), ("b", "v", "a", "y"),
    }  # fmt: skip


def test_a_group_of_which_some_are_missing_in_the_other_is_not_inside():
    found = nested_groups(
        {"a": np.array([0, 0, 1]), "b": np.array([0, -1, 0])}, {"a": ["x", "y"], "b": ["u"]}
    )
    assert found == (("a", "y", "b", "u"),)
