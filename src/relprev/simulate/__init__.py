"""Simulated data with known truth: the paper's Gauss-Synth and emergency-department visits."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.simulate.conditions import ManyConditions, visits_with_conditions
    from relprev.simulate.controls import visits_with_controls
    from relprev.simulate.gauss import gauss_synth
    from relprev.simulate.simulation import Simulation
    from relprev.simulate.visits import ed_visit_parts, ed_visits
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "ManyConditions",
    "Simulation",
    "ed_visit_parts",
    "ed_visits",
    "gauss_synth",
    "visits_with_conditions",
    "visits_with_controls",
]
