"""Run the checks of one group variable, as stages of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relprev.checks.blocks import given_blocks
from relprev.checks.feature_counts import feature_labels
from relprev.checks.inputs import CheckInputs
from relprev.checks.registry import CHECKS
from relprev.errors import InvalidInputError
from relprev.store.stages import Outcome
from relprev.study.stages.variable import Variable

if TYPE_CHECKING:  # rewording an option must not run checks again
    from relprev.checks.held_out import SplitFits
    from relprev.study.file.options import CheckOptions
    from relprev.study.study import Study


def require_blocks(study: Study, variable: Variable) -> None:
    """Fail at a block of features that the study names and the cohort lacks, before any work."""
    if study.checks.blocks:
        try:
            given_blocks(study.checks.blocks, feature_labels(variable.cohort))
        except InvalidInputError as error:
            raise study.about(("checks", "blocks"), error) from None


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
