"""The check of the two models: it speaks up when a model misses something, and else is silent."""

import numpy as np
import pytest

from relprev import DebiasedPURPLE
from relprev.checks import Verdict, check_models
from relprev.checks.models import ENOUGH_CASES
from relprev.errors import InvalidInputError
from relprev.simulate import gauss_synth
from tests.inference.test_adaptive import FAST, bent


def test_silent_about_adaptive_models():
    cohort, _ = bent(4000)
    found = check_models(DebiasedPURPLE(**FAST).fit(cohort), cohort)
    assert found.verdict is Verdict.NO_CONCERN
    assert list(found.table["model"]) == ["model of the groups", "model of the diagnoses"]


def test_speaks_up_where_propensities_are_kept_linear():
    cohort, _ = bent(4000)
    fitted = DebiasedPURPLE(propensity="ridge", **FAST).fit(cohort)
    found = check_models(fitted, cohort)
    assert found.verdict is Verdict.CONCERN
    assert found.table["z"][0] > 5
    assert "tell the groups apart better" in str(found.effect)


def test_named_linear_models_are_checked_too():
    cohort, _ = bent(4000)
    linear = DebiasedPURPLE(propensity="ridge", risk="purple", **FAST).fit(cohort)
    found = check_models(linear, cohort)
    assert found.verdict is Verdict.CONCERN
    assert set(found.table["fitted"]) == {"linear"}


def test_with_few_cases_it_cannot_tell():
    cohort = gauss_synth((0.05, 0.02), n=(1500, 2500), seed=1).cohort
    found = check_models(DebiasedPURPLE(**FAST).fit(cohort), cohort)
    assert cohort.diagnosed.sum() < ENOUGH_CASES
    assert found.verdict is Verdict.CANNOT_TELL
    assert "so few diagnosed" in str(found.effect)


def test_another_cohort_is_refused():
    cohort, _ = bent(1000)
    fitted = DebiasedPURPLE(**FAST).fit(cohort)
    with pytest.raises(InvalidInputError, match="not the one"):
        check_models(fitted, cohort.take(np.arange(900)))


def test_about_trees_it_cannot_tell():
    cohort, _ = bent(4000, seed=1)
    fitted = DebiasedPURPLE(**FAST).fit(cohort)
    fitted.propensity_model_ = "0.10 expanded + 0.90 trees"
    found = check_models(fitted, cohort)
    assert found.verdict is Verdict.CANNOT_TELL
    assert "can hardly be found by other trees" in str(found.effect)
