"""Size and power of the checks."""

import numpy as np
import pandas as pd
import pytest
from simulations import coverage, power
from simulations.replicates import RESULTS
from simulations.scenarios import Scenario


def test_a_replicate_of_the_power_study_holds_every_check(monkeypatch):
    small = {"drift_3": Scenario(n=3000, intercept=-2.0, drift=float(np.log(3.0)))}
    monkeypatch.setattr(power, "DRIFTS", small)
    row = power.replicate(("drift_3", 0), paper_checks=1)[0]
    assert all(row[check] in (0.0, 1.0) for check in power.CHECKS)
    without = power.replicate(("drift_3", 0), paper_checks=0)[0]
    table = power.summary(pd.DataFrame([row, without]))
    assert table["drift"].tolist() == [pytest.approx(3.0)]
    assert table["replicates_trend"].tolist() == [2]
    assert table["replicates_calibration"].tolist() == [1]


def test_the_stored_size_and_power_are_as_promised():
    many = coverage.rejections(pd.read_csv(RESULTS / "coverage_linear.csv")).set_index("scenario")
    assert many.loc[["two_groups", "repeat_patients"], "trend"].between(0.04, 0.065).all()
    now = coverage.rejections(pd.read_csv(RESULTS / "coverage.csv"))
    assert (now["trend"] < 0.05 + 3 * np.sqrt(0.05 * 0.95 / now["replicates"])).all()
    found = power.summary(pd.read_csv(RESULTS / "power.csv")).set_index("scenario")
    assert found.loc["drift_2", "trend"] >= 0.75
    assert found.loc["drift_1.5", "trend"] < found.loc["drift_2", "trend"]
    assert found.loc["drift_3", "trend"] > 0.9
