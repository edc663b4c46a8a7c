"""The test of constant diagnosis ratios."""

import warnings

import numpy as np
import pytest

from relprev.checks import check_constant_ratio
from relprev.checks.constant_ratio import _row
from relprev.checks.drift import DriftTest
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from tests.checks.conftest import FAST, make_cohort


@pytest.mark.parametrize("by", ["trend", "quintiles"])
def test_steady_ratio_is_no_concern(steady, by):
    found = check_constant_ratio(steady[2], by)
    assert found.verdict == "no concern"
    assert len(found.table) == {"trend": 1, "quintiles": 4}[by]


def test_few_cases_cannot_exclude_a_drift():
    fitted = DebiasedPURPLE(**FAST).fit(make_cohort(n=2000)[0])
    found = check_constant_ratio(fitted)
    assert found.verdict == "cannot tell"
    assert "neither found nor excluded" in str(found.effect)
    assert check_constant_ratio(fitted, margin=50.0).verdict == "no concern"


def test_drift_is_found_with_its_direction():
    cohort, _ = make_cohort(n=40_000, drift=0.5)
    found = check_constant_ratio(DebiasedPURPLE(**FAST, reference="b").fit(cohort))
    assert found.verdict == "concern"
    # a's rate rises with risk by exp(0.5) for each unit of log-odds.
    assert found.table.loc[0, "group"] == "a"
    assert found.table.loc[0, "ci_low"] > 1.2


def test_categories_are_compared_with_the_largest(steady):
    cohort, _, fitted = steady
    labels = np.where(np.arange(cohort.n) % 3 == 0, "rare", "common")
    found = check_constant_ratio(fitted, labels)
    assert found.table["where"].tolist() == ["rare versus common"]
    assert found.verdict == "no concern"


def test_risk_is_needed_for_a_trend():
    cohort, _ = make_cohort(n=3000)
    fitted = DebiasedPURPLE(risk=None, strengths=(3.0,)).fit(cohort)
    with pytest.raises(InvalidInputError, match="risk=None"):
        check_constant_ratio(fitted)


@pytest.mark.parametrize("by", ["deciles", np.arange(3), np.arange(20_000)])
def test_wrong_by_is_refused(steady, by):
    with pytest.raises(InvalidInputError, match="by"):
        check_constant_ratio(steady[2], by)


@pytest.mark.parametrize("length", [19_999, 20_001])
def test_categories_of_another_table_are_refused(steady, length):
    with pytest.raises(InvalidInputError, match=f"20,000 rows.*got {length:,}"):
        check_constant_ratio(steady[2], np.arange(length) % 3)


def test_categories_name_all_rows_given_to_fit_not_those_of_the_domain(steady):
    cohort, inside = steady[0], np.arange(20_000) < 15_000
    fitted = DebiasedPURPLE(risk=None, strengths=(3.0,)).fit(cohort, domain=inside)
    category = np.arange(20_000) % 3
    assert len(check_constant_ratio(fitted, category).table) == 2
    with pytest.raises(InvalidInputError, match="got 15,000"):
        check_constant_ratio(fitted, category[inside])


@pytest.mark.slow
def test_size_is_near_nominal():
    rejected = [
        check_constant_ratio(DebiasedPURPLE(**FAST).fit(make_cohort(n=8000, seed=seed)[0])).p_value
        < 0.05
        for seed in range(300)
    ]
    assert 0.02 < np.mean(rejected) < 0.085


def test_an_interval_without_end_is_no_warning():
    """It was NumPy's overflow, shown to the user."""
    found = DriftTest(np.array([0.0]), np.array([[1e6]]), 0.0, 1.0, 5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = _row("trend", "a", "b", found, 0, 4.0, 2.0)
    assert (row["ci_low"], row["drift"], row["ci_high"]) == (0.0, 1.0, np.inf)
