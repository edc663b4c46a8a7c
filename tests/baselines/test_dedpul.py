import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import gaussian_kde

from relprev.baselines.dedpul import _density, _running_median, density_ratio, negative_share
from relprev.baselines.kernels import forgetful_maximum


def test_level_without_support_is_forgotten() -> None:
    # 5 starts with support 1 and loses 0.4 to each lower value: gone after three.
    values = np.array([1.0, 5.0, 2.0, 2.0, 2.0, 2.0])
    assert forgetful_maximum(values, 0.4).tolist() == [1, 5, 5, 5, 5, 2]


def test_level_that_is_reached_again_is_kept_longer() -> None:
    values = np.array([5.0, 5.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    assert forgetful_maximum(values, 0.5).tolist() == [5, 5, 5, 5, 5, 5, 2, 2]


def test_running_median_shrinks_evenly_at_the_ends() -> None:
    values = np.array([9.0, 1.0, 2.0, 3.0, 0.0, 7.0])
    assert _running_median(values, 2).tolist() == [9, 2, 2, 2, 3, 7]


def test_negative_share_solves_its_equation() -> None:
    # Half the unlabeled have f_P / f_U = 2, the others 0: positives are exactly one half.
    assert negative_share(np.repeat([2.0, 0.0], 500)) == pytest.approx(0.5, abs=1e-3)


def test_flat_ratio_means_all_are_positive() -> None:
    assert negative_share(np.ones(500)) == 0.0


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_share_of_two_separate_gaussians_is_recovered(share: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.random(4000) < share
    unlabeled = expit(rng.standard_normal(4000) + np.where(y, 3, -3))
    positive = expit(rng.standard_normal(1500) + 3)
    assert 1 - negative_share(density_ratio(positive, unlabeled)) == pytest.approx(share, abs=0.03)


def test_uninformative_scores_call_everybody_positive() -> None:
    flat = np.full(200, 0.3)
    assert negative_share(density_ratio(flat, flat)) == 0.0


def test_density_is_the_kernel_estimate() -> None:
    values = np.random.default_rng(1).standard_normal(500)
    grid = np.linspace(values.min(), values.max(), 10_000)
    np.testing.assert_allclose(
        _density(values, 0.05, grid), gaussian_kde(values, 0.05)(grid), rtol=0.01, atol=1e-3
    )
