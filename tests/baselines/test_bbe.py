import numpy as np
import pytest

from relprev.baselines.bbe import best_bin
from relprev.errors import InvalidInputError


def test_hand_computed_thresholds() -> None:
    positive = np.repeat([0.9, 0.8, 0.7, 0.2], 100_000)
    unlabeled = np.repeat([0.9, 0.6, 0.1, 0.1], 100_000)
    # shares at 0.9: 1/4 and 1/4; at 0.7: 3/4 and 1/4, so 1/3; at 0.2: 1 and 2/4.
    assert best_bin(positive, unlabeled, delta=0.99, gamma=0.0) == pytest.approx(1 / 3)


def test_small_samples_prefer_wide_bins() -> None:
    positive, unlabeled = np.array([0.9, 0.8, 0.7, 0.2]), np.array([0.9, 0.6, 0.1, 0.1])
    assert best_bin(positive, unlabeled) == pytest.approx(0.5)


def test_estimate_never_exceeds_one() -> None:
    assert best_bin(np.array([0.1, 0.2]), np.array([0.8, 0.9])) == 1.0


@pytest.mark.parametrize("options", [{"delta": 0.0}, {"delta": 1.0}, {"gamma": -1.0}])
def test_impossible_settings_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match="delta must be between 0 and 1"):
        best_bin(np.array([0.5]), np.array([0.5]), **options)
