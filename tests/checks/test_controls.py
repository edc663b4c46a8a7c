"""Are conditions that are hardly ever missed left alone by the correction?"""

import numpy as np
import pandas as pd
import pytest

from relprev.checks import Verdict, check_controls
from relprev.controls import Calibration
from tests.controls.tables import controls, estimates


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


def test_the_condition_has_no_count_among_those_of_the_controls():
    """It was that of one group, below those of all groups."""
    (found,) = check_controls(Calibration(estimates(), controls([0.1, -0.1, 0.0, 0.2, 0.05])))
    assert found.table["n_recorded"].tolist() == [500] * 5 + [pd.NA]


def test_controls_cannot_tell_about_a_condition_that_features_know_far_better():
    rows = controls(np.full(20, 0.3)).assign(auc=np.linspace(0.55, 0.65, 20))
    (found,) = check_controls(Calibration(estimates(), rows, auc=(0.95, 0.01)))
    assert found.verdict == Verdict.CANNOT_TELL
    assert "better than they predict the controls (AUC within groups 0.95" in str(found.effect)
    assert found.table["auc"].iloc[-1] == 0.95


def test_controls_that_features_know_far_better_are_no_reassurance():
    rows = controls(np.zeros(20)).assign(auc=np.linspace(0.85, 0.95, 20))
    (found,) = check_controls(Calibration(estimates(), rows, auc=(0.6, 0.01)))
    assert found.verdict == Verdict.CANNOT_TELL
    assert "may be larger than theirs" in str(found.effect)
    (alike,) = check_controls(Calibration(estimates(), rows, auc=(0.9, 0.01)))
    assert alike.verdict == Verdict.NO_CONCERN
