from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier

from relprev import as_cohort
from relprev.baselines import Negative
from relprev.baselines.scores import out_of_fold
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError


class Memory(ClassifierMixin, BaseEstimator):
    """Says 1 for rows whose first feature it has seen, 0 for others."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Memory:
        self.classes_ = np.array([0, 1])
        self.seen_ = set(X[:, 0])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        known = np.array([float(value in self.seen_) for value in X[:, 0]])
        return np.column_stack([1 - known, known])


@pytest.fixture
def cohort() -> Cohort:
    """Patients of two rows each; the first feature is the patient."""
    patient = np.repeat(np.arange(60), 2)
    X = np.column_stack([patient, np.ones(120)]).astype(float)
    return as_cohort(X, np.arange(120) % 3 == 0, groups=["a", "b"] * 60, clusters=patient)


def test_no_row_is_scored_by_a_model_that_saw_its_patient(cohort: Cohort) -> None:
    assert out_of_fold(Memory(), cohort, 5, 0).max() < 0.5


def test_without_patients_rows_are_split(cohort: Cohort) -> None:
    loose = as_cohort(cohort.X, cohort.diagnosed, groups=cohort.group_labels)
    assert out_of_fold(Memory(), loose, 5, 0).max() > 0.5


def test_one_fold_is_refused(cohort: Cohort) -> None:
    with pytest.raises(InvalidInputError, match="folds must be at least 2, got 1"):
        out_of_fold(None, cohort, 1, 0)


def test_classifier_that_takes_no_weights_is_refused_with_weights(gauss) -> None:
    data = gauss.cohort
    weighted = as_cohort(
        data.X, data.diagnosed, groups=data.group_labels, sample_weight=np.ones(data.n)
    )
    with pytest.raises(
        InvalidInputError, match="KNeighborsClassifier does not accept sample_weight"
    ):
        Negative(KNeighborsClassifier()).fit(weighted)


def test_balanced_weights_make_both_kinds_weigh_the_same() -> None:
    seen = []

    class Weighing(Memory):
        def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> Memory:
            seen.append((sample_weight[y == 1].sum(), sample_weight[y == 0].sum()))
            return super().fit(X, y)

    X = np.arange(400.0)[:, None]
    cohort = as_cohort(X, np.arange(400) % 4 == 0, groups=["a", "b"] * 200)
    out_of_fold(Weighing(), cohort, 5, 0, balanced=True)
    for diagnosed, others in seen:
        assert diagnosed == pytest.approx(others, rel=0.1)
