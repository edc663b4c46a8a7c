"""Calibration: what controls make of an estimate."""

import numpy as np
import pandas as pd
import pytest

from relprev.checks import Verdict, check_controls
from relprev.controls import Calibration
from relprev.controls.calibration import DISAGREE, TOO_FEW


def estimates(std_error=0.1):
    half = 1.96 * std_error
    row = {
        "group": "a", "versus": "b", "estimate": 2.0, "ci_low": 2 * np.exp(-half),
        "ci_high": 2 * np.exp(half), "observed_ratio": 1.0, "std_error": std_error,
        "degrees_of_freedom": 1e6, "diagnosis_ratio": 0.5, "diagnosis_ci_low": 0.4,
        "diagnosis_ci_high": 0.6, "effective_cases": 100.0, "n_diagnosed": 300,
    }  # fmt: skip
    return pd.DataFrame([row])


def controls(errors, std_error=0.05):
    return pd.DataFrame([
        {"control": f"control {k}", "group": "a", "versus": "b", "n_recorded": 500,
         "observed_ratio": 1.0, "log_error": error, "std_error": std_error,
         "effective_cases": 200.0, "degrees_of_freedom": 1e6}
        for k, error in enumerate(errors)
    ])  # fmt: skip


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


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        (np.zeros(20), Verdict.NO_CONCERN),
        (np.full(20, 0.3), Verdict.CONCERN),  # every interval misses
        ([0.3, -0.3] * 10, Verdict.CONCERN),
        (np.zeros(3), Verdict.CANNOT_TELL),
    ],
)
def test_verdicts(errors, verdict):
    (found,) = check_controls(Calibration(estimates(), controls(errors)))
    assert found.verdict == verdict
    assert found.table["control"].iloc[-1] == "the condition itself"


def test_imprecise_controls_cannot_tell():
    errors = [0.6, -0.5, 0.3, -0.4, 0.1, 0.0]
    (found,) = check_controls(Calibration(estimates(), controls(errors, std_error=0.5)))
    assert found.verdict == Verdict.CANNOT_TELL


def test_the_figure_shows_every_control_and_the_condition():
    (found,) = check_controls(Calibration(estimates(), controls([0.1, -0.1, 0.0, 0.2, 0.05, 0.0])))
    labels = [text.get_text() for text in found.plot().get_yticklabels()]
    assert labels[0] == "the condition itself"
    assert len(labels) == 7
