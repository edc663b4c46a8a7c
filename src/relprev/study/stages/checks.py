"""Run the checks of one group variable, as stages of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relprev.checks.inputs import CheckInputs
from relprev.checks.registry import CHECKS
from relprev.store.stages import Outcome
from relprev.study.stages.variable import Variable

if TYPE_CHECKING:  # rewording an option must not run checks again
    from relprev.checks.held_out import SplitFits
    from relprev.study.file.options import CheckOptions


def run_check(
    variable: Variable, kind: str, options: CheckOptions, fits: SplitFits | None = None
) -> Outcome:
    """The results of one check; sensitivity has one for each pair of groups."""
    inputs = CheckInputs(
        variable.cohort, lambda: variable.purple, lambda: variable.debiased,
        lambda: variable.calibration,
        versus=variable.versus, reference=variable.reference, level=variable.options.level,
        seed=variable.seed, max_visits=options.max_visits, margin=options.margin,
        blocks=options.blocks or None, fits=fits,
    )  # fmt: skip
    return Outcome.of(CHECKS[kind].results(inputs))
