import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from relprev import as_cohort
from relprev.baselines import Negative, Observed
from relprev.errors import DataWarning


def sample(cases=40):
    rng = np.random.default_rng(0)
    s = np.zeros(400, dtype=int)
    s[:cases], s[200:230] = 1, 1
    X = rng.normal(s[:, None], 1.0, (400, 2))
    return X, s, np.repeat(["a", "b"], 200)


def test_a_classifier_that_sees_nothing_gives_the_recorded_ratio():
    X, s, groups = sample()
    guess = Negative(DummyClassifier()).fit(X, s, groups=groups)
    recorded = Observed().fit(X, s, groups=groups)
    found, expected = (one.relative_prevalence("b").to_frame() for one in (guess, recorded))
    assert found["estimate"][0] == pytest.approx(expected["estimate"][0], rel=1e-9)


def test_predictions_average_to_the_recorded_share():
    X, s, groups = sample()
    found = Negative().fit(as_cohort(X, s, groups=groups)).relative_prevalence("b").to_frame()
    assert found["estimate"][0] == pytest.approx(40 / 30, rel=0.05)


def test_a_group_with_too_few_cases_for_the_folds_gets_no_estimate():
    X, s, groups = sample(cases=4)
    with pytest.warns(DataWarning, match="group 'a' gets no estimate"):
        fitted = Negative().fit(X, s, groups=groups)
    assert np.isnan(fitted.relative_prevalence("b").to_frame()["estimate"][0])
