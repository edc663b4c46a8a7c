"""Calibration: what controls make of an estimate."""

import numpy as np
import pytest

from relprev.controls import Calibration
from relprev.controls.calibration import DISAGREE, TOO_FEW, UNLIKE
from tests.controls.tables import controls, estimates


def test_a_common_error_is_taken_off():
    found = Calibration(estimates(), controls([0.3] * 30)).to_frame().iloc[0]
    assert found["calibrated"] == pytest.approx(2 / np.exp(0.3))
    longer = np.log(found["calibrated_ci_high"] / found["calibrated_ci_low"])
    assert longer == pytest.approx(np.log(found["ci_high"] / found["ci_low"]), rel=0.02)
    assert found["held"] == 0
    assert found["held_calibrated"] == 30


def test_spread_makes_the_interval_longer():
    errors = np.random.default_rng(1).normal(0, 0.3, 25)
    found = Calibration(estimates(), controls(errors)).to_frame().iloc[0]
    length = np.log(found["calibrated_ci_high"] / found["calibrated_ci_low"]) / 2
    assert length == pytest.approx(2.05 * np.hypot(0.1, errors.std(ddof=1)), rel=0.1)
    assert found["calibrated_p_value"] == pytest.approx(0.03, abs=0.02)


def test_too_few_controls_do_not_calibrate():
    found = Calibration(estimates(), controls([0.1] * 4)).to_frame().iloc[0]
    assert found["calibrated_withheld"] == TOO_FEW
    assert np.isnan(found["calibrated"])


def test_controls_that_disagree_wildly_do_not_calibrate():
    errors = [2.0, -2.0, 1.5, -1.5, 0.0, 1.0]
    found = Calibration(estimates(), controls(errors)).to_frame().iloc[0]
    assert found["calibrated_withheld"] == DISAGREE
    assert np.isnan(found["calibrated_ci_low"])


def test_an_estimate_that_features_know_far_better_is_not_calibrated():
    """Controls without signs of their own made a good estimate worse."""
    rows = controls([0.3, 0.1, 0.2, 0.3, 0.4, 0.2], auc=0.62)
    rows["auc"] += np.linspace(-0.04, 0.04, 6)
    found = Calibration(estimates(), rows, auc=(0.95, 0.01))
    row = found.to_frame().iloc[0]
    assert row["likeness"] == "better"
    assert row["calibrated_withheld"] == UNLIKE
    assert np.isnan(row["calibrated"])
    assert found.log_alpha == {}
    alike = Calibration(estimates(), rows, auc=(0.63, 0.01)).to_frame().iloc[0]
    assert alike["likeness"] == "alike"
    assert alike["calibrated"] == pytest.approx(2 / alike["mean_error"])
