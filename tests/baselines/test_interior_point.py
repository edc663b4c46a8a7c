"""The early-stopping solver: the same optimum as an exact one, and stopped where it should be.

That it stops at the same iterate as the authors' solver is seen in test_reference.py.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from relprev.baselines import interior_point, km2
from relprev.baselines.interior_point import NearestDistribution


@pytest.fixture
def kernel() -> np.ndarray:
    rng = np.random.default_rng(0)
    return km2._kernel(rng.standard_normal((12, 2)), rng.standard_normal((8, 2)) + 1)[0]


@pytest.fixture
def u() -> np.ndarray:
    return np.concatenate([np.full(12, 2.5 / 12), np.full(8, -1.5 / 8)])


def test_tight_tolerances_reach_the_optimum(kernel, u, monkeypatch) -> None:
    for name in ("FEASIBLE", "GAP", "RELATIVE_GAP"):
        monkeypatch.setattr(interior_point, name, 1e-12)
    found = NearestDistribution(kernel)(u)
    slow = minimize(
        lambda v: v @ kernel @ v - 2 * u @ kernel @ v, np.full(20, 0.05),
        jac=lambda v: 2 * kernel @ (v - u), bounds=[(0, None)] * 20,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1}, method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert found.objective == pytest.approx(slow.fun, rel=1e-6)
    np.testing.assert_allclose(found.v, slow.x, atol=1e-4)


def test_it_stops_at_the_tolerance(kernel, u) -> None:
    found = NearestDistribution(kernel)(u)
    assert found.v.sum() == pytest.approx(1, abs=1e-6)
    assert (found.s > 0).all()
    gap = found.s @ found.z
    assert gap <= max(interior_point.GAP, interior_point.RELATIVE_GAP * abs(found.objective))


def test_begun_at_a_solution_it_stays_there(kernel, u) -> None:
    found = NearestDistribution(kernel)(u)
    again = NearestDistribution(kernel)(u, found)
    np.testing.assert_array_equal(again.v, found.v)


def test_equal_rows_count_as_often_as_they_occur() -> None:
    """A component that is part of the mixture: the same steps as with every row by itself."""
    rng = np.random.default_rng(1)
    mixture = (rng.random((60, 8)) < 0.3).astype(float)
    K = km2._kernel(mixture, mixture[:25])[0]
    u = np.concatenate([np.full(60, 2.5 / 60), np.full(25, -1.5 / 25)])
    together = NearestDistribution(K)
    apart = NearestDistribution(K + 1e-13 * np.eye(85))  # equal rows no longer look equal
    assert len(together._matrix.rows) < 60
    assert len(apart._matrix.rows) == 85
    assert together(u).objective == pytest.approx(apart(u).objective, rel=1e-10)
    np.testing.assert_allclose(together(u).v, apart(u).v, atol=1e-8)
