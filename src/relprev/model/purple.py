"""PURPLE: relative prevalence of an underreported condition.

The model is p(s=1|x,g) = p(y=1|x) c_g (see `relprev.model.likelihood`). The mean
of p(y=1|x) over a group, divided by that over another, is the relative
prevalence; p(y=1|x) and the c_g are known only up to a common factor, which
cancels.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from relprev.cohort import Cohort, as_cohort
from relprev.cohort.alignment import aligned
from relprev.cohort.origin import about, origin_of
from relprev.cohort.summary import summarise
from relprev.errors import InvalidInputError
from relprev.estimates import COMPLEMENT, GroupSummary, RelativePrevalence, relative_prevalence
from relprev.matrix import Matrix
from relprev.messages import SMALL
from relprev.model.adaptive import ADAPTIVE, fit_adaptive
from relprev.model.condition import ConditionModel, condition_model, learnt_condition
from relprev.model.em import fit_em
from relprev.model.likelihood import Problem
from relprev.model.logistic import LogisticFit, fit_logistic
from relprev.model.parameters import (
    require_finite,
    require_reference,
    require_share,
    require_whole,
)
from relprev.model.path import RIDGE_FLOOR, Lambdas, grid
from relprev.model.prediction import checked_matrix, group_numbers
from relprev.model.screening import screen, screen_diagnoses
from relprev.model.solver import SolverOptions
from relprev.progress import Advance, progress


class PURPLE(BaseEstimator):
    """Positive-Unlabeled Relative PrevaLence Estimator.

    Parameters
    ----------
    lambdas : "paper", "log", float or sequence of float
        L1 penalties to choose from, in units of the mean loss. ``"paper"``: 1e-2,
        1e-3, ..., 1e-6, 0. ``"log"``: 20 values, evenly spaced on the log scale below
        the smallest penalty that removes all features, and 0. A single number is
        used as given, without a validation split.
    selection : "likelihood", "auc" or "cv"
        How to choose: log-likelihood on held-out patients, AUC on held-out patients
        (as in the paper), or log-likelihood in cross-validation.
    validation_share : float
        Share of patients held out to choose the penalty. The final fit uses all.
    folds : int
        Number of folds for ``selection="cv"``.
    l2 : float
        Ridge penalty on the coefficients.
    ridge_floor : float
        Smallest ridge, as a share of the information in the data; keeps finite the coefficients
        of codes that never occur with a diagnosis. See `relprev.model.path`.
    reference : str, optional
        Group whose diagnosis rate is 1 in ``diagnosis_ratios_``. Default: the largest.
    learner : "adaptive" or scikit-learn classifier, optional
        Model of p(y=1|x), for interactions and non-linear effects. ``"adaptive"``: a logistic
        model, also of curves and products of features if that clearly predicts rows held out
        better. A classifier is fitted by EM. Default: a logistic model, fitted directly.
    n_starts : int
        Starting points of the final fit. The likelihood is not concave; a warning says if
        they end in different optima.
    tolerance : float
        Largest optimality residual accepted, see `relprev.model.solver`.
    max_iterations : int
        Limit on the Newton iterations of a fit.
    em_iterations : int
        Limit on the EM steps of a fit with a ``learner``.
    random_state : int
        Seed of the validation split.
    verbose : bool
        Show progress on standard error.

    Attributes
    ----------
    groups_ : tuple of str
        Group names.
    reference_ : str
        The reference group.
    diagnosis_ratios_ : pandas.Series
        Diagnosis rate of each group over that of the reference.
    coef_ : array of shape (p,)
        Coefficients w of the log-odds of p(y=1|x) (logistic model). With an ``expansion_``, those
        of its features follow, all about their ``origin_``.
    intercept_ : float
        Constant b of the log-odds (logistic model).
    expansion_ : Expansion or None
        Recipe of the curves and products that are used (``learner="adaptive"``).
    origin_ : array of shape (p,)
        What is subtracted from features far from zero before they are expanded.
    lambda_ : float
        The penalty used.
    selection_ : pandas.DataFrame or None
        Penalties tried and their validation scores.
    certificate_ : Certificate
        Optimality residual, iterations and why the solver stopped.
    learner_, losses_ : classifier and list of float
        The fitted ``learner`` and the loss after each EM step (only with a ``learner``).
    n_features_in_ : int
        Number of features, as in scikit-learn.
    feature_names_in_ : array of shape (p,)
        Names of the features, if there are any.

    Notes
    -----
    Model and loss: :mod:`relprev.model.likelihood`. The ratio: :mod:`relprev.estimates`. Curves and
    products of features: :mod:`relprev.model.expansion`.

    References
    ----------
    Shanmugam, Hou and Pierson, "Quantifying disparities in intimate partner violence:
    a machine learning method to correct for underreporting".

    Examples
    --------
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.1), seed=1)
    >>> fitted = PURPLE(lambdas=0.0).fit(data.cohort)
    >>> table = fitted.relative_prevalence(versus="b").to_frame()
    >>> table[["group", "observed_ratio", "estimate"]].round(2)  # the truth is 0.43
      group  observed_ratio  estimate
    0     a            2.12      0.43

    The risk is known up to a factor, so only its ratios have a meaning:

    >>> risk = fitted.predict_condition(data.cohort.X)
    >>> a, b = (data.cohort.groups == 0), (data.cohort.groups == 1)
    >>> round(risk[a].mean() / risk[b].mean(), 2)
    np.float64(0.43)

    The probability of a recorded diagnosis is known in full:

    >>> predicted = fitted.predict_diagnosis(data.cohort.X, data.cohort.group_labels)
    >>> round(predicted.sum() / data.cohort.diagnosed.sum(), 2)
    np.float64(1.0)
    """

    def __init__(
        self,
        lambdas: Lambdas = "paper",
        *,
        selection: str = "likelihood",
        validation_share: float = 0.25,
        folds: int = 5,
        l2: float = 0.0,
        ridge_floor: float = RIDGE_FLOOR,
        reference: str | None = None,
        learner: Any = None,
        n_starts: int = 2,
        tolerance: float = 1e-4,
        max_iterations: int = 1000,
        em_iterations: int = 100,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.lambdas = lambdas
        self.selection = selection
        self.validation_share = validation_share
        self.folds = folds
        self.l2 = l2
        self.ridge_floor = ridge_floor
        self.reference = reference
        self.learner = learner
        self.n_starts = n_starts
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.em_iterations = em_iterations
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, s: Any = None, *, groups: Any = None, sample_weight: Any = None,
        clusters: Any = None, validation: Cohort | None = None,
    ) -> PURPLE:  # fmt: skip
        """Fit the model; returns the estimator itself.

        Parameters
        ----------
        X : array, sparse matrix, frame, `Matrix` or `Cohort`, shape (n, p)
            Symptoms. With a cohort, give nothing else but ``validation``.
        s, groups : arrays of shape (n,)
            Recorded diagnosis (0 or 1) and group of each row.
        sample_weight, clusters : arrays of shape (n,), optional
            Weight and patient of each row; a patient's rows are never split.
        validation : Cohort, optional
            Rows on which the penalty is chosen and which the fit does not use. It has the same
            groups, in any order.
        """
        self._check_parameters()
        cohort = as_cohort(X, s, groups=groups, sample_weight=sample_weight, clusters=clusters)
        require_reference(self.reference, cohort)
        if self._is_classifier:
            cohort.in_memory("learner")
        if validation is not None:
            names, width = cohort.group_names, cohort.n_cols
            validation = aligned(validation, names, width, "validation")
        screen(cohort)
        screen_diagnoses(cohort, SMALL if validation is None else 0)  # else some are elsewhere
        return self._fit(cohort, validation)

    def chosen_by(self, selection: str, cohort: Cohort, validation: Cohort) -> PURPLE:
        """The estimator that another ``selection`` gives, from the path fitted by this one.

        Parameters
        ----------
        selection : "likelihood" or "auc"
            How to choose the penalty.
        cohort, validation : Cohort
            Those of ``fit``.

        Returns
        -------
        PURPLE
            As if it were fitted anew.

        Examples
        --------
        >>> from relprev.simulate import gauss_synth
        >>> train, held_out = (gauss_synth((0.5, 0.1), seed=k).cohort for k in (1, 2))
        >>> fitted = PURPLE([0.01, 0.001]).fit(train, validation=held_out)
        >>> fitted.chosen_by("auc", train, held_out).selection
        'auc'
        """
        check_is_fitted(self)
        screen(cohort)
        screen_diagnoses(cohort, 0)
        other: PURPLE = clone(self).set_params(selection=selection)
        return other._fit(cohort, validation, self._logistic if self.learner is None else None)

    def _fit(
        self, cohort: Cohort, validation: Cohort | None, earlier: LogisticFit | None = None
    ) -> PURPLE:
        self.origin_ = origin_of(cohort)
        problem = Problem.from_cohort(about(cohort, self.origin_))
        judged = None
        if validation is not None:
            judged = Problem.from_cohort(about(validation, self.origin_))
        steps = self._n_steps(len(grid(self.lambdas, problem)), validation is not None)
        with progress("PURPLE", steps, self.verbose) as advance:
            self._fit_logistic(cohort, problem, judged, advance, earlier)
            if self.expansion_ is None:
                self.intercept_ -= float(self.origin_ @ self.coef_)
            if self._is_classifier:
                self._fit_learner(cohort, advance)
        self._remember(cohort)
        return self

    def predict_condition(self, X: Any) -> NDArray[np.float64]:
        """The risk p(y=1|x) of each row, shape (n,), times an unknown factor: use ratios only.

        Parameters
        ----------
        X : array, sparse matrix, frame or `Matrix`, shape (n, p)
            Symptoms, columns as in ``fit``.
        """
        check_is_fitted(self)
        return self._condition(self._checked(X))

    def predict_diagnosis(self, X: Any, groups: Any) -> NDArray[np.float64]:
        """The probability p(s=1|x,g) of a recorded diagnosis, shape (n,).

        Parameters
        ----------
        X : array, sparse matrix, frame or `Matrix`, shape (n, p)
            Symptoms, columns as in ``fit``.
        groups : array of shape (n,)
            Group name of each row.
        """
        check_is_fitted(self)
        X = self._checked(X)
        return self._rates[group_numbers(groups, self.groups_, X.n_rows)] * self._condition(X)

    def relative_prevalence(
        self, versus: str = COMPLEMENT, *, on: Cohort | None = None
    ) -> RelativePrevalence:
        """Relative prevalence of each group; `RelativePrevalence.to_frame` gives the table.

        Parameters
        ----------
        versus : str
            ``"complement"`` (everybody else), ``"pairwise"`` or a group's name.
        on : Cohort, optional
            Rows over which p(y=1|x) is averaged, with the groups of ``fit`` in any order.
            Default: those used in ``fit``.
        """
        check_is_fitted(self)
        summary = self._summary
        if on is not None:
            summary = self._summarise(aligned(on, self.groups_, self.n_features_in_, "on"))
        return relative_prevalence(
            summary, versus, method=type(self).__name__, lambda_=self.lambda_,
            random_state=self.random_state,
        )  # fmt: skip

    # -- fitting ---------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        require_share(validation_share=self.validation_share, tolerance=self.tolerance)
        require_whole(2, folds=self.folds)
        require_whole(
            1, n_starts=self.n_starts, max_iterations=self.max_iterations,
            em_iterations=self.em_iterations,
        )  # fmt: skip
        require_finite(l2=self.l2, ridge_floor=self.ridge_floor)
        if isinstance(self.learner, str) and self.learner != ADAPTIVE:
            raise InvalidInputError(
                f"learner must be {ADAPTIVE!r}, a classifier or None, got {self.learner!r}"
            )

    @property
    def _is_classifier(self) -> bool:
        return self.learner is not None and self.learner != ADAPTIVE

    def _n_steps(self, n_lambdas: int, validated: bool) -> int:
        models = 2 if self.learner == ADAPTIVE else 1
        if n_lambdas == 1 and not validated and models == 1:
            return self.n_starts
        rounds = self.folds if self.selection == "cv" and not validated else 1
        return models * (n_lambdas * rounds + self.n_starts)

    def _fit_logistic(
        self, cohort: Cohort, problem: Problem, judged: Problem | None, advance: Advance,
        earlier: LogisticFit | None = None,
    ) -> None:  # fmt: skip
        """The logistic model of the problem's features and, if it is adaptive, of more."""

        def fit(problem: Problem, judged: Problem | None) -> LogisticFit:
            return fit_logistic(
                cohort, problem, grid(self.lambdas, problem), judged, selection=self.selection,
                validation_share=self.validation_share, folds=self.folds, n_starts=self.n_starts,
                seed=self.random_state, l2=self.l2, ridge_floor=self.ridge_floor,
                options=SolverOptions(self.tolerance, max_iterations=self.max_iterations),
                advance=advance, scored=self.learner == ADAPTIVE, earlier=earlier,
            )  # fmt: skip

        richer = self.learner == ADAPTIVE
        found, self.expansion_ = fit_adaptive(fit, problem, judged, richer=richer)
        self._logistic = found
        self._learner: Any = None
        self.lambda_, self.selection_ = found.penalty, found.selection
        self.certificate_ = found.solution.certificate
        best = found.solution.parameters
        self.coef_, self.intercept_, self._rates = best.w, best.b, best.c

    def _fit_learner(self, cohort: Cohort, advance: Advance) -> None:
        p = self._condition(cohort.X)
        found = fit_em(
            Problem.from_cohort(cohort), self.learner, p, self._rates,
            max_iterations=self.em_iterations, advance=advance,
        )  # fmt: skip
        self._learner, self._rates = found.learner, found.c
        self.learner_, self.losses_ = found.learner, found.losses

    def _remember(self, cohort: Cohort) -> None:
        self.groups_ = cohort.group_names
        self.n_features_in_ = cohort.n_cols
        if cohort.feature_names is not None:
            self.feature_names_in_ = np.asarray(cohort.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._summary = self._summarise(cohort)
        self.reference_ = self.reference or self.groups_[int(np.argmax(self._summary.weight))]
        rates = pd.Series(self._rates, index=list(self.groups_), name="diagnosis_ratio")
        self.diagnosis_ratios_ = rates / rates[self.reference_]

    # -- predicting ------------------------------------------------------------------------

    def _condition(self, X: Matrix) -> NDArray[np.float64]:
        return self._condition_model()(X)

    def _condition_model(self) -> ConditionModel:
        if self._learner is not None:
            return partial(learnt_condition, self._learner)
        return condition_model(self.coef_, self.intercept_, self.expansion_, self.origin_)

    def _checked(self, X: Any) -> Matrix:
        return checked_matrix(X, self.n_features_in_, getattr(self, "feature_names_in_", None))

    def _summarise(self, cohort: Cohort) -> GroupSummary:
        return summarise(cohort, self._condition_model(), self._rates)
