"""What a check is given: a cohort, estimators fitted on demand, and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from relprev.arrays import numbered
from relprev.cohort import Cohort
from relprev.cohort.summary import diagnosed_patients
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.estimates import COMPLEMENT
from relprev.messages import SMALL, Message

if TYPE_CHECKING:  # whoever makes the inputs has them
    from relprev.checks.held_out import SplitFits
    from relprev.controls import Calibration
    from relprev.inference import DebiasedPURPLE
    from relprev.model import PURPLE

MAX_VISITS = 500_000  # default limit for checks that refit models
MARGIN = 1.5  # a violation by less than this factor is taken as too small to matter
Spread = tuple[float, float]  # mean and standard deviation of a logarithm


@dataclass(frozen=True)
class CheckInputs:
    """A cohort, its fitted estimators and the settings that checks share.

    Parameters
    ----------
    cohort : Cohort
    fit_purple, fit_debiased : functions without arguments
        Fit the estimators to the cohort; called once, by the first check that needs them.
    find_calibration : function without arguments, optional
        Gives the estimates judged by controls, where they are known already.
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
    margin : float
        A violation is no concern only if its interval lies within ``[1 / margin, margin]``.
    blocks : mapping of name to features, optional
        Blocks of features that benchmarks leave out, by names of features. Default: chapters of
        the codes, see `relprev.checks.blocks`.
    alpha : (mean, SD), or mapping of (group, versus) to them, optional
        Of log alpha in the bias analysis, such as control conditions suggest: the true ratio is
        alpha times the estimate. Default: see `relprev.checks.bias_analysis`.
    fits : SplitFits, optional
        Where checks of the same cohort share fits to its splits; see `relprev.checks.held_out`.

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
    find_calibration: Callable[[], Calibration] | None = None
    versus: str = COMPLEMENT
    reference: str = ""
    level: float = 0.95
    seed: int = 0
    max_visits: int = MAX_VISITS
    margin: float = MARGIN
    blocks: Mapping[str, Sequence[str]] | None = None
    alpha: Spread | Mapping[tuple[str, str], Spread] | None = None
    fits: SplitFits | None = None

    def __post_init__(self) -> None:
        if not 1 < self.margin < np.inf:
            raise InvalidInputError(f"margin must be a finite number above 1, got {self.margin}")

    @cached_property
    def purple(self) -> PURPLE:
        """The published estimator, fitted."""
        return self.fit_purple()

    @property
    def splitting(self) -> dict[str, Any]:
        """Arguments of checks that refit models to splits of the cohort."""
        return {
            "level": self.level, "margin": self.margin, "random_state": self.seed,
            "fits": self.fits,
        }  # fmt: skip

    @property
    def log_alpha(self) -> Spread | Mapping[tuple[str, str], Spread] | None:
        """Distribution of log alpha: as given, or else what the cohort's controls suggest."""
        if self.alpha is not None or not self.cohort.control_names:
            return self.alpha
        return self.calibration.log_alpha or None

    @cached_property
    def calibration(self) -> Calibration:
        """The estimates judged by the cohort's control conditions."""
        if self.find_calibration is not None:
            return self.find_calibration()
        from relprev.controls import calibrate

        return calibrate(self.debiased, self.cohort, versus=self.versus, level=self.level)

    @cached_property
    def debiased(self) -> DebiasedPURPLE:
        """The debiased estimator, fitted."""
        return self.fit_debiased()


def well_diagnosed(cohort: Cohort) -> tuple[Cohort, list[str]]:
    """The groups with enough diagnosed patients for held-out predictions; names of the others.

    Which groups are left out shows in a report, so the limit lies above the counts hidden there.
    """
    few = diagnosed_patients(cohort) <= SMALL
    kept = np.flatnonzero(~few)
    if len(kept) < 2:
        raise TooFewCasesError(
            Message(
                "fewer than two groups have enough diagnosed patients for held-out predictions; "
                "merge groups"
            )
        )
    if not few.any():
        return cohort, []
    rows = np.flatnonzero(np.isin(cohort.groups, kept))
    names = [cohort.group_names[k] for k in np.flatnonzero(few)]
    return cohort.take(rows).with_groups(kept), names


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
