"""Normal scores, and curves made of them."""

import numpy as np
from scipy import stats

from relprev.matrix.curves import KNOTS, curve, normal_score


def test_normal_scores_of_a_normal_number_are_the_number():
    x = np.random.default_rng(0).normal(120, 15, 20_000)
    t = normal_score(0, x, len(x)).of(x)
    inner = np.abs(x - 120) < 30
    np.testing.assert_allclose(t[inner], (x[inner] - 120) / 15, atol=0.06)


def test_zeros_that_are_not_stored_count():
    x = np.array([1.0, 2.0])
    score = normal_score(3, x, 4)
    assert score.column == 3
    np.testing.assert_allclose(score.of(np.array([0.0, 1.0])), stats.norm.ppf([0.25, 0.625]))


def test_a_constant_has_no_score():
    assert normal_score(0, np.ones(5), 5) is None


def test_scores_beyond_the_values_go_on_and_stop():
    t = normal_score(0, np.arange(100.0), 100).of(np.array([-1e9, 1e9]))
    np.testing.assert_allclose(t, [-5, 5])


def test_a_curve_bends_at_its_knots():
    t = np.linspace(-3, 3, 601)
    columns = curve(t)
    assert columns.shape == (601, 2 + len(KNOTS))
    for k, knot in enumerate(KNOTS):
        assert (columns[t <= knot, 2 + k] == 0).all()
        np.testing.assert_allclose(np.diff(columns[t > knot + 0.01, 2 + k]), 0.01)
