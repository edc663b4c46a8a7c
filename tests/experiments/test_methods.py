from __future__ import annotations

import numpy as np
import pytest

from relprev.experiments.methods import COMPARED, METHODS, Parts
from relprev.simulate import gauss_synth


@pytest.fixture(scope="module")
def parts() -> Parts:
    data = gauss_synth((0.5, 0.25), n=(2_000, 4_000), seed=3)
    cohort = data.cohort
    order = np.random.default_rng(0).permutation(cohort.n)
    cuts = [np.sort(rows) for rows in np.split(order, [3_600, 4_800])]
    train, validation, test = (cohort.take(rows) for rows in cuts)
    fit = np.sort(order[:4_800])
    return Parts(train, validation, test, cohort.take(fit), data.condition[fit])


def test_the_oracle_sees_the_condition_and_observed_the_records(parts: Parts) -> None:
    oracle, observed = (METHODS[name].estimate(parts).to_frame() for name in ("oracle", "observed"))
    g, y = parts.fit.groups, parts.condition
    assert oracle["estimate"][0] == pytest.approx(y[g == 0].mean() / y[g == 1].mean(), rel=0.1)
    assert observed["estimate"][0] == observed["observed_ratio"][0]
    assert observed["estimate"][0] > 1.5 * oracle["estimate"][0]


def test_purple_is_judged_on_rows_it_has_not_seen(parts: Parts) -> None:
    method = METHODS["purple"]
    found = method.estimate(parts).to_frame()
    assert method.judged_on == "test"
    assert found["n"][0] == int((parts.test.groups == 0).sum())


def test_methods_compared_exist_and_are_named_once() -> None:
    assert set(COMPARED) < set(METHODS)
    assert len({method.label for method in METHODS.values()}) == len(METHODS)
