import numpy as np
import pytest
from scipy.optimize import minimize

from relprev import as_cohort
from relprev.baselines import KM2, km2
from relprev.errors import DataWarning, InvalidInputError


def test_share_of_two_separate_gaussians_is_recovered() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.4
    mixture = rng.standard_normal((400, 2)) + 5.0 * y[:, None]
    component = rng.standard_normal((200, 2)) + 5.0
    share, at_limit = km2.mixture_share(mixture, component)
    assert share == pytest.approx(y.mean(), abs=0.05)
    assert not at_limit


def test_kernel_is_the_one_that_separates_most() -> None:
    rng = np.random.default_rng(1)
    mixture, component = rng.standard_normal((30, 2)), rng.standard_normal((20, 2)) + 2
    K, apart = km2._kernel(mixture, component)
    contrast = np.concatenate([np.full(30, 1 / 30), np.full(20, -1 / 20)])
    assert apart**2 == pytest.approx(contrast @ K @ contrast)
    np.testing.assert_allclose(np.diag(K), 1)
    median = np.median(((X := np.vstack([mixture, component]))[:, None] - X) ** 2 @ np.ones(2))
    for multiple in np.logspace(-1, 1, 5):
        d = ((X[:, None] - X) ** 2).sum(-1)
        other = np.exp(-d / (2 * median * multiple**2))
        assert contrast @ other @ contrast <= apart**2 + 1e-12


@pytest.mark.parametrize("codes", [True, False])
def test_squared_distances_are_those_of_every_pair(codes: bool) -> None:
    rng = np.random.default_rng(10)
    X = (rng.random((20, 30)) < 0.1).astype(float) if codes else rng.standard_normal((20, 3))
    X[7] = X[3]
    found = km2._squared_distances(X)
    slow = [[np.sum((one - other) ** 2) for other in X] for one in X]
    np.testing.assert_allclose(found, slow, rtol=1e-12)
    assert found[3, 7] == 0
    assert (np.diag(found) == 0).all()


def test_distance_is_that_of_a_general_solver() -> None:
    rng = np.random.default_rng(2)
    X = np.vstack([rng.standard_normal((12, 2)), rng.standard_normal((8, 2)) + 1])
    K, _ = km2._kernel(X[:12], X[12:])
    u = np.concatenate([np.full(12, 2.5 / 12), np.full(8, -1.5 / 8)])
    slow = minimize(
        lambda v: (u - v) @ K @ (u - v), np.full(20, 0.05), jac=lambda v: -2 * K @ (u - v),
        bounds=[(0, None)] * 20, constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    distance = km2.distance_curve(K, 12)
    assert distance(2.5) == pytest.approx(np.sqrt(slow.fun), rel=1e-4)


def test_distance_of_a_distribution_is_zero() -> None:
    rng = np.random.default_rng(3)
    K, _ = km2._kernel(rng.standard_normal((12, 2)), rng.standard_normal((8, 2)))
    assert km2.distance_curve(K, 12)(1.0) == pytest.approx(0, abs=1e-6)


def test_an_estimate_at_a_limit_is_no_estimate() -> None:
    rng = np.random.default_rng(4)
    y = np.arange(4000) % 200 == 0
    X = rng.standard_normal((4000, 2)) + 6.0 * y[:, None]
    with pytest.warns(
        DataWarning, match=r"no estimate: KM2 .* between 0\.0135 and 0\.8748"
    ) as caught:
        model = KM2(max_rows=200).fit(X, y, groups=np.repeat(["a", "b"], 2000))
    assert [str(each.message).split()[1] for each in caught] == ["'a'", "'b'"]
    assert caught[0].filename == __file__  # points at the caller
    assert np.isnan(model.relative_prevalence("b").to_frame().loc[0, "estimate"])


def test_cubic_cost_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(km2, "SLOW_ROWS", 30)
    rng = np.random.default_rng(5)
    y = np.arange(200) % 2
    X = rng.standard_normal((200, 1)) + 5 * y[:, None]
    cohort = as_cohort(X, y * (rng.random(200) < 0.6), groups=np.repeat(["a", "b"], 100))
    with pytest.warns(DataWarning, match="time grows with the cube") as caught:
        KM2(max_rows=40).fit(cohort)
    assert caught[0].filename == __file__


@pytest.fixture
def two_groups():
    rng = np.random.default_rng(7)
    y = rng.random(1000) < 0.4
    X = rng.standard_normal((1000, 2)) + 4.0 * y[:, None]
    s = y & (rng.random(1000) < 0.5)
    return as_cohort(X, s.astype(int), groups=np.where(np.arange(1000) < 900, "large", "small"))


def test_a_group_used_whole_is_announced(two_groups) -> None:
    with pytest.warns(DataWarning, match=r"'small' has no more than max_rows rows \(100") as caught:
        KM2(max_rows=200).fit(two_groups)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_component_of_the_mixture_is_the_diagnosed_of_the_sample(two_groups, monkeypatch) -> None:
    seen = []

    def keep(mixture, component, *, early):
        seen.append((mixture, component, early))
        return 0.5, False

    monkeypatch.setattr(km2, "mixture_share", keep)
    KM2(max_rows=200, component="mixture").fit(two_groups)
    (mixture, component, early), _ = seen
    assert len(mixture) == 200
    assert 0 < len(component) < 80
    assert {tuple(row) for row in component} <= {tuple(row) for row in mixture}
    assert not early


def test_a_sample_without_diagnosed_rows_gets_no_estimate() -> None:
    rng = np.random.default_rng(8)
    s = (np.arange(4000) % 200 == 0).astype(int)
    X = rng.standard_normal((4000, 2)) + 6.0 * s[:, None]
    with pytest.warns(DataWarning, match="none of the rows sampled as KM2's mixture") as caught:
        model = KM2(max_rows=20, component="mixture", random_state=1).fit(
            X, s, groups=np.repeat(["a", "b"], 2000)
        )
    assert caught[0].filename == __file__
    assert np.isnan(model.relative_prevalence("b").to_frame().loc[0, "estimate"])


def test_stopping_early_leaves_a_distance_where_there_is_none() -> None:
    rng = np.random.default_rng(9)
    K, _ = km2._kernel(rng.standard_normal((60, 2)), rng.standard_normal((40, 2)) + 1)
    exact, early = km2.distance_curve(K, 60), km2.early_distance_curve(K, 60)
    assert exact(1.0) < 1e-6 < 1e-5 < early(1.0) < 1e-3
    assert early(3.0) == pytest.approx(exact(3.0), rel=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"component": "both"}, "component must be 'separate' or 'mixture', got 'both'"),
        ({"compat": "old"}, "compat must be None or 'published', got 'old'"),
    ],
)
def test_unknown_options_are_refused(two_groups, options, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        KM2(**options).fit(two_groups)


def test_too_few_rows_are_refused() -> None:
    rng = np.random.default_rng(6)
    with pytest.raises(InvalidInputError, match="max_rows must be at least 20, got 5"):
        KM2(max_rows=5).fit(
            rng.standard_normal((100, 1)), np.arange(100) % 2, groups=np.repeat(["a", "b"], 50)
        )
