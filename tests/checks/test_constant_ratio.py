"""The test of constant diagnosis ratios."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from relprev.checks import check_constant_ratio
from relprev.checks.constant_ratio import drift_test
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.inference import DebiasedPURPLE
from relprev.inference.score import ScoreData, solve_score
from tests.checks.conftest import FAST, make_cohort


@pytest.mark.parametrize("by", ["trend", "quintiles"])
def test_steady_ratio_is_no_concern(steady, by):
    found = check_constant_ratio(steady[2], by)
    assert found.verdict == "no concern"
    assert len(found.table) == {"trend": 1, "quintiles": 4}[by]


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


def test_drift_step_is_newtons():
    """With m = 0 the model theta + delta phi has a likelihood; one step from its null."""
    rng = np.random.default_rng(0)
    n = 4000
    x = rng.normal(size=n)
    pi = 1 / (1 + np.exp(-x))
    g = (rng.random(n) < pi).astype(np.uint8)
    s = (rng.random(n) < 0.3 * np.exp(0.1 * g * x)).astype(float)
    propensity = np.column_stack([1 - pi, pi])
    data = ScoreData.of(g, s, np.full(n, 1 / n), propensity, np.zeros(n))
    theta = solve_score(data)

    def gradient(v):
        tilt = propensity * np.exp(np.outer(np.ones(n), [0, v[0]]) + np.outer(x, [0, v[1]]))
        away = s * ((g == 1) - tilt[:, 1] / tilt.sum(axis=1))
        return np.array([away.mean(), (away * x).mean()])

    start = np.array([theta[1], 0.0])
    step = -np.linalg.solve(approx_fprime(start, gradient, 1e-6), gradient(start))
    from relprev.inference.sampling import SamplingDesign

    design = SamplingDesign(np.arange(n), np.zeros(n, dtype=int))
    found = drift_test(data, theta, design, x[:, None])
    assert found.drift[0] == pytest.approx(step[1], rel=1e-4)


def test_adding_a_constant_to_phi_changes_nothing(steady):
    fitted = steady[2]
    data, theta = fitted.score_data_, fitted.moments_.theta
    phi = np.log(data.in_memory().risk)[:, None]
    one = drift_test(data, theta, fitted.design_, phi)
    two = drift_test(data, theta, fitted.design_, phi + 5.0)
    assert one.statistic == pytest.approx(two.statistic, rel=1e-6)
    assert one.drift == pytest.approx(two.drift, rel=1e-6)


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


def test_a_fifth_without_cases_is_said_in_words(steady):
    _, _, fitted = steady
    data = fitted.score_data_
    nowhere = np.zeros((data.n, 1))
    with pytest.raises(TooFewCasesError, match="too few cases to see whether"):
        drift_test(data, fitted.moments_.theta, fitted.design_, nowhere)
