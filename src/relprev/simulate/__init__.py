"""Simulated data with known truth: the paper's Gauss-Synth and emergency-department visits."""

from relprev.simulate.controls import visits_with_controls
from relprev.simulate.gauss import gauss_synth
from relprev.simulate.simulation import Simulation
from relprev.simulate.visits import ed_visit_parts, ed_visits

__all__ = ["Simulation", "ed_visit_parts", "ed_visits", "gauss_synth", "visits_with_controls"]
