import numpy as np
import pytest
from scipy.special import expit

from relprev.simulate.world import N_SUSPICIOUS, _intercept, _pick, codes_of, prepared

SETTINGS = {"n_codes": 200, "shares": np.array([0.3, 0.7]), "prevalence": 0.05, "shift": 0.5,
            "codes_per_visit": 6.0, "visits_per_patient": 1.5}  # fmt: skip


@pytest.fixture(scope="module")
def world():
    return prepared(np.random.SeedSequence(3), **SETTINGS)[0]


def test_the_intercept_gives_the_prevalence():
    scores = np.random.default_rng(0).normal(size=5_000)
    assert expit(_intercept(scores, 0.03) + scores).mean() == pytest.approx(0.03, abs=1e-9)


def test_draws_follow_the_cumulative_shares():
    shares = np.array([[0.2, 0.5, 1.0]] * 3)
    assert _pick(shares, np.array([0.1, 0.2000001, 0.99])).tolist() == [0, 1, 2]
    assert _pick(np.array([[0.5, 0.9999]]), np.array([0.99999])).tolist() == [1]  # rounding


def test_shares_of_presentations_sum_to_one_in_every_group(world):
    assert world.presentation[:, -1] == pytest.approx([1.0, 1.0])
    assert world.own_popularity[-1] == pytest.approx(1.0)
    assert world.group_of_patient.tolist() == pytest.approx([0.3, 1.0])


def test_suspicious_presentations_carry_the_weights(world):
    rng = np.random.default_rng(1)
    suspicious = codes_of(world, rng, np.zeros(3_000, dtype=np.int64)).matvec(world.w)
    other = codes_of(world, rng, np.full(3_000, N_SUSPICIOUS + 5)).matvec(world.w)
    assert suspicious.mean() > other.mean() + 1
