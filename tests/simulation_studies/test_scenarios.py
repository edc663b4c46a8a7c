"""Scenarios draw what they say, with the truth they claim."""

import numpy as np
import pandas as pd
import pytest
from simulations import coverage, scenarios
from simulations.scenarios import DRIFTS, SCENARIOS, Scenario, draw

SMALL = Scenario(n=3000, intercept=-2.0)


@pytest.mark.parametrize("name", SCENARIOS | DRIFTS)
def test_every_scenario_draws_what_it_says(name):
    scenario = (SCENARIOS | DRIFTS)[name]
    cohort = draw(scenario, 0).cohort
    assert cohort.group_names == scenario.names
    assert (cohort.clusters is not None) == (scenario.visits_per_patient > 1)
    assert (cohort.psus is not None) == (scenario.strata > 0)
    assert 150 < cohort.diagnosed.sum() < 3000


def test_truth_is_the_ratio_of_mean_probabilities(monkeypatch, tmp_path):
    monkeypatch.setattr(scenarios, "TRUTH_ROWS", 100_000)
    monkeypatch.setattr(scenarios, "TRUTH_DRAWS", 2)
    monkeypatch.setattr(coverage, "SCENARIOS", {"small": SMALL})
    found = coverage.true_ratios(tmp_path)
    drawn = draw(SMALL, 3)
    means = [drawn.p[drawn.cohort.groups == k].mean() for k in (0, 1)]
    assert found["group"].tolist() == ["a", "b"]
    np.testing.assert_allclose(found["truth"], [means[0] / means[1], 1.0], rtol=0.1)
    monkeypatch.setattr(coverage, "truth", None)  # kept in the file: not computed again
    pd.testing.assert_frame_equal(coverage.true_ratios(tmp_path), found)
