import numpy as np
import pytest

from relprev.baselines import Observed

S = np.array([1, 1, 0, 0, 1, 0, 0, 0])
GROUPS = np.repeat(["a", "b"], 4)
X = np.zeros((8, 1))


def ratio(**more):
    return Observed().fit(X, S, groups=GROUPS, **more).relative_prevalence("b").to_frame()


def test_the_ratio_is_that_of_the_recorded_shares():
    table = ratio()
    assert table["estimate"][0] == table["observed_ratio"][0] == pytest.approx((2 / 4) / (1 / 4))


def test_weights_count_as_people():
    weights = np.array([3.0, 1, 1, 1, 1, 1, 1, 1])
    assert ratio(sample_weight=weights)["estimate"][0] == pytest.approx((4 / 6) / (1 / 4))


def test_a_group_without_cases_has_a_share_of_zero():
    fitted = Observed().fit(X, [0, 0, 0, 0, 1, 0, 0, 0], groups=GROUPS)
    assert fitted.relative_prevalence("b").to_frame()["estimate"][0] == 0.0
