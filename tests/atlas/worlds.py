"""Worlds of many conditions for the tests of the atlas."""

from functools import cache

from relprev.simulate import ManyConditions, visits_with_conditions

CONDITIONS = ["CONDITION*"]


@cache
def world() -> ManyConditions:
    """Forty conditions in four blocks, of which two are recorded at three times the rate."""
    return visits_with_conditions(
        12_000, n_conditions=40, n_codes=60, n_blocks=4, factors=[3.0, 3.0], spread=0.05, seed=3
    )
