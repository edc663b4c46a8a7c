"""Control conditions: how wrong is the correction where the truth is known?"""

from relprev.controls.calibration import Calibration, calibrate
from relprev.controls.estimates import control_estimates
from relprev.controls.random_effects import RandomEffects

__all__ = ["Calibration", "RandomEffects", "calibrate", "control_estimates"]
