import numpy as np
import pytest

from relprev import as_cohort
from relprev.simulate import Simulation


def test_the_truth_is_the_ratio_of_mean_probabilities_not_of_drawn_cases():
    cohort = as_cohort(np.zeros((4, 1)), [1, 0, 1, 0], groups=["a", "a", "b", "b"])
    p, y = np.array([0.2, 0.4, 0.1, 0.1]), np.array([1, 1, 1, 0], np.uint8)
    found = Simulation(cohort, p, y, np.array([0.5, 0.5])).relative_prevalence("b").to_frame()
    assert found["estimate"][0] == pytest.approx(0.3 / 0.1)
    assert found["observed_ratio"][0] == pytest.approx(1.0)


def test_weights_count_in_the_truth():
    cohort = as_cohort(np.zeros((4, 1)), [1, 0, 1, 0], groups=["a", "a", "b", "b"],
                       sample_weight=[3.0, 1.0, 1.0, 1.0])  # fmt: skip
    p = np.array([0.2, 0.4, 0.1, 0.1])
    simulation = Simulation(cohort, p, np.zeros(4, np.uint8), np.array([0.5, 0.5]))
    found = simulation.relative_prevalence("b").to_frame()
    assert found["estimate"][0] == pytest.approx((3 * 0.2 + 0.4) / 4 / 0.1)
