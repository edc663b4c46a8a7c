"""PURPLE with curves and products of features where rows held out prefer them."""

import numpy as np
import pytest
from scipy.special import expit

from relprev import PURPLE, as_cohort
from relprev.cohort import Cohort, write_parts
from relprev.errors import InvalidInputError
from tests.parts import cut


def world(seed: int, square: float, n: int = 8_000, shift: float = 0.0):
    """Two groups that differ in the variance of a feature; the risk has its square, or not."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 3)) * np.where(g[:, None] == 0, [1.6, 1.0, 1.0], 1.0)
    p = expit(-2.0 + 0.7 * x[:, 1] + square * (x[:, 0] ** 2 - 1))
    s = rng.random(n) < p * np.array([0.5, 0.9])[g]
    cohort = as_cohort(x + shift, s, groups=np.array(["a", "b"])[g])
    return cohort, float(p[g == 0].mean() / p[g == 1].mean())


def ratio(fitted, **options):
    return float(fitted.relative_prevalence("b", **options).to_frame()["estimate"].iloc[0])


@pytest.fixture(scope="module")
def curved():
    return world(1, square=0.8)


@pytest.fixture(scope="module")
def adaptive(curved):
    return PURPLE(learner="adaptive").fit(curved[0])


def test_a_square_that_the_linear_model_lacks_is_found(curved, adaptive):
    cohort, truth = curved
    assert ratio(PURPLE().fit(cohort)) < 0.7 * truth
    assert ratio(adaptive) == pytest.approx(truth, rel=0.1)
    assert adaptive.expansion_.n_added == 3 * 5 + 3
    assert len(adaptive.coef_) == 3 + adaptive.expansion_.n_added


def test_where_the_linear_model_is_right_it_is_mostly_kept_and_then_the_same():
    kept = 0
    for seed in range(5):
        cohort = world(seed, square=0.0, n=4_000)[0]
        linear, found = PURPLE().fit(cohort), PURPLE(learner="adaptive").fit(cohort)
        assert ratio(found) == pytest.approx(ratio(linear), rel=0.15)
        if found.expansion_ is None:
            kept += 1
            np.testing.assert_array_equal(found.coef_, linear.coef_)
            assert ratio(found) == ratio(linear)
    assert kept >= 3


def test_predictions_are_those_of_the_fit(curved, adaptive):
    cohort = curved[0]
    risk = adaptive.predict_condition(cohort.X)
    mean = [risk[cohort.groups == k].mean() for k in (0, 1)]
    assert mean[0] / mean[1] == pytest.approx(ratio(adaptive), rel=1e-12)
    assert ratio(adaptive, on=cohort) == pytest.approx(ratio(adaptive), rel=1e-12)
    expected = adaptive.predict_diagnosis(cohort.X, cohort.group_labels)
    assert expected.sum() == pytest.approx(cohort.diagnosed.sum(), rel=1e-3)


def test_features_far_from_zero_give_the_same(adaptive):
    moved = PURPLE(learner="adaptive").fit(world(1, square=0.8, shift=500.0)[0])
    assert moved.origin_ == pytest.approx([500.0] * 3, abs=0.1)
    assert ratio(moved) == pytest.approx(ratio(adaptive), rel=1e-3)
    here = moved.predict_condition(np.full((1, 3), 501.0))
    assert here == pytest.approx(adaptive.predict_condition(np.ones((1, 3))), rel=2e-2)


def test_in_parts_it_is_the_same(curved, adaptive, tmp_path):
    write_parts(cut(curved[0], 3_001), tmp_path / "visits")
    parts = Cohort.open(tmp_path / "visits")
    assert ratio(PURPLE(learner="adaptive").fit(parts)) == pytest.approx(ratio(adaptive), rel=1e-8)


@pytest.mark.parametrize("options", [{"lambdas": 1e-4}, {"selection": "auc"}])
def test_a_single_penalty_and_other_scores_do(curved, options):
    cohort, truth = curved
    assert ratio(PURPLE(learner="adaptive", **options).fit(cohort)) == pytest.approx(truth, rel=0.1)


def test_validation_rows_decide(curved):
    cohort, truth = curved
    fitted = PURPLE(learner="adaptive").fit(cohort, validation=world(2, square=0.8)[0])
    assert ratio(fitted) == pytest.approx(truth, rel=0.1)


def test_an_unknown_word_is_refused(curved):
    with pytest.raises(InvalidInputError, match="learner must be 'adaptive', a classifier or None"):
        PURPLE(learner="trees").fit(curved[0])
