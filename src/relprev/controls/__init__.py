"""Control conditions: how wrong is the correction where the truth is known?"""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.controls.calibration import Calibration, calibrate
    from relprev.controls.estimates import control_estimates
    from relprev.controls.random_effects import RandomEffects
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["Calibration", "RandomEffects", "calibrate", "control_estimates"]
