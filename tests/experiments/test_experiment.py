from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from relprev import as_cohort
from relprev.experiments import gauss
from relprev.experiments.experiment import Cell, compute
from relprev.experiments.methods import METHODS
from relprev.simulate import Simulation, gauss_synth

SMALL = {"n": (1500, 3000), "rate_b": 0.1}


def row(method: str, **settings: object) -> dict[str, object]:
    return compute(Cell("gauss", {**SMALL, **settings}, method, 0, 0), gauss.simulate)


def test_row_holds_estimate_truth_and_their_ratio() -> None:
    found = row("oracle")
    assert found["ratio"] == found["estimate"] / found["truth"]
    assert found["ratio"] == pytest.approx(1, abs=0.03)
    assert (found["method"], found["seed"], found["split"], found["rate_b"]) == (
        "oracle",
        0,
        0,
        0.1,
    )


def test_recorded_ratio_is_off_by_the_ratio_of_diagnosis_rates() -> None:
    assert row("observed")["ratio"] == pytest.approx(5, rel=0.1)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_gives_an_estimate(name: str) -> None:
    assert 0.2 < row(name, rate_b=0.5)["ratio"] < 6


def test_truth_is_that_of_the_rows_averaged_over() -> None:
    on_test, on_fit = row("purple")["truth"], row("observed")["truth"]
    assert on_test != on_fit
    assert row("purple-auc")["truth"] == on_test
    whole = gauss.simulate(SMALL, 0).relative_prevalence("b").to_frame().loc[0, "estimate"]
    assert 0.8 * on_fit + 0.2 * on_test == pytest.approx(whole, rel=0.01)


def test_same_cell_same_row() -> None:
    first, second = row("bbe"), row("bbe")
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_method_that_refuses_the_data_says_why() -> None:
    def weighted(settings: object, seed: int) -> Simulation:
        data = gauss_synth((0.5, 0.5), n=(200, 200), seed=seed)
        cohort = data.cohort
        with_weights = as_cohort(
            cohort.X, cohort.diagnosed, groups=cohort.group_labels, sample_weight=np.ones(400)
        )
        return Simulation(
            with_weights, data.condition_probability, data.condition, data.diagnosis_rates
        )

    found = compute(Cell("gauss", {}, "bbe", 0, 0), weighted)
    assert np.isnan(found["estimate"])
    assert "BBE cannot use sample_weight" in str(found["notes"])


def test_place_of_the_data_is_used_but_not_kept() -> None:
    seen = []

    def simulate(settings: Mapping[str, object], seed: int) -> Simulation:
        seen.append(settings["data"])
        return gauss_synth((0.5, 0.5), n=(200, 200), seed=seed)

    cell = Cell("toy", {"data": "nhds"}, "observed", 0, 0, source="nhds:/home/me/data")
    found = compute(cell, simulate)
    assert seen == ["nhds:/home/me/data"]
    assert found["data"] == "nhds"
    assert cell.key({}) == Cell("toy", {"data": "nhds"}, "observed", 0, 0).key({})
