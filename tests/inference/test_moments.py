"""Influence functions and the delta method, by reweighting rows and finite differences."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from relprev.inference.moments import (
    GroupMoments,
    case_information,
    group_moments,
    influence_functions,
)
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, solve_score

CONTRASTS = [(0, [1]), (2, [0]), (1, [0, 2])]


def random_data(n=500, K=3, seed=0, with_risk=True):
    rng = np.random.default_rng(seed)
    propensity = rng.dirichlet(np.full(K, 3.0), n)
    g = np.array([rng.choice(K, p=row) for row in propensity]).astype(np.uint8)
    s = (rng.random(n) < 0.3).astype(float)
    omega = rng.uniform(0.5, 2, n)
    risk = rng.uniform(0.1, 0.4, n) if with_risk else np.zeros(n)
    return ScoreData.of(g, s, omega / omega.sum(), propensity, risk, reference=1)


def rows_design(data):
    n = data.n
    return SamplingDesign(np.arange(n), np.zeros(n, dtype=int))


def moments_of(data):
    return group_moments(data, solve_score(data), ("a", "b", "c"), rows_design(data))


@pytest.mark.parametrize(("group", "others"), CONTRASTS)
@pytest.mark.parametrize("with_risk", [True, False])
def test_influence_is_the_effect_of_a_little_more_weight(group, others, with_risk):
    """More weight h on row i moves every log ratio by h times the row's influence."""
    data = random_data(with_risk=with_risk)
    contrast = moments_of(data).contrast(group, np.array(others))
    columns = np.column_stack(list(influence_functions(data, solve_score(data))))
    influence = columns @ contrast.gradient.T
    h = 1e-4
    rows = data.in_memory()
    for row in (0, 1, 2, 3, int(np.argmax(rows.s)), 77):
        omega = rows.omega.copy()
        omega[row] *= 1 + h
        heavier = ScoreData.of(rows.g, rows.s, omega / omega.sum(), rows.propensity, rows.risk, 1)
        moved = moments_of(heavier).contrast(group, np.array(others)).values - contrast.values
        np.testing.assert_allclose(moved / h, influence[row], atol=2e-6)


@pytest.mark.parametrize(("group", "others"), CONTRASTS)
def test_gradients_agree_with_finite_differences(group, others):
    rng = np.random.default_rng(0)
    point = rng.normal(size=9)

    def values(v):
        moments = GroupMoments(
            ("a", "b", "c"), v[:3], v[3:6], v[6:], np.eye(9), np.eye(3), np.ones(3), 10
        )
        return moments.contrast(group, np.array(others))

    numeric = approx_fprime(point, lambda v: values(v).values, 1e-7)
    np.testing.assert_allclose(values(point).gradient, numeric, atol=1e-6)


def test_recorded_equals_corrected_times_diagnosis_ratio():
    contrast = moments_of(random_data()).contrast(1, np.array([0, 2]))
    corrected, recorded, diagnosis = contrast.values
    assert recorded == pytest.approx(corrected + diagnosis)


def test_effective_cases_of_two_groups_is_the_sum_of_mixing():
    rows = random_data(K=2).in_memory()
    data = ScoreData.of(rows.g, rows.s, np.full(500, 1 / 500), rows.propensity, rows.risk, 0)
    theta = solve_score(data)
    moments = group_moments(data, theta, ("a", "b"), rows_design(data))
    tilted = rows.propensity[rows.s == 1] * np.exp(theta)
    share = tilted[:, 0] / tilted.sum(axis=1)
    expected = (share * (1 - share)).sum()
    assert moments.contrast(0, np.array([1])).effective_cases == pytest.approx(expected)


def information(data, patient=None):
    n = data.n
    design = SamplingDesign(np.arange(n), np.zeros(n, dtype=int), patient=patient)
    return case_information(data, np.array([0.3, 0.0, -0.4]), design)[0]


def repeated(data, rows, omega=None):
    whole = data.in_memory()
    omega = whole.omega[rows] if omega is None else omega
    g, s, propensity, risk = (v[rows] for v in (whole.g, whole.s, whole.propensity, whole.risk))
    return ScoreData.of(g, s, omega / omega.sum(), propensity, risk, 1)


def test_copies_of_a_patients_rows_carry_no_information():
    data = random_data()
    rows = np.repeat(np.arange(500), 50)
    once, copies = information(data), information(repeated(data, rows), rows)
    np.testing.assert_allclose(copies, once, rtol=1e-9, atol=1e-9)


def test_weight_two_carries_the_information_of_a_patients_row_twice():
    data = random_data()
    patient = np.arange(500) // 2
    rows = np.concatenate([np.arange(500), np.arange(100)])
    weighted = repeated(data, np.arange(500), np.where(np.arange(500) < 100, 2.0, 1.0))
    twice = repeated(data, rows, np.ones(600))
    np.testing.assert_allclose(
        information(weighted, patient), information(twice, patient[rows]), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("visits", [1, 3])
def test_weights_and_repeated_patients_never_add_information(visits):
    data = random_data()
    plain = information(repeated(data, np.arange(500), np.ones(500)))
    less = plain - information(data, np.arange(500) // visits)
    assert np.linalg.eigvalsh(less).min() > -1e-9
    assert np.diag(less).min() > 0.1


def test_few_patients_who_come_often_are_few_cases():
    """Five patients with twenty diagnosed visits each, beside 2,000 single cases alike."""
    group = np.repeat([0, 1], [100, 2_000])
    patient = np.concatenate([np.arange(100) // 20, 5 + np.arange(2_000)])
    share = np.tile([100 / 2_100, 2_000 / 2_100], (2_100, 1))
    rows, ones = np.ones(2_100) / 2_100, np.ones(2_100, dtype=np.uint8)
    data = ScoreData.of(group.astype(np.uint8), ones, rows, share, np.zeros(2_100), 1)
    for of_row, expected in ((patient, 5.0), (np.arange(2_100), 100 * 2_000 / 2_100)):
        design = SamplingDesign(np.arange(2_100), np.zeros(2_100, dtype=int), patient=of_row)
        found = case_information(data, np.zeros(2), design)[0]
        assert found[0, 0] == pytest.approx(expected)


def test_influence_functions_have_mean_zero():
    data = random_data()
    for column in influence_functions(data, solve_score(data)):
        assert column.sum() == pytest.approx(0, abs=1e-9)
