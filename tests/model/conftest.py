"""Data for the tests of the model."""

import numpy as np
import pytest


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 4)) < 0.4).astype(float)
    s = (rng.random(300) < 0.3).astype(int)
    return X, s, np.where(np.arange(300) % 2, "a", "b")
