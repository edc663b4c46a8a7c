"""Absolute rates from an outside value."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from relprev.errors import DataWarning, InvalidInputError
from relprev.inference import DebiasedPURPLE, anchor
from relprev.simulate import gauss_synth


@pytest.fixture(scope="module")
def data():
    return gauss_synth((0.5, 0.2), n=(8000, 12_000), seed=4)


@pytest.fixture(scope="module")
def fitted(data):
    return DebiasedPURPLE(risk=None, strengths=(1.0,)).fit(data.cohort)


def test_true_rate_of_one_group_gives_the_other(data, fitted):
    table = anchor(fitted, "a", diagnosis_rate=0.5, interval=(0.48, 0.52)).set_index("group")
    p = data.condition_probability
    truth = [p[data.cohort.groups == k].mean() for k in (0, 1)]
    assert table.loc["b", "diagnosis_rate_low"] < 0.2 < table.loc["b", "diagnosis_rate_high"]
    for name, value in zip("ab", truth, strict=True):
        assert table.loc[name, "prevalence_low"] < value < table.loc[name, "prevalence_high"]


def test_prevalence_and_rate_anchors_agree(fitted):
    by_rate = anchor(fitted, "a", diagnosis_rate=0.5, interval=(0.5, 0.5)).set_index("group")
    prevalence = by_rate.loc["a", "prevalence"]
    by_prevalence = anchor(
        fitted, "a", prevalence=prevalence, interval=(prevalence, prevalence)
    ).set_index("group")
    np.testing.assert_allclose(by_rate["diagnosis_rate"], by_prevalence["diagnosis_rate"])
    np.testing.assert_allclose(by_rate["prevalence"], by_prevalence["prevalence"])


def test_exact_rate_leaves_its_own_group_without_uncertainty_in_the_rate(fitted):
    table = anchor(fitted, "a", diagnosis_rate=0.5, interval=(0.5, 0.5)).set_index("group")
    assert table.loc["a", "diagnosis_rate_low"] == pytest.approx(0.5)
    assert table.loc["b", "diagnosis_rate_low"] < table.loc["b", "diagnosis_rate"]


def test_ratio_of_prevalences_is_the_relative_prevalence(fitted):
    table = anchor(fitted, "b", prevalence=0.7, interval=(0.6, 0.8)).set_index("group")
    ratio = table.loc["a", "prevalence"] / table.loc["b", "prevalence"]
    assert ratio == pytest.approx(fitted.relative_prevalence("b").to_frame()["estimate"][0])


def test_uncertain_anchor_widens_everything(fitted):
    exact = anchor(fitted, "a", diagnosis_rate=0.5, interval=(0.5, 0.5))
    vague = anchor(fitted, "a", diagnosis_rate=0.5, interval=(0.4, 0.6))
    assert (vague["prevalence_high"] > exact["prevalence_high"]).all()


def test_impossible_anchor_warns(fitted):
    with pytest.warns(DataWarning, match="above 1 in a"):
        anchor(fitted, "b", diagnosis_rate=0.9, interval=(0.9, 0.9))


def test_impossible_prevalence_warns(fitted):
    """A diagnosis rate of 5% where more than 5% are recorded: more cases than patients."""
    with pytest.warns(DataWarning, match="implies a prevalence above 1 in a, b"):
        table = anchor(fitted, "a", diagnosis_rate=0.05, interval=(0.05, 0.05))
    assert (table["prevalence"] > 1).all()


def test_interval_that_reaches_above_one_warns(fitted):
    with pytest.warns(DataWarning, match="interval of the prevalence reaches above 1 in b"):
        table = anchor(fitted, "a", diagnosis_rate=0.5, interval=(0.2, 0.8))
    assert (table["prevalence"] < 1).all()


def test_few_informative_cases_widen_the_anchored_intervals(fitted):
    few = copy(fitted)
    few.moments_ = replace(fitted.moments_, information=fitted.moments_.information * 1e-2)
    cases = few.moments_.contrast(1, np.array([0])).effective_cases
    assert cases < 30
    wide, narrow = (
        anchor(found, "a", diagnosis_rate=0.5, interval=(0.5, 0.5)).set_index("group")
        for found in (few, fitted)
    )
    half = np.log(wide["diagnosis_rate_high"] / wide["diagnosis_rate"])
    error = fitted.moments_.covariance[-2:, -2:]
    theta = np.array([1.0, -1.0])
    expected = stats.t.ppf(0.975, cases) * np.sqrt(theta @ error @ theta)
    assert half["b"] == pytest.approx(expected)
    assert wide.loc["a"].tolist() == pytest.approx(narrow.loc["a"].tolist())


@pytest.mark.parametrize(
    "keywords",
    [{}, {"diagnosis_rate": 0.5}, {"diagnosis_rate": 0.5, "prevalence": 0.1, "interval": (0, 1)},
     {"prevalence": 0.5, "interval": (0.6, 0.7)}],
)  # fmt: skip
def test_no_absolute_rate_without_a_proper_anchor(fitted, keywords):
    with pytest.raises(InvalidInputError):
        anchor(fitted, "a", **keywords)
