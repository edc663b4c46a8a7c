"""Rows and patients with a feature."""

import numpy as np
import pytest
import scipy.sparse as sp

from relprev import as_cohort
from relprev.checks.feature_counts import (
    feature_counts,
    feature_labels,
    numeric_features,
    patient_counts,
)

X = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 0.5], [3.0, 0.0]])


def make(matrix=X, **more):
    return as_cohort(matrix, [1, 0, 0, 1], groups=["a", "a", "b", "b"], **more)


@pytest.mark.parametrize("matrix", [X, sp.csr_array(X), sp.csr_array(X != 0).astype(float)])
def test_rows_where_a_feature_is_not_zero(matrix):
    cohort = make(matrix)
    assert feature_counts(cohort, np.ones(4)).tolist() == [3, 1]
    assert feature_counts(cohort, cohort.diagnosed).tolist() == [2, 0]


def test_a_patient_counts_once():
    cohort = make(clusters=[5, 5, 5, 9])
    found = patient_counts(cohort, np.array([1, 0]))
    assert found == {"patients": [1, 2], "patients_diagnosed": [0, 2]}


def test_patients_that_are_not_known_are_not_counted():
    assert patient_counts(make(), np.array([0])) == {}


def test_features_are_named_or_numbered():
    assert feature_labels(make()) == ["column 0", "column 1"]
    assert feature_labels(make(feature_names=["S00", "Z34"])) == ["S00", "Z34"]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_numbers_are_told_from_codes(kind):
    matrix = kind(np.array([[1.0, 0.5, 1.0], [0.0, 0.0, 2.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]))
    assert numeric_features(make(matrix)).tolist() == [False, True, True]
    assert not numeric_features(make(kind(np.eye(4)))).any()
