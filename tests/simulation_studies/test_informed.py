"""Estimates are withheld where symptoms say nothing."""

import pandas as pd
from simulations import informed
from simulations.replicates import RESULTS
from simulations.scenarios import Scenario

SMALL = Scenario(n=3000, intercept=-2.0)


def test_noise_is_withheld_and_symptoms_are_not(monkeypatch):
    monkeypatch.setattr(informed, "SCENARIOS", {"small": SMALL})
    monkeypatch.setattr(informed, "N_VISITS", 4_000)
    rows = [informed.replicate((name, 0))[0] for name in (informed.NOISE, "small")]
    assert [row["withheld"] for row in rows] == [1, 0]
    found = informed.summary(pd.DataFrame(rows)).set_index("scenario")
    assert found["withheld"].to_dict() == {informed.NOISE: 1.0, "small": 0.0}
    assert found.loc["small", "no concern"] == 1.0


def test_stored_estimates_are_withheld_where_symptoms_say_nothing_and_only_there():
    found = informed.summary(pd.read_csv(RESULTS / "informed.csv")).set_index("scenario")
    assert found.loc[informed.NOISE, "replicates"] >= 100
    assert found.loc[informed.NOISE, "withheld"] >= 0.95
    assert found.loc[list(informed.INFORMED), "replicates"].sum() >= 200
    assert (found.loc[list(informed.INFORMED), "withheld"] <= 0.02).all()
