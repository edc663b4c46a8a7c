"""DebiasedPURPLE: relative prevalence with valid confidence intervals.

PURPLE's penalty flattens p(y=1|x) and so pulls ratios towards 1. Here the ratio of
diagnosis rates is estimated directly, by the orthogonal score of
`relprev.inference.score`, from two nuisances fitted out of fold: the group propensities
pi_g(x), an ordinary regression on all visits, and the risk m(x). Both are linear in x unless the
data say otherwise (`relprev.inference.adaptive`). Their errors enter only as a product; where that
product is not small, because there are many codes and few cases or because one of the models is
wrong, the standard error includes it (`relprev.inference.missed`, `relprev.inference.risk_error`).
Then

    rho_ab = (mu_a / mu_b) exp(theta_b - theta_a),

the recorded ratio over the diagnosis-rate ratio, with an influence function and
therefore a standard error (`relprev.inference.moments`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from relprev.arrays import FloatArray, numbered
from relprev.cohort import Cohort, as_cohort
from relprev.cohort.origin import about, origin_of
from relprev.cohort.summary import group_totals
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.estimates import COMPLEMENT
from relprev.inference.crossfit import ADAPTIVE, Deal, Fitted, Settings
from relprev.inference.estimable import domain_rows, estimable
from relprev.inference.folds import fold_of_rows, given_folds, make_folds
from relprev.inference.intervals import InferredPrevalence, infer, warn_if_thin
from relprev.inference.moments import GroupMoments, group_moments
from relprev.inference.propensity import STRENGTHS
from relprev.inference.repeats import MOST_TIMES, combined, repeats_for, unsettled
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScorePart
from relprev.model.likelihood import Problem
from relprev.model.parameters import require_reference
from relprev.model.path import Lambdas, grid
from relprev.model.screening import screen
from relprev.progress import progress


class DebiasedPURPLE(BaseEstimator):
    """Relative prevalence by the doubly robust score, with confidence intervals.

    Parameters
    ----------
    propensity : "adaptive", "ridge" or scikit-learn classifier
        Model of the group given x. ``"ridge"``: multinomial logistic regression with a ridge.
        ``"adaptive"``: the same unless a richer model (curves and products of features, then
        gradient-boosted trees) clearly tells the groups apart better, out of fold.
    risk : "adaptive", "purple", None or scikit-learn classifier
        Model of the diagnosis given x. ``"purple"``: the logistic PURPLE model. ``"adaptive"``:
        the same, unless curves and products of features clearly predict diagnoses better. None: no
        model (the case-only estimator). A classifier is fitted to s given x.
    strengths : sequence of float, optional
        Ridge strengths to choose from by out-of-fold log-loss. A third of the best one is
        then used, unless only one is given.
    lambdas : "paper", "log", float or sequence of float
        PURPLE penalties to choose from by out-of-fold deviance.
    folds : int or integer array of shape (n,)
        Number of folds, or the fold of each row, which should be the same for all rows of a
        patient or primary sampling unit.
    n_repeats : int, optional
        Number of times that folds are dealt. Default: more where cases are few or estimates hang
        on the deal, one from 2,000 diagnosed rows on.
    tuning_folds : int, optional
        Folds used to choose the strengths. Default: as many as it takes to hold 500 rows of the
        smallest group, or of the diagnosed.
    lonely_psu : "fail", "adjust" or "certainty"
        What to do with a stratum that has a single primary sampling unit.
    reference : str, optional
        Group whose diagnosis rate is 1 in ``diagnosis_ratios_``. Default: the largest.
        Relative prevalences depend on it only through the risk's scale, in the third digit.
    random_state : int
        Seed of the folds.
    verbose : bool
        Show progress on standard error.

    Attributes
    ----------
    groups_ : tuple of str
        Group names.
    reference_ : str
        The reference group.
    n_features_in_ : int
        Number of features, as in scikit-learn.
    n_rows_in_ : int
        Number of rows given to ``fit``, in the domain or not.
    diagnosis_ratios_ : pandas.Series
        Diagnosis rate of each group over that of the reference; NaN where withheld.
    moments_ : GroupMoments
        Estimates and covariance behind all results.
    design_ : SamplingDesign
        Primary sampling units and strata of the rows used.
    score_data_ : ScoreData
        Rows and nuisances the score was solved with, for the first deal of folds.
    score_theta_ : array of shape (groups,)
        Its root. ``moments_.theta`` is the median of the roots of all deals.
    propensity_ : array of shape (rows, groups)
        Out-of-fold pi_g(x) of ``rows_``, columns as in ``moments_.names``.
    risk_ : array of shape (rows,)
        Out-of-fold m(x); zeros if ``risk`` is None.
    rows_ : integer array of shape (rows,)
        Positions of the rows used (in the domain, in groups that can be estimated).
    folds_ : integer array of shape (rows,)
        Fold of each of ``rows_``.
    propensity_model_, risk_model_ : str
        The models used, such as ``"linear"`` or ``"0.80 expanded + 0.20 trees"``.
    expansion_ : Expansion or None
        Recipe of the features that were tried beyond x; None if neither model is adaptive.
    uses_expansion_ : bool
        Whether one of the two models uses them.
    n_repeats_ : int
        Number of times that folds were dealt.
    strength_, lambda_ : float
        Penalties of the propensities and of the risk; NaN if there are none.
    risk_slope_ : float
        Factor by which the risk was made steeper after the fit, to undo its penalty's flattening.
    propensity_tuning_, risk_tuning_ : pandas.DataFrame or None
        Strengths tried and their out-of-fold losses.

    Notes
    -----
    The score: :mod:`relprev.inference.score`. From it to ratios and their standard errors:
    :mod:`relprev.inference.moments`, :mod:`relprev.inference.sampling`. The two models fitted
    out of fold: :mod:`relprev.inference.nuisance`. What the risk model misses and standard errors
    must include: :mod:`relprev.inference.missed`; what its own errors add:
    :mod:`relprev.inference.risk_error`. Richer models: :mod:`relprev.inference.adaptive`. Several
    deals of folds: :mod:`relprev.inference.repeats`.

    Examples
    --------
    >>> from relprev import DebiasedPURPLE
    >>> from relprev.simulate import ed_visits
    >>> visits = ed_visits(20_000, n_codes=50, prevalence=0.2, seed=1)
    >>> fitted = DebiasedPURPLE(lambdas=1e-4).fit(visits.cohort)
    >>> result = fitted.relative_prevalence("Group B")
    >>> table = result.to_frame().set_index("group")
    >>> table["truth"] = visits.relative_prevalence("Group B").to_frame()["estimate"].to_numpy()
    >>> table[["observed_ratio", "estimate", "ci_low", "ci_high", "truth"]].round(2)
             observed_ratio  estimate  ci_low  ci_high  truth
    group
    Group A            0.44      1.21    1.13     1.30   1.15
    Group C            0.79      1.26    1.18     1.34   1.20
    Group D            0.75      1.31    1.22     1.42   1.25
    """

    def __init__(
        self,
        propensity: Any = ADAPTIVE,
        risk: Any = ADAPTIVE,
        *,
        strengths: Sequence[float] | None = None,
        lambdas: Lambdas = "paper",
        folds: int | ArrayLike = 5,
        n_repeats: int | None = None,
        tuning_folds: int | None = None,
        lonely_psu: str = "fail",
        reference: str | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.propensity = propensity
        self.risk = risk
        self.strengths = strengths
        self.lambdas = lambdas
        self.folds = folds
        self.n_repeats = n_repeats
        self.tuning_folds = tuning_folds
        self.lonely_psu = lonely_psu
        self.reference = reference
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, s: Any = None, *, groups: Any = None, sample_weight: Any = None,
        clusters: Any = None, strata: Any = None, psus: Any = None, domain: Any = None,
    ) -> DebiasedPURPLE:  # fmt: skip
        """Fit the nuisances out of fold and solve the score; returns the estimator itself.

        Parameters
        ----------
        X : array, sparse matrix, frame, `Matrix` or `Cohort`, shape (n, p)
            Symptoms. With a cohort, give nothing else but ``domain``.
        s, groups : arrays of shape (n,)
            Recorded diagnosis (0 or 1) and group of each row.
        sample_weight, clusters, strata, psus : arrays of shape (n,), optional
            Weight, patient, stratum and primary sampling unit of each row.
        domain : boolean array of shape (n,), optional
            Rows to estimate on. The others still count as part of the survey design.
        """
        cohort = as_cohort(
            X, s, groups=groups, sample_weight=sample_weight, clusters=clusters,
            strata=strata, psus=psus,
        )  # fmt: skip
        self._check_parameters(cohort)
        design = SamplingDesign.from_cohort(cohort, self.lonely_psu)
        inside = None if domain is None else domain_rows(domain, cohort.n)
        in_domain = cohort if inside is None else cohort.take(inside)
        kept, rows = estimable(in_domain)
        self.rows_ = rows if inside is None else inside[rows]
        self._summarise(in_domain)
        screen(kept, domain=inside is not None)
        self._estimate(kept, design if len(rows) == cohort.n else design.take(self.rows_))
        self._remember(cohort)
        return self

    def relative_prevalence(
        self, versus: str = COMPLEMENT, *, level: float = 0.95
    ) -> InferredPrevalence:
        """Relative prevalence of each group, with standard errors and intervals at ``level``.

        Parameters
        ----------
        versus : str
            ``"complement"`` (everybody else), ``"pairwise"`` or a group's name.
        level : float
            Coverage of the intervals.
        """
        check_is_fitted(self)
        return infer(
            self.moments_, self.groups_, self._n, self._n_diagnosed, self._recorded, versus,
            level=level, method=type(self).__name__,
            settings={"strength": self.strength_, "lambda_": self.lambda_,
                      "random_state": self.random_state},
        )  # fmt: skip

    # -- fitting ---------------------------------------------------------------------------

    def _check_parameters(self, cohort: Cohort) -> None:
        fold = np.asarray(self.folds)
        fits = fold.shape == (cohort.n,) if fold.ndim else fold >= 2
        if fold.dtype.kind not in "iu" or not fits:
            raise InvalidInputError(
                f"folds must be a whole number, 2 or more, or the fold of each of {cohort.n:,} "
                f"rows, got {self.folds!r}"
            )
        for name in ("propensity", "risk"):
            value = getattr(self, name)
            known = {"propensity": "ridge", "risk": "purple"}[name]
            if isinstance(value, str) and value not in (ADAPTIVE, known):
                raise InvalidInputError(
                    f"{name} must be {ADAPTIVE!r}, {known!r} or a classifier, got {value!r}"
                )
        if self.n_repeats is not None and (
            not isinstance(self.n_repeats, int | np.integer) or self.n_repeats < 1
        ):
            raise InvalidInputError(
                f"n_repeats must be a whole number, 1 or more, or None, got {self.n_repeats!r}"
            )
        given = [0.0] if self.strengths is None else list(self.strengths)
        if not given or any(not 0 <= value < np.inf for value in given):
            raise InvalidInputError(
                f"strengths must hold one or more finite numbers >= 0, got {self.strengths}"
            )
        require_reference(self.reference, cohort)

    def _estimate(self, kept: Cohort, design: SamplingDesign) -> None:
        problem = Problem.from_cohort(about(kept, origin_of(kept)))
        given = None if np.ndim(self.folds) == 0 else np.asarray(self.folds)[self.rows_]
        repeats = 1
        if given is None:
            repeats = self.n_repeats or repeats_for(int(kept.diagnosed.sum()))
        most = repeats * MOST_TIMES if given is None and self.n_repeats is None else repeats
        reference = int(np.argmax(problem.group_weight))
        if self.reference in kept.group_names:
            reference = kept.group_names.index(str(self.reference))
        settings = Settings(
            self.propensity, self.risk, self._strengths(), grid(self.lambdas, problem),
            self.tuning_folds, self.random_state,
        )  # fmt: skip
        found: list[GroupMoments] = []
        with progress("DebiasedPURPLE", self._steps(settings, repeats), self.verbose) as advance:
            while len(found) < repeats or (len(found) < most and unsettled(found)):
                folds = (
                    make_folds(
                        kept, design, int(np.asarray(self.folds)), self.random_state + len(found),
                        warn=not found,
                    )
                    if given is None
                    else given_folds(kept, given)
                )  # fmt: skip
                deal = Deal(problem, design, folds, reference, _n_patients(kept), settings, advance)
                try:
                    fitted = deal.fit()
                except TooFewCasesError:
                    if len(found) < repeats:
                        raise
                    break  # there are as many as there have to be
                found.append(group_moments(fitted.data, fitted.theta, kept.group_names, design))
                if len(found) == 1:
                    self.folds_ = fold_of_rows(folds)
                    self._keep(fitted)
                    settings = settings.like(fitted)
        self.n_repeats_ = len(found)
        self.design_ = design
        self.moments_ = combined(found)
        warn_if_thin(self.moments_)

    def _keep(self, fitted: Fitted) -> None:
        """What is kept of the first deal of folds."""
        self.score_data_, self.score_theta_ = fitted.data, fitted.theta
        self.strength_, self.lambda_, self.risk_slope_ = (
            fitted.strength, fitted.lambda_, fitted.slope,
        )  # fmt: skip
        self.propensity_tuning_, self.risk_tuning_ = fitted.propensity_tuning, fitted.risk_tuning
        self.propensity_model_, self.risk_model_ = fitted.propensity_model, fitted.risk_model
        self.expansion_ = fitted.expansion

    def _steps(self, settings: Settings, repeats: int) -> int:
        """Steps of the progress bar, if nothing but linear models is fitted."""
        folds = int(np.asarray(self.folds)) if np.ndim(self.folds) == 0 else 5
        first = (len(settings.strengths) + folds) * isinstance(self.propensity, str)
        first += (len(settings.lambdas) + folds) * isinstance(self.risk, str)
        return first + 2 * folds * (repeats - 1)

    @property
    def propensity_(self) -> FloatArray:
        """Out-of-fold pi_g(x) of ``rows_``."""
        return self.scores_in_memory().propensity

    @property
    def risk_(self) -> FloatArray:
        """Out-of-fold m(x) of ``rows_``."""
        return self.scores_in_memory().risk

    def scores_in_memory(self) -> ScorePart:
        """Rows and nuisances of the score, of shape (rows, ...); an error for a cohort in parts.

        Examples
        --------
        >>> from relprev.simulate import gauss_synth
        >>> cohort = gauss_synth((0.5, 0.1), n=(500, 1000), seed=1).cohort
        >>> fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(cohort)
        >>> fitted.scores_in_memory().propensity.shape
        (1500, 2)
        """
        check_is_fitted(self)
        return self.score_data_.in_memory("this attribute")

    @property
    def uses_expansion_(self) -> bool:
        """Whether one of the two models uses the features of ``expansion_``."""
        return "expanded" in self.propensity_model_ + self.risk_model_

    @property
    def ridge_(self) -> float:
        """The ridge of the propensities, or the weakest of the default ones if they have none."""
        return min(STRENGTHS) if np.isnan(self.strength_) else self.strength_

    def _strengths(self) -> Sequence[float]:
        return STRENGTHS if self.strengths is None else self.strengths

    def _summarise(self, cohort: Cohort) -> None:
        """Counts and weights of all groups, including those without an estimate."""
        self.groups_ = cohort.group_names
        self._n, self._n_diagnosed, weight, recorded = group_totals(cohort)
        self._recorded = np.array([weight, recorded])

    def _remember(self, cohort: Cohort) -> None:
        self.n_features_in_, self.n_rows_in_ = cohort.n_cols, cohort.n
        self.reference_ = self.moments_.names[self.score_data_.reference]
        known = self.moments_.has_estimate
        shown = known & known[self.score_data_.reference]
        ratios = pd.Series(
            np.where(shown, np.exp(self.moments_.theta), np.nan), index=list(self.moments_.names)
        )
        self.diagnosis_ratios_ = ratios.reindex(list(self.groups_)).rename("diagnosis_ratio")


def _n_patients(cohort: Cohort) -> int:
    clusters = cohort.clusters
    return cohort.n if clusters is None else len(numbered(clusters)[0])
