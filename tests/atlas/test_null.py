"""The empirical null: centre and spread in spite of conditions that differ."""

import numpy as np
import pytest

from relprev.atlas import empirical_null


def drawn(spread, n=2_000, centre=0.1, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.02, 0.3, n)
    return rng.normal(centre, np.hypot(spread, s)), s


@pytest.mark.parametrize("spread", [0.05, 0.2, 0.4])
def test_centre_and_spread_are_recovered(spread):
    x, s = drawn(spread)
    x[:100] += 2.0  # one in twenty differs
    null = empirical_null(x, s)
    assert null.mean == pytest.approx(0.1, abs=0.1 * spread + 0.02)
    assert null.spread == pytest.approx(spread, rel=0.12)


def test_conditions_far_out_weigh_the_same_however_far():
    x, s = drawn(0.2)
    near, far = x.copy(), x.copy()
    near[:100], far[:100] = 3.0, 3_000.0
    assert empirical_null(near, s).spread == pytest.approx(empirical_null(far, s).spread, rel=1e-4)
    assert empirical_null(near, s).mean == pytest.approx(empirical_null(far, s).mean, abs=1e-4)


@pytest.mark.parametrize("count", [0, 100, 300, 500])
def test_conditions_that_differ_hardly_move_the_spread(count):
    x, s = drawn(0.2)
    x[:count] += 1.5 * (-1.0) ** np.arange(count)
    assert empirical_null(x, s).spread == pytest.approx(0.2, rel=0.1)


def test_more_than_three_in_ten_that_differ_make_it_wider():
    x, s = drawn(0.2)
    x[:1_000] += 1.5 * (-1.0) ** np.arange(1_000)
    assert empirical_null(x, s).spread > 0.25


def test_where_none_differs_the_spread_is_right_on_average():
    """A fixed share of one in twenty made it a sixth too small, and discoveries false."""
    spreads = [empirical_null(*drawn(0.1, n=300, seed=seed)).spread for seed in range(40)]
    assert np.mean(spreads) == pytest.approx(0.1, rel=0.06)


def test_degrees_of_freedom_are_those_of_repeated_draws():
    nulls = [empirical_null(*drawn(0.3, n=200, seed=seed)) for seed in range(300)]
    variances = np.array([null.spread**2 for null in nulls])
    expected = np.mean([null.freedom for null in nulls])
    # var(tau^2) = 2 tau^4 / freedom; the share is zero in some draws, which then have more
    assert 0.9 < 2 * variances.mean() ** 2 / variances.var() / expected < 1.6


def test_chance_alone_has_no_spread():
    x, s = drawn(0.0, n=300)
    assert empirical_null(x, s).spread < 0.03


def test_scale_and_place_are_those_of_the_data():
    x, s = drawn(0.2, n=300)
    one, two = empirical_null(x, s), empirical_null(3 * x + 1, 3 * s)
    assert two.mean == pytest.approx(3 * one.mean + 1, abs=1e-4)
    assert two.spread == pytest.approx(3 * one.spread, rel=1e-3)


def test_variance_of_the_centre_is_that_of_repeated_draws():
    centres = [empirical_null(*drawn(0.2, n=100, seed=seed)) for seed in range(300)]
    expected = np.mean([null.mean_variance for null in centres])
    assert np.var([null.mean for null in centres]) == pytest.approx(expected, rel=0.25)


def test_few_conditions_have_no_null():
    assert empirical_null(np.zeros(19), np.ones(19)) is None
