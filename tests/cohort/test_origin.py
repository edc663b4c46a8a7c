"""Features far from zero are fitted about their mean; results are those of x as it came."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from relprev import PURPLE, DebiasedPURPLE, as_cohort
from relprev.checks import check_unconstrained
from relprev.cohort import Cohort, write_parts
from relprev.cohort.origin import about, origin_of
from tests.parts import cut

N = 6_000
UNITS = {"temperature": (37.0, 0.7), "pH": (7.4, 0.05), "year": (2015.0, 3.0)}


def world(unit=(0.0, 1.0), form=np.asarray):
    """A measurement in some unit, and three codes."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, N)
    z = rng.normal(size=N) + group
    p = 1 / (1 + np.exp(2 - 1.2 * z))
    s = (rng.random(N) < p) & (rng.random(N) < np.array([0.6, 0.3])[group])
    X = np.column_stack([unit[0] + unit[1] * z, rng.random((N, 3)) < 0.3])
    return {"X": form(X), "s": s.astype(int), "groups": np.array(["a", "b"])[group]}


def estimate(estimator, data):
    return estimator.fit(**data).relative_prevalence("b").to_frame()["estimate"].to_numpy()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize(
    "estimator", [PURPLE(0.0), DebiasedPURPLE(risk=None), DebiasedPURPLE(lambdas=1e-5)]
)
def test_units_do_not_matter(estimator, unit, form):
    expected = estimate(estimator, world())
    np.testing.assert_allclose(estimate(estimator, world(unit, form)), expected, rtol=5e-3)


def test_the_model_is_for_features_as_they_came():
    data = world(UNITS["year"])
    fitted = PURPLE(0.0).fit(**data)
    z = data["X"] @ fitted.coef_ + fitted.intercept_
    np.testing.assert_allclose(fitted.predict_condition(data["X"]), 1 / (1 + np.exp(-z)))
    centred = PURPLE(0.0).fit(**world())
    np.testing.assert_allclose(
        fitted.predict_condition(data["X"]), centred.predict_condition(world()["X"]), rtol=1e-2
    )


def test_rows_that_choose_the_penalty_are_moved_alike():
    for unit in ((0.0, 3.0), UNITS["year"]):
        whole = as_cohort(**world(unit))
        train, validation = whole.take(np.arange(4_000)), whole.take(np.arange(4_000, N))
        found = PURPLE().fit(train, validation=validation)
        if unit[0] == 0.0:
            expected = found
    assert found.lambda_ == expected.lambda_
    np.testing.assert_allclose(found.selection_["score"], expected.selection_["score"], rtol=1e-3)


def test_a_learner_gets_features_as_they_came():
    data = world(UNITS["year"])
    fitted = PURPLE(1e-3, learner=DecisionTreeClassifier(max_depth=3), em_iterations=50).fit(**data)
    used = fitted.learner_.tree_.feature == 0
    assert (fitted.learner_.tree_.threshold[used] > 1_900).all()


def test_the_unconstrained_model_is_moved_back():
    same, far = (
        check_unconstrained(as_cohort(**world(unit)), PURPLE(1e-5)).interval
        for unit in ((0.0, 3.0), UNITS["year"])
    )
    assert np.isfinite(same).all()
    assert far == pytest.approx(same, rel=1e-2)


def test_only_what_is_far_from_zero_and_varies_is_moved():
    rng = np.random.default_rng(0)
    X = np.column_stack([
        rng.normal(37, 1, 100), rng.normal(0, 1, 100), rng.random(100) < 0.9, np.full(100, 5.0),
        np.zeros(100),
    ])  # fmt: skip
    for form in (np.asarray, sp.csr_matrix):
        cohort = as_cohort(form(X), np.arange(100) % 2, groups=["a", "b"] * 50)
        origin = origin_of(cohort)
        np.testing.assert_allclose(origin, [X[:, 0].mean(), 0, 0, 0, 0])
        moved = about(cohort, origin).X
        rows = np.array([3, 1])
        w = rng.normal(size=5)
        np.testing.assert_allclose(moved.take(rows).matvec(w), (X[rows] - origin) @ w)
        back = moved.take(rows).to_scipy()
        np.testing.assert_allclose(back.toarray() if sp.issparse(back) else back, X[rows])


def test_codes_stay_where_they_are():
    X = sp.csr_matrix(np.ones((4, 2)))
    cohort = as_cohort(X, [1, 0, 1, 0], groups=["a", "b"] * 2)
    assert not origin_of(cohort).any()
    assert about(cohort, origin_of(cohort)) is cohort


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_parts_have_one_origin(form, tmp_path):
    cohort = as_cohort(**world(UNITS["year"], form))
    write_parts(cut(cohort, 1_700), tmp_path / "parts")
    parts = Cohort.open(tmp_path / "parts")
    np.testing.assert_allclose(origin_of(parts), origin_of(cohort), rtol=1e-12)
    for estimator in (PURPLE(1e-4), DebiasedPURPLE(lambdas=1e-4, strengths=[3.0])):
        expected = estimator.fit(cohort).relative_prevalence("b").to_frame()["estimate"]
        found = estimator.fit(parts).relative_prevalence("b").to_frame()["estimate"]
        np.testing.assert_allclose(found, expected, rtol=1e-8)
