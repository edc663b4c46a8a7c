import numpy as np
import pytest

from relprev.baselines.elkan_noto import recorded_over_rate


def test_rate_is_the_mean_score_of_the_diagnosed() -> None:
    scores, diagnosed = np.array([0.5, 0.3, 0.1, 0.1]), np.array([1, 1, 0, 0])
    assert recorded_over_rate(scores, diagnosed, np.ones(4)) == pytest.approx(0.5 / 0.4)


def test_certain_positives_give_the_prevalence() -> None:
    y = np.repeat([1, 0], [300, 700])
    diagnosed = y * (np.arange(1000) % 4 == 0)
    scores = 0.25 * y
    assert recorded_over_rate(scores, diagnosed, np.ones(1000)) == pytest.approx(0.3)


def test_uncertain_positives_give_too_much() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    diagnosed = (rng.random(100_000) < 0.5 * p).astype(int)
    assert recorded_over_rate(0.5 * p, diagnosed, np.ones(100_000)) > 1.3 * p.mean()
