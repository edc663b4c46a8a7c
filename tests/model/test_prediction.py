"""What a fitted model is asked about has the features and groups of its fit."""

import numpy as np
import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.model.prediction import checked_matrix, group_numbers
from relprev.simulate import gauss_synth


def test_a_cohort_stands_for_its_features():
    cohort = gauss_synth(n=(20, 30), seed=1).cohort
    assert checked_matrix(cohort, cohort.n_cols, None) is cohort.X


def test_another_number_of_features_is_refused():
    with pytest.raises(InvalidInputError, match="X has 2 features, expected 3 as in fit"):
        checked_matrix(np.zeros((4, 2)), 3, None)


@pytest.mark.parametrize("columns", [["b", "a"], ["a", "c"]])
def test_other_names_or_another_order_are_refused(columns):
    frame = pd.DataFrame(np.zeros((4, 2)), columns=columns)
    with pytest.raises(InvalidInputError, match="give the same columns"):
        checked_matrix(frame, 2, ["a", "b"])


def test_groups_are_numbered_as_in_fit_whatever_comes_first():
    assert group_numbers(np.array(["c", "a", "c"]), ("a", "b", "c"), 3).tolist() == [2, 0, 2]


def test_groups_of_another_length_or_unknown_are_refused():
    with pytest.raises(InvalidInputError, match="groups has 2 values, X has 3 rows"):
        group_numbers(["a", "b"], ("a", "b"), 3)
    with pytest.raises(InvalidInputError, match=r"groups must be among .*, got \['z'\]"):
        group_numbers(["a", "z"], ("a", "b"), 2)
