import numpy as np
import pytest
from scipy import sparse as sp

from relprev.baselines import TIcE
from relprev.baselines.tice import _Search, quarters
from relprev.errors import InvalidInputError


def test_quarters_of_a_feature() -> None:
    regions = quarters(np.array([[0.0], [2.4], [2.5], [5.0], [7.5], [10.0]]))
    parts = regions.parts(np.arange(6), 0)
    assert [part.tolist() for part in parts] == [[0, 1], [2], [3], [4, 5]]


@pytest.mark.parametrize("low", [0.0, -3.0])
def test_sparse_counts_are_dense_counts(low: float) -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((200, 5)) < 0.3) * rng.uniform(low, 2.0, (200, 5))
    s = rng.integers(0, 2, 200)
    rows = np.flatnonzero(rng.random(200) < 0.6)
    dense, sparse = quarters(X), quarters(sp.csr_array(X))
    for ours, theirs in zip(sparse.counts(rows, s), dense.counts(rows, s), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for a, b in zip(sparse.parts(rows, 2), dense.parts(rows, 2), strict=True):
        np.testing.assert_array_equal(a, b)


def test_limit_by_hand() -> None:
    # 100 rows, 40 diagnosed, c = 1/2, delta = 1/5: 0.4 - sqrt(0.25 * 0.8 / 0.2 / 100) = 0.3
    s = np.repeat([1, 0], [40, 60])
    search = _Search(quarters(np.zeros((100, 1))), s, 0.5, 0.2, 5, 10)
    assert search._limit(np.arange(100)) == pytest.approx(0.3)


def test_dense_region_is_found_and_the_rate_is_a_lower_limit() -> None:
    rng = np.random.default_rng(1)
    X = (rng.random((8000, 4)) < 0.5).astype(float)
    y = (X[:, 0] == 1) & (X[:, 1] == 1)
    s = (y & (rng.random(8000) < 0.6)).astype(np.int64)
    folds = [np.flatnonzero(np.arange(8000) % 5 == k) for k in range(5)]
    rate = TIcE()._rate(quarters(X), s, folds)
    assert 0.5 < rate < 0.6


@pytest.mark.parametrize("options", [{"delta": 0.0}, {"rounds": 0}, {"max_splits": 0}, {"k": 0}])
def test_impossible_settings_are_refused(gauss, options) -> None:
    with pytest.raises(InvalidInputError, match=f"{next(iter(options))} must be"):
        TIcE(**options).fit(gauss.cohort)
