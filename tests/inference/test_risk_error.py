"""The risk's sampling error in the influence function: against formulas written out in full."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from relprev.inference import risk_error
from relprev.inference.risk_error import RiskShape, with_risk_error
from relprev.inference.score import ScoreData, row_scores, solve_score, tilted_propensity
from relprev.matrix import Dense, as_matrix
from relprev.model.likelihood import Problem


def rows(K=3, n=600, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    g = rng.integers(0, K, n).astype(np.uint8)
    sick = 1 / (1 + np.exp(1 - x @ [0.6, -0.4, 0.0]))
    s = (rng.random(n) < sick * np.linspace(0.3, 0.8, K)[g]).astype(float)
    pi = rng.dirichlet(np.full(K, 5.0), n)
    data = ScoreData.of(g, s, np.full(n, 1 / n), pi, 0.3 * sick)
    problem = Problem.of(Dense(x), s.astype(np.uint8), g, np.full(n, 1 / n), K)
    return data, problem, x, sick


@pytest.mark.parametrize("ridge", [(0.0, 0.0, 0.0), (0.01, 0.0, 0.3)])
@pytest.mark.parametrize("K", [2, 3])
def test_equals_the_sandwich_written_out(K, ridge, monkeypatch):
    monkeypatch.setattr(risk_error, "ACCURACY", 1e-9)
    data, problem, x, sick = rows(K)
    theta = np.linspace(0.0, 0.7, K)
    found = with_risk_error(data, problem, theta, RiskShape(np.array(ridge), 0.3), 10**12)
    part = data.in_memory()
    X = np.column_stack([x, np.ones(len(x))])
    p = part.risk * np.exp(theta)[part.g]
    dummies = (part.g[:, None] == np.arange(1, K)).astype(float)
    u = np.hstack([(1 - sick)[:, None] * X, dummies])
    information = (u * (p / (1 - p))[:, None]).T @ u / len(x)
    information += np.diag([*ridge, *np.zeros(K)])
    apart = (part.g[:, None] == np.arange(K)) - tilted_propensity(part.propensity, theta)
    slope = -(np.exp(theta)[part.g] * part.risk * (1 - sick))[:, None] * apart
    C = np.hstack([slope.T @ X / len(x), np.zeros((K, K - 1))])
    q = ((part.s - p) / (1 - p))[:, None] * u
    expected = q @ np.linalg.solve(information, C.T)
    np.testing.assert_allclose(found.in_memory().risk_error, expected, rtol=1e-5, atol=1e-9)


def test_C_is_the_derivative_of_the_score():
    data, problem, x, sick = rows()
    theta, shape = np.array([0.0, 0.3, 0.5]), RiskShape(np.zeros(3), 0.3)
    curved = problem.derive(risk_error._curved, theta, shape.rate, each=data.handles)
    right = curved.total(risk_error._sides, theta, each=data.handles)[0]
    part, step = data.in_memory(), 1e-6
    z = np.log(sick / (1 - sick))

    def mean_score(beta):
        risk = 0.3 / (1 + np.exp(-(z + x @ beta)))
        return row_scores(replace(part, risk=risk), theta).mean(axis=0)

    for j, unit in enumerate(np.eye(3)):
        slope = (mean_score(step * unit) - mean_score(-step * unit)) / (2 * step)
        np.testing.assert_allclose(right[:, j], slope, atol=1e-8)


def test_nothing_is_added_where_propensities_are_right():
    rng = np.random.default_rng(1)
    n = 40_000
    x = rng.normal(size=(n, 2))
    pi = 1 / (1 + np.exp(-x[:, 0]))
    g = (rng.random(n) < pi).astype(np.uint8)
    sick = 1 / (1 + np.exp(2 - x @ [0.5, 0.5]))
    s = (rng.random(n) < sick * 0.5).astype(float)
    data = ScoreData.of(g, s, np.full(n, 1 / n), np.column_stack([1 - pi, pi]), 0.5 * sick)
    problem = Problem.of(Dense(x), s.astype(np.uint8), g, np.full(n, 1 / n), 2)
    theta = solve_score(data)
    found = with_risk_error(data, problem, theta, RiskShape(np.zeros(2), 0.5), n).in_memory()
    own = row_scores(data.in_memory(), theta)
    assert found.risk_error[:, 1].std() < 0.05 * own[:, 1].std()


def test_features_without_a_coefficient_cannot_err():
    data, problem, *_ = rows()
    theta = np.zeros(3)
    some = RiskShape(np.array([0.0, np.inf, np.inf]), 0.3)
    curved = problem.derive(risk_error._curved, theta, some.rate, each=data.handles)
    solved = risk_error._solved(data, problem, curved, theta, some, 10**12)
    assert not solved[:, 1:3].any()
    assert solved[:, 0].any()


@pytest.mark.parametrize("K", [2, 5])
def test_products_over_several_chunks_are_those_of_the_formula(K):
    rng = np.random.default_rng(1)
    n, p = 20_000, 6
    x, g = rng.random((n, p)) < 0.3, rng.integers(0, K, n).astype(np.uint8)
    X, _ = as_matrix(csr_array(x.astype(float)))
    curved = risk_error.Curved(X, g, rng.random(n), rng.random(n) / n)
    direction = rng.normal(size=(K, p + 1 + K))
    dummies = (g[:, None] == np.arange(K)).astype(float)
    u = np.hstack([curved.h[:, None] * np.column_stack([x, np.ones(n)]), dummies])
    expected = direction @ (u.T @ (curved.kappa[:, None] * u))
    np.testing.assert_allclose(risk_error._product(curved, direction)[0], expected, rtol=1e-10)
