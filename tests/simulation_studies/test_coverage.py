"""Do 95% intervals hold the truth 95% of the time? Measured now, not read from a file."""

import numpy as np
import pytest
from scipy import stats
from simulations import scenarios
from simulations.scenarios import SCENARIOS, draw, truth

from relprev import DebiasedPURPLE

REPLICATES = 200
FIRST_SEED = 900_000  # none of these cohorts chose a constant


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["two_groups", "repeat_patients"])
def test_intervals_hold_the_truth_as_often_as_they_say(name, monkeypatch):
    monkeypatch.setattr(scenarios, "TRUTH_DRAWS", 4)
    means = truth(SCENARIOS[name])
    true_ratio = float(means[0] / means[1])
    held = 0
    for number in range(REPLICATES):
        cohort = draw(SCENARIOS[name], np.random.SeedSequence([FIRST_SEED, number])).cohort
        row = DebiasedPURPLE().fit(cohort).relative_prevalence("b").rows[0]
        held += row["ci_low"] <= true_ratio <= row["ci_high"]
    least, most = stats.binom.ppf([0.001, 0.999], REPLICATES, 0.95)
    assert least <= held <= most
