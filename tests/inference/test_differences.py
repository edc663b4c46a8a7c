"""Ratios of ratios, heterogeneity and trend, by hand and against weighted least squares."""

import numpy as np
import pytest
from scipy import stats

from relprev.errors import InvalidInputError
from relprev.inference.differences import heterogeneity, ratio_of_ratios, trend

RATIOS, ERRORS, YEARS = [1.1, 1.4, 1.2, 2.0], [0.1, 0.2, 0.15, 0.3], [2015, 2016, 2018, 2019]


def test_a_ratio_of_ratios_has_the_sum_of_variances():
    found = ratio_of_ratios([1.2, 1.8], [0.3, 0.4])
    assert found.ratio == pytest.approx(1.5)
    assert np.log(found.ci_high / found.ratio) == pytest.approx(1.959964 * 0.5, rel=1e-6)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(np.log(1.5) / 0.5))


def test_degrees_of_freedom_are_those_of_welch():
    found = ratio_of_ratios([1.2, 1.8], [0.3, 0.4], degrees_of_freedom=[10, 20])
    df = 0.25**2 / (0.3**4 / 10 + 0.4**4 / 20)
    half = np.log(found.ci_high / found.ratio)
    assert half == pytest.approx(stats.t.ppf(0.975, df) * 0.5)


def test_two_ratios_are_tested_alike_by_both_ways():
    pair = [1.2, 1.8], [0.3, 0.4]
    assert heterogeneity(*pair).p_value == pytest.approx(ratio_of_ratios(*pair).p_value)


def test_trend_is_weighted_least_squares():
    found = trend(RATIOS, ERRORS, YEARS)
    w = 1 / np.array(ERRORS)
    slope, _ = np.polyfit(YEARS, np.log(RATIOS), 1, w=w)
    assert found.factor == pytest.approx(np.exp(slope))
    fitted = np.polyval(np.polyfit(YEARS, np.log(RATIOS), 1, w=w), YEARS)
    rest = np.sum(((np.log(RATIOS) - fitted) * w) ** 2)
    assert found.departure == pytest.approx(stats.chi2.sf(rest, 2))


def test_what_is_missing_is_left_out():
    more = ([*RATIOS, np.nan, 1.0], [*ERRORS, 0.1, np.nan])
    assert heterogeneity(*more) == heterogeneity(RATIOS, ERRORS)
    assert trend(*more, [*YEARS, 2020, 2021]) == trend(RATIOS, ERRORS, YEARS)
    assert np.isnan(heterogeneity([1.0], [0.1]).p_value)
    assert np.isnan(trend([1.0, 1.1], [0.1, 0.1], [1, 1]).factor)
    assert np.isnan(trend([1.0, 1.1], [0.1, 0.1], [1, 2]).departure)


def test_size_of_the_tests_is_as_stated():
    rng = np.random.default_rng(1)
    draws = np.exp(rng.normal(0.3, ERRORS, (4000, 4)))
    p = np.array([[heterogeneity(row, ERRORS).p_value, trend(row, ERRORS, YEARS).p_value]
                  for row in draws])  # fmt: skip
    assert np.abs((p < 0.05).mean(axis=0) - 0.05).max() < 0.012


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInputError, match="one number for each estimate"):
        trend(RATIOS, ERRORS, YEARS[:2])
