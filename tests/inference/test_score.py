"""The orthogonal score: values, derivatives, robustness, special cases."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from relprev.errors import TooFewCasesError
from relprev.inference.score import (
    ScoreData,
    ScorePart,
    cleaned_score_sums,
    mean_score,
    row_scores,
    score_sums,
    solve_score,
    tilted_propensity,
)


def random_data(n=500, K=3, seed=0, with_risk=True):
    rng = np.random.default_rng(seed)
    propensity = rng.dirichlet(np.full(K, 3.0), n)
    g = np.array([rng.choice(K, p=row) for row in propensity]).astype(np.uint8)
    s = (rng.random(n) < 0.3).astype(float)
    omega = rng.uniform(0.5, 2, n)
    risk = rng.uniform(0.1, 0.4, n) if with_risk else np.zeros(n)
    return ScoreData.of(g, s, omega / omega.sum(), propensity, risk, reference=1)


def population(K=3, cells=4, seed=0):
    """All (x, g, s) cells of a population, with exact probabilities as weights."""
    rng = np.random.default_rng(seed)
    px = rng.dirichlet(np.full(cells, 4.0))
    pi = rng.dirichlet(np.full(K, 3.0), cells)
    m = rng.uniform(0.1, 0.3, cells)
    theta = rng.normal(0, 0.5, K)
    theta[0] = 0.0
    x, g, s = (part.ravel() for part in np.meshgrid(range(cells), range(K), (0, 1), indexing="ij"))
    chance = m[x] * np.exp(theta[g])
    omega = px[x] * pi[x, g] * np.where(s == 1, chance, 1 - chance)
    return x, g.astype(np.uint8), s.astype(float), omega, pi, m, theta


def test_a_start_is_not_an_answer_without_risk_either():
    """The case-only score with other propensities was given back its start unsolved."""
    data = random_data(with_risk=False)
    np.testing.assert_allclose(
        solve_score(data, start=np.array([0.3, 0.0, -0.2])), solve_score(data), atol=1e-8
    )


def test_hand_computed_value():
    g, s = np.array([0, 1], np.uint8), np.array([1.0, 0.0])
    data = ScoreData.of(
        g, s, np.full(2, 0.5), np.array([[0.5, 0.5], [0.25, 0.75]]), np.full(2, 0.1)
    )
    theta = np.array([0.0, np.log(2.0)])
    # Row 0: pi* = (1/3, 2/3), residual 1 - 0.1. Row 1: pi* = (1/7, 6/7), residual -0.1 * 2.
    expected = np.array([[2 / 3 * 0.9, -2 / 3 * 0.9], [-1 / 7 * -0.2, 1 / 7 * -0.2]])
    np.testing.assert_allclose(row_scores(data.in_memory(), theta), expected)
    np.testing.assert_allclose(mean_score(data, theta)[0], expected.mean(axis=0))


@pytest.mark.parametrize("with_risk", [True, False])
def test_jacobian_agrees_with_finite_differences(with_risk):
    data = random_data(with_risk=with_risk)
    theta = np.array([0.3, -0.2, 0.5])
    _, slope = mean_score(data, theta)
    numeric = approx_fprime(theta, lambda t: mean_score(data, t)[0], 1e-7)
    np.testing.assert_allclose(slope, numeric, atol=1e-6)


def test_scores_sum_to_zero_over_groups():
    data = random_data()
    np.testing.assert_allclose(
        row_scores(data.in_memory(), np.array([0.1, 0.0, 0.4])).sum(axis=1), 0, atol=1e-12
    )


@pytest.mark.parametrize("wrong", ["neither", "risk", "propensity"])
def test_root_is_true_if_either_nuisance_is(wrong):
    x, g, s, omega, pi, m, theta = population()
    if wrong == "propensity":
        pi = np.roll(pi, 1, axis=0)
    if wrong == "risk":
        m = m[::-1] * 1.3
    found = solve_score(ScoreData.of(g, s, omega, pi[x], m[x]))
    np.testing.assert_allclose(found, theta, atol=1e-7)


def test_error_is_of_second_order_in_the_nuisances():
    """With both nuisances off by h, theta moves as h squared."""
    x, g, s, omega, pi, m, theta = population()
    rng = np.random.default_rng(1)
    in_pi, in_m = rng.normal(size=pi.shape), rng.normal(size=m.shape)

    def moved(h):
        wrong = pi * np.exp(h * in_pi)
        wrong /= wrong.sum(axis=1, keepdims=True)
        data = ScoreData.of(g, s, omega, wrong[x], (m * np.exp(h * in_m))[x])
        return np.abs(solve_score(data) - theta).max()

    assert moved(0.02) / moved(0.01) == pytest.approx(4.0, rel=0.1)


def test_mean_given_x_is_the_product_of_errors():
    x, g, s, omega, pi, m, theta = population()
    wrong_pi, wrong_m = np.roll(pi, 1, axis=0), m * 1.2
    scores = row_scores(ScorePart(g, s, omega, wrong_pi[x], wrong_m[x]), theta)
    T = pi @ np.exp(theta)
    expected = ((m - wrong_m) * T)[:, None] * (
        tilted_propensity(pi, theta) - tilted_propensity(wrong_pi, theta)
    )
    for cell in range(len(m)):
        inside = x == cell
        mean = omega[inside] @ scores[inside] / omega[inside].sum()
        np.testing.assert_allclose(mean, expected[cell], atol=1e-12)


def test_case_only_is_a_multinomial_logit_with_offset():
    data = random_data(with_risk=False)
    rows = data.in_memory()
    diagnosed = rows.s == 1
    g, weight, offset = rows.g[diagnosed], rows.omega[diagnosed], np.log(rows.propensity[diagnosed])

    def deviance(free):
        z = offset + np.array([free[0], 0.0, free[1]])
        return -weight @ (z[np.arange(len(g)), g] - np.log(np.exp(z).sum(axis=1)))

    oracle = minimize(deviance, np.zeros(2), method="BFGS", options={"gtol": 1e-10}).x
    np.testing.assert_allclose(solve_score(data)[[0, 2]], oracle, atol=1e-6)


def test_reference_group_does_not_matter():
    x, g, s, omega, pi, m, theta = population()
    one = solve_score(ScoreData.of(g, s, omega, pi[x], 1.1 * m[x], reference=0))
    # The risk is that of the reference group, so it changes with it.
    two = solve_score(ScoreData.of(g, s, omega, pi[x], 1.1 * m[x] * np.exp(theta[2]), reference=2))
    np.testing.assert_allclose(one - one[2], two, atol=1e-7)


def test_both_estimates_of_cases_are_equal():
    """The module's remark: borrowing all groups' cases changes nothing at the root."""
    data = random_data()
    theta, rows = solve_score(data), data.in_memory()
    rate, T = np.exp(theta), rows.propensity @ np.exp(theta)
    residual = rows.s - rows.risk * rate[rows.g]
    for group in range(3):
        inside = rows.g == group
        simple = rows.omega @ (inside * rows.s) / rate[group]
        borrowed = rows.omega @ (inside * rows.risk + rows.propensity[:, group] / T * residual)
        assert simple == pytest.approx(borrowed, rel=1e-8)


def test_groups_told_apart_completely_have_no_solution():
    g = np.repeat(np.array([0, 1], np.uint8), 50)
    s = np.tile([1.0, 0.0], 50)
    propensity = np.where(g[:, None] == np.arange(2), 1.0, 0.0)
    with pytest.raises(TooFewCasesError, match="apart"):
        solve_score(ScoreData.of(g, s, np.full(100, 0.01), propensity, np.full(100, 0.3)))


def sums_row_by_row(data, theta):
    """The module's formulas, written out: sums of U, (K,), and of its derivative, (K, K)."""
    K = data.n_groups
    value, slope = np.zeros(K), np.zeros((K, K))
    tilted = tilted_propensity(data.propensity, theta)
    for i, g in enumerate(data.g):
        e = data.risk[i] * np.exp(theta[g])
        away = (np.arange(K) == g) - tilted[i]
        value += data.omega[i] * (data.s[i] - e) * away
        slope[:, g] -= data.omega[i] * e * away
        product = np.diag(tilted[i]) - np.outer(tilted[i], tilted[i])
        slope -= data.omega[i] * (data.s[i] - e) * product
    return value, slope


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("with_risk", [True, False])
def test_sums_are_those_of_the_formula(K, with_risk):
    """For rows of more than one strip, and a group without rows in some of them."""
    data = random_data(n=2_500, K=K, with_risk=with_risk).in_memory()
    order = np.argsort(data.g == K - 1, kind="stable")
    data = data.take(order)
    theta = np.random.default_rng(1).normal(0, 0.5, (3, K))
    eps = np.random.default_rng(2).uniform(0, 0.15, (3, K))
    eps[0] = 0.0
    values, slopes = cleaned_score_sums(data, theta, eps)
    for k in range(3):
        risk = np.maximum(data.risk - eps[k, data.reference], 0.0)
        own = replace(data, s=data.s - eps[k][data.g], risk=risk)
        value, slope = sums_row_by_row(own, theta[k])
        np.testing.assert_allclose(values[k], value, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(slopes[k], slope, rtol=1e-11, atol=1e-13)
    for one, other in zip(score_sums(data, theta[0]), (values[0], slopes[0]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-14)
