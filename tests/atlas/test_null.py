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


def test_more_that_differ_make_it_wider_never_narrower():
    x, s = drawn(0.2)
    spreads = []
    for count in (0, 100, 300, 500):
        more = x.copy()
        more[:count] += 1.5 * (-1.0) ** np.arange(count)
        spreads.append(empirical_null(more, s).spread)
    assert spreads == sorted(spreads)
    assert spreads[0] > 0.87 * 0.2


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
