"""What a check is given: a cohort, estimators fitted on demand, and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from relprev.arrays import numbered
from relprev.cohort import Cohort
from relprev.estimates import COMPLEMENT

if TYPE_CHECKING:  # whoever makes the inputs has them
    from relprev.inference import DebiasedPURPLE
    from relprev.model import PURPLE

MAX_VISITS = 500_000  # default limit for checks that refit models


@dataclass(frozen=True)
class CheckInputs:
    """A cohort, its fitted estimators and the settings that checks share.

    Parameters
    ----------
    cohort : Cohort
    fit_purple, fit_debiased : functions without arguments
        Fit the estimators to the cohort; called once, by the first check that needs them.
    versus : str
        As in ``relative_prevalence``.
    reference : str
        The group that others are compared with individually.
    level : float
        Confidence level of intervals; tests reject below ``1 - level``.
    seed : int
        Seed of splits and samples.
    max_visits : int
        Largest number of visits used by checks that refit models.

    Examples
    --------
    >>> from relprev import PURPLE, DebiasedPURPLE
    >>> from relprev.checks.registry import CHECKS
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> inputs = CheckInputs(cohort, lambda: PURPLE(lambdas=1e-4).fit(cohort),
    ...                      lambda: DebiasedPURPLE(lambdas=1e-4, strengths=[1.0]).fit(cohort))
    >>> [str(result.verdict) for result in CHECKS["agreement"].results(inputs)]
    ['no concern']
    """

    cohort: Cohort
    fit_purple: Callable[[], PURPLE]
    fit_debiased: Callable[[], DebiasedPURPLE]
    versus: str = COMPLEMENT
    reference: str = ""
    level: float = 0.95
    seed: int = 0
    max_visits: int = MAX_VISITS

    @cached_property
    def purple(self) -> PURPLE:
        """The published estimator, fitted."""
        return self.fit_purple()

    @cached_property
    def debiased(self) -> DebiasedPURPLE:
        """The debiased estimator, fitted."""
        return self.fit_debiased()


def sample_patients(cohort: Cohort, most: int, seed: int) -> Cohort:
    """All visits of randomly drawn patients, at most about ``most`` visits, held in memory."""
    if cohort.n <= most:
        return cohort.collected()
    rng = np.random.default_rng([seed, 3])
    clusters = cohort.clusters
    if clusters is None:
        return cohort.take(np.sort(rng.choice(cohort.n, most, replace=False))).collected()
    patient = numbered(clusters)[1]
    rank = rng.permutation(int(patient.max()) + 1)
    visits_up_to = np.cumsum(np.bincount(rank[patient]))
    return cohort.take(np.flatnonzero(visits_up_to[rank[patient]] <= most)).collected()
