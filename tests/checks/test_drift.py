"""The test that diagnosis rates do not drift."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from relprev.checks.drift import drift_test
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, solve_score
from relprev.messages import message_of


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


def test_a_fifth_without_cases_is_said_in_words(steady):
    _, _, fitted = steady
    data = fitted.score_data_
    nowhere = np.zeros((data.n, 1))
    with pytest.raises(TooFewCasesError, match="too few cases to test whether") as raised:
        drift_test(data, fitted.moments_.theta, fitted.design_, nowhere)
    assert message_of(raised.value) is not None


def test_more_comparisons_than_degrees_of_freedom_are_refused(steady):
    fitted = steady[2]
    data = fitted.score_data_
    four = SamplingDesign(np.arange(data.n) % 4, np.zeros(data.n, dtype=int))
    phi = np.random.default_rng(0).normal(size=(data.n, 3))
    with pytest.raises(InvalidInputError, match=r"3 comparisons.*only 3 degrees") as raised:
        drift_test(data, fitted.moments_.theta, four, phi)
    assert message_of(raised.value) is not None
