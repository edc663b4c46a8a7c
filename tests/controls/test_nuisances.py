import numpy as np
import pytest

from relprev.controls import nuisances
from relprev.controls.nuisances import Sample


def test_small_data_are_taken_whole():
    recorded = np.array([0, 1, 0, 0, 1], np.uint8)
    sample = Sample.of(recorded, np.random.default_rng(0))
    assert sample.rows.tolist() == [0, 1, 2, 3, 4]
    assert sample.scale.tolist() == [1.0] * 5
    assert sample.recorded.tolist() == recorded.tolist()


def test_a_sample_stands_for_all_visits(monkeypatch):
    monkeypatch.setattr(nuisances, "MOST_CASES", 50)
    monkeypatch.setattr(nuisances, "FEWEST_OTHERS", 100)
    recorded = (np.arange(10_000) % 100 == 0).astype(np.uint8)
    sample = Sample.of(recorded, np.random.default_rng(0))
    assert sample.recorded.sum() == 50
    assert len(sample.rows) == 50 + 5 * 50
    assert sample.scale.sum() == pytest.approx(10_000)
    assert sample.scale @ sample.recorded == pytest.approx(100)
    assert (np.diff(sample.rows) > 0).all()
    assert sample.noise == pytest.approx(0.01 * np.sqrt(1 / 50 + 1 / 250))
