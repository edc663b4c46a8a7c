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


def test_ratios_without_a_standard_error_have_a_ratio_only():
    found = ratio_of_ratios([1.2, 1.8], [0.3, np.nan])
    assert found.ratio == pytest.approx(1.5)
    assert np.isnan([found.ci_low, found.ci_high, found.p_value]).all()
    exact = ratio_of_ratios([1.2, 1.8], [0.0, 0.0])
    assert exact.ci_low == exact.ci_high == exact.ratio
    assert np.isnan(exact.p_value)


def test_degrees_of_freedom_are_those_of_welch():
    found = ratio_of_ratios([1.2, 1.8], [0.3, 0.4], degrees_of_freedom=[10, 20])
    df = 0.25**2 / (0.3**4 / 10 + 0.4**4 / 20)
    half = np.log(found.ci_high / found.ratio)
    assert half == pytest.approx(stats.t.ppf(0.975, df) * 0.5)


def test_two_ratios_are_tested_alike_by_both_ways():
    pair = [1.2, 1.8], [0.3, 0.4]
    assert heterogeneity(*pair).p_value == pytest.approx(ratio_of_ratios(*pair).p_value)


def test_two_ratios_have_one_interval_and_one_test():
    """The change from one year to the next is the ratio of the two: ends were 1.49 and 1.48."""
    pair, freedom = ([1.2, 1.8], [0.3, 0.4]), {"degrees_of_freedom": [10, 20]}
    ratio, line = ratio_of_ratios(*pair, **freedom), trend(*pair, [2018, 2019], **freedom)
    assert [line.factor, line.ci_low, line.ci_high] == pytest.approx(
        [ratio.ratio, ratio.ci_low, ratio.ci_high]
    )
    assert line.p_value == pytest.approx(ratio.p_value)
    assert heterogeneity(*pair, **freedom).p_value == pytest.approx(ratio.p_value)


def test_heterogeneity_is_welchs_analysis_of_variance():
    """Against R: oneway.test(x ~ g) on 1:4, c(2, 5, 9), c(1, 1.5, 7, 8, 9)."""
    samples = [np.array([1.0, 2, 3, 4]), np.array([2.0, 5, 9]), np.array([1, 1.5, 7, 8, 9])]
    errors = [np.sqrt(one.var(ddof=1) / len(one)) for one in samples]
    means, freedom = [one.mean() for one in samples], [len(one) - 1 for one in samples]
    found = heterogeneity(np.exp(means), errors, degrees_of_freedom=freedom)
    w = 1 / np.square(errors)
    off = np.sum((1 - w / w.sum()) ** 2 / freedom)
    between = np.sum(w * (means - np.average(means, weights=w)) ** 2) / 2
    F = between / (1 + 2 / 8 * off)
    assert found.p_value == pytest.approx(stats.f.sf(F, 2, 8 / (3 * off)))


def test_estimated_standard_errors_keep_the_size_of_the_tests():
    """With ten degrees of freedom each, tests that took them for infinite rejected in 8 to 9%."""
    rng, freedom = np.random.default_rng(2), {"degrees_of_freedom": 10}
    draws = np.exp(rng.normal(0.3, ERRORS, (4000, 4)))
    errors = ERRORS * np.sqrt(rng.chisquare(10, (4000, 4)) / 10)
    p = np.array([
        [heterogeneity(x, e, **freedom).p_value, (line := trend(x, e, YEARS, **freedom)).p_value,
         line.departure] for x, e in zip(draws, errors, strict=True)
    ])  # fmt: skip
    assert np.abs((p < 0.05).mean(axis=0) - 0.05).max() < 0.012


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
