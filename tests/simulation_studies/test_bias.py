"""Bias over grids of sizes and prevalences."""

import pandas as pd
from simulations import bias
from simulations.replicates import RESULTS


def test_bias_is_judged_by_the_number_diagnosed():
    rows = pd.DataFrame(
        {
            "scenario": ["x", "y"], "replicate": 0, "n_diagnosed": [2999, 3000], "truth": 2.0,
            "debiased": 2.05, "purple": 2.0, "recorded": 1.0, "std_error": 0.1,
        }
    )  # fmt: skip
    found = bias.summary(rows)
    assert found["debiased"].tolist() == [1.025, 1.025]
    assert found["within"].tolist() == [True, False]


def test_the_stored_bias_is_small_in_every_cell():
    found = bias.summary(pd.read_csv(RESULTS / "bias.csv"))
    assert found["within"].all()
