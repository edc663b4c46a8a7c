"""Arrays and frames become a cohort, or are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from relprev import as_cohort
from relprev.errors import InvalidInputError


@pytest.mark.parametrize(
    "groups",
    [
        ["b", "a", "a", "b"],
        np.array(["b", "a", "a", "b"]),
        pd.Series(["b", "a", "a", "b"], index=[9, 8, 7, 6]),
        pl.Series(["b", "a", "a", "b"]),
    ],
)
def test_groups_of_any_kind_are_sorted_by_name(groups):
    cohort = as_cohort(np.eye(4), [1, 0, 1, 0], groups=groups)
    assert cohort.group_names == ("a", "b")
    assert cohort.groups.tolist() == [1, 0, 0, 1]


def test_order_of_a_categorical_is_kept():
    groups = pd.Categorical(["low", "high", "low", "high"], categories=["low", "high", "unused"])
    cohort = as_cohort(np.eye(4), [1, 0, 1, 0], groups=groups)
    assert cohort.group_names == ("low", "high")


def test_groups_that_print_alike_are_refused():
    with pytest.raises(InvalidInputError, match="print alike"):
        as_cohort(np.eye(4), [1, 0, 1, 0], groups=np.array([1, "1", 1, "1"], dtype=object))


def test_more_than_256_groups_fit():
    g = np.repeat(np.arange(300), 2)
    cohort = as_cohort(np.ones((600, 1)), np.arange(600) % 2, groups=g)
    assert cohort.groups.dtype == np.uint16
    assert cohort.group_labels[599] == cohort.group_names[cohort.groups[599]]


def test_clusters_become_numbers_and_their_labels_are_not_kept():
    cohort = as_cohort(
        np.eye(4), [1, 0, 1, 0], groups=list("aabb"), clusters=["p9", "p9", "p1", "p7"]
    )
    assert cohort.clusters.tolist() == [0, 0, 1, 2]


def test_the_condition_is_no_control_of_itself():
    X, s, groups = [[1.0], [0.0], [1.0], [0.0]], [1, 0, 1, 0], ["a", "a", "b", "b"]
    other = [0, 1, 1, 0]
    assert as_cohort(X, s, groups=groups, controls={"hip": other}).control_names == ("hip",)
    with pytest.raises(InvalidInputError, match=r"controls\['it'\] is the recorded diagnosis s"):
        as_cohort(X, s, groups=groups, controls={"hip": other, "it": s})
