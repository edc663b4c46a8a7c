"""Random effects: hand-computed values, an independent estimate, coverage of predictions."""

import numpy as np
import pytest
from scipy import stats

from relprev.controls import RandomEffects
from relprev.errors import InvalidInputError


def test_equal_variances_have_a_closed_form():
    e, v = np.array([0.1, 0.5, -0.2, 0.6]), 0.01
    found = RandomEffects.of(e, np.full(4, v))
    total = 3 * e.var(ddof=1) / stats.chi2.median(3)
    assert found.mean == pytest.approx(e.mean())
    assert found.spread**2 == pytest.approx(total - v)
    assert found.mean_variance == pytest.approx(total / 4)


def test_the_sum_of_squares_is_at_its_median():
    rng = np.random.default_rng(1)
    v = rng.uniform(0.01, 0.1, 12)
    e = rng.normal(0.2, np.sqrt(0.3**2 + v))
    found = RandomEffects.of(e, v)
    weight = 1 / (v + found.spread**2)
    assert weight @ (e - found.mean) ** 2 == pytest.approx(stats.chi2.median(11))


def test_errors_closer_than_chance_have_no_spread():
    found = RandomEffects.of([0.10, 0.11, 0.09], [0.04, 0.04, 0.04])
    assert found.spread == 0
    assert found.mean_variance == pytest.approx(0.04 / 3)  # not Hartung and Knapp's smaller one


def test_a_precise_spreadless_mean_leaves_the_own_interval():
    e, v = np.zeros(200), np.full(200, 0.01)
    found = RandomEffects.of(e, v)
    low, high = found.predicted(1.0, np.inf, 0.95)
    assert (low, high) == pytest.approx((-1.96, 1.96), abs=0.01)


@pytest.mark.parametrize(("spread", "count"), [(0.0, 10), (0.1, 10), (0.3, 10), (0.3, 30)])
def test_predictions_hold_a_further_error(spread, count):
    rng = np.random.default_rng([7, count, int(10 * spread)])
    held, worlds = 0, 2000
    for _ in range(worlds):
        v = rng.uniform(0.04, 0.15, count + 1) ** 2
        e = rng.normal(0.1, np.sqrt(spread**2 + v))
        low, high = RandomEffects.of(e[1:], v[1:]).predicted(v[0], np.inf, 0.95)
        held += low <= e[0] <= high
    assert 0.925 <= held / worlds <= 0.98


@pytest.mark.parametrize(
    ("errors", "variances"), [([0.1], [0.1]), ([0.1, 0.2], [0.1]), ([0.1, np.nan], [1, 1]),
                              ([0.1, 0.2], [0.1, 0.0])],
)  # fmt: skip
def test_bad_input_is_refused(errors, variances):
    with pytest.raises(InvalidInputError, match="errors"):
        RandomEffects.of(errors, variances)
