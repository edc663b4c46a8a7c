"""Estimates of controls: against fits of their own, in memory and in parts, bad input."""

import numpy as np
import pandas as pd
import pytest

from relprev import DebiasedPURPLE, as_cohort, calibrate
from relprev.cohort import Cohort, write_parts
from relprev.controls import control_estimates
from relprev.errors import InvalidInputError
from relprev.parallel import cluster
from relprev.simulate import visits_with_controls
from tests.inference.test_adaptive import bent

LINEAR = {"propensity": "ridge", "risk": "purple"}


@pytest.fixture(scope="module")
def world():
    rates = {"a": 0.3, "b": 0.5, "c": 0.4}
    return visits_with_controls(
        12_000, n_controls=4, n_codes=60, diagnosis_rates=rates, spread=0.4, prevalence=0.03, seed=3
    )


def fitted(cohort, **options):
    fold = np.arange(cohort.n) % 3
    return DebiasedPURPLE(lambdas=1e-4, strengths=[3.0], folds=fold, **options).fit(cohort)


def test_case_only_controls_are_fits_of_their_own(world):
    cohort = world.cohort
    case_only = {"propensity": "ridge", "risk": None}
    found = control_estimates(fitted(cohort, **case_only), cohort, versus="b")
    for number, name in enumerate(cohort.control_names):
        own = cohort.with_values(diagnosed=(cohort.controls >> number & 1).astype(np.uint8))
        table = fitted(own, **case_only).relative_prevalence("b").to_frame()
        error = -np.log(table["diagnosis_ratio"].to_numpy())
        same = found[found["control"] == name]
        np.testing.assert_allclose(same["log_error"], error, atol=1e-6)
        np.testing.assert_allclose(same["observed_ratio"], table["observed_ratio"], rtol=1e-10)


def test_doubly_robust_controls_are_near_fits_of_their_own(world):
    cohort = world.cohort
    found = control_estimates(fitted(cohort, **LINEAR), cohort, versus="b")
    for number, name in enumerate(cohort.control_names):
        own = cohort.with_values(diagnosed=(cohort.controls >> number & 1).astype(np.uint8))
        table = fitted(own, **LINEAR).relative_prevalence("b").to_frame()
        error = -np.log(table["diagnosis_ratio"].to_numpy())
        same = found[found["control"] == name]
        assert (np.abs(same["log_error"] - error) < 0.3 * same["std_error"]).all()
        width = np.log(table["diagnosis_ci_high"] / table["diagnosis_ci_low"]) / (2 * 1.96)
        np.testing.assert_allclose(same["std_error"], width, rtol=0.1)


def test_controls_use_the_features_that_the_condition_uses():
    """A control that depends on squares of features, as the groups do, is not off by much."""
    cohort, _ = bent(20_000)
    x, rng = cohort.X.to_scipy(), np.random.default_rng(4)
    recorded = rng.random(cohort.n) < 0.5 / (1 + np.exp(3 - 0.5 * (x[:, 0] ** 2 + x[:, 1] ** 2)))
    cohort = as_cohort(
        x, cohort.diagnosed, groups=cohort.group_labels, controls={"squares": recorded}
    )
    errors = {
        kind: control_estimates(
            fitted(cohort, propensity=kind[0], risk=kind[1]), cohort, versus="b"
        ).iloc[0]
        for kind in (("ridge", "purple"), ("adaptive", "adaptive"))
    }  # fmt: skip
    linear, adaptive = errors.values()
    assert abs(linear["log_error"]) > 5 * linear["std_error"]
    assert abs(adaptive["log_error"]) < 2 * adaptive["std_error"]


@pytest.fixture
def client():
    pytest.importorskip("distributed")
    with cluster.local_cluster(2) as connected:
        yield connected


@pytest.mark.parametrize("place", ["disk", "workers"])
def test_parts_give_the_same_numbers(world, tmp_path, place, request):
    cohort = world.cohort
    pieces = [cohort.take(rows) for rows in np.array_split(np.arange(cohort.n), 3)]
    write_parts(pieces, tmp_path / "parts")
    workers = request.getfixturevalue("client") if place == "workers" else None
    in_parts = Cohort.open(tmp_path / "parts", workers)
    assert in_parts.control_names == cohort.control_names
    one = calibrate(fitted(cohort, **LINEAR), cohort)
    other = calibrate(fitted(in_parts, **LINEAR), in_parts)
    pd.testing.assert_frame_equal(one.controls, other.controls, rtol=1e-6)
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame(), rtol=1e-6)


def test_a_group_with_few_cases_is_left_out_for_that_control(world):
    cohort = world.cohort
    bits = np.array(cohort.controls)
    bits[(cohort.groups == 2) & (np.arange(cohort.n) % 50 != 0)] &= np.uint8(0b1110)
    thin = cohort.with_values(controls=bits)
    model = fitted(thin, **LINEAR)
    found = control_estimates(model, thin, versus="b").set_index(["control", "group"])
    assert np.isnan(found.loc[("control 1", "c"), "log_error"])
    assert np.isfinite(found.loc[("control 1", "a"), "log_error"])
    assert np.isfinite(found.loc[("control 2", "c"), "log_error"])
    complement = control_estimates(model, thin)
    first = complement[complement["control"] == "control 1"]
    assert first["log_error"].isna().all()  # everybody else includes the thin group


def test_cohort_without_controls_says_how_to_give_them(world):
    plain = as_cohort(np.eye(4), [1, 0, 0, 1], groups=list("aabb"))
    with pytest.raises(InvalidInputError, match="controls="):
        control_estimates(DebiasedPURPLE(), plain)


def test_another_cohort_is_refused(world):
    model = fitted(world.cohort, **LINEAR)
    with pytest.raises(InvalidInputError, match="not the one"):
        calibrate(model, world.cohort.take(np.arange(5000)))
