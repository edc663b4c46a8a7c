"""The interface of all baselines.

A baseline estimates the prevalence m_g of every group; relative prevalences are ratios of
these (see `relprev.estimates`). Each rests on an assumption that a relative prevalence does
not need (nobody goes undiagnosed; some symptoms prove the condition; the logistic curve has
exactly the right height), so prevalences stay private and only ratios are reported.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from relprev.arrays import FloatArray
from relprev.cohort import Cohort, as_cohort
from relprev.cohort.summary import summarise
from relprev.errors import DataWarning, InvalidInputError
from relprev.estimates import COMPLEMENT, RelativePrevalence, relative_prevalence
from relprev.messages import Count, Message


class Baseline(BaseEstimator, ABC):
    """What every baseline offers: ``fit`` and ``relative_prevalence``.

    Attributes
    ----------
    admits_weights : bool
        False for methods whose theory counts independent rows.
    groups_ : tuple of str
        Names, in the order of the cohort.
    n_features_in_ : int
        Number of features, as in scikit-learn.

    Notes
    -----
    Ratios of the estimated prevalences: :mod:`relprev.estimates`.

    Examples
    --------
    All baselines are used in the same way:

    >>> from relprev.baselines import SAREM, Observed
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), seed=1).cohort  # the truth is 0.43
    >>> for method in (Observed(), SAREM()):
    ...     table = method.fit(cohort).relative_prevalence(versus="b").to_frame()
    ...     print(type(method).__name__, table["estimate"].round(2).tolist())
    Observed [0.7]
    SAREM [0.44]
    """

    admits_weights: ClassVar[bool] = True

    @abstractmethod
    def fit(
        self, X: Any, s: Any = None, *, groups: Any = None, sample_weight: Any = None,
        clusters: Any = None,
    ) -> Self:  # fmt: skip
        """Estimate every group's prevalence.

        Parameters
        ----------
        X : array, sparse matrix, frame, `Matrix` or `Cohort`, shape (n, p)
            Symptoms. With a `Cohort`, give nothing else.
        s : array of shape (n,)
            Recorded diagnosis, 0 or 1.
        groups : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Refused by methods that count rows.
        clusters : array of shape (n,), optional
            Patient of each row; a patient's rows are never split.
        """

    def relative_prevalence(self, versus: str = COMPLEMENT) -> RelativePrevalence:
        """Relative prevalences, one row per contrast.

        ``versus`` is ``"complement"`` (everyone else), ``"pairwise"`` or the name of a group.
        """
        check_is_fitted(self, "groups_")
        settings = self.get_params(deep=False)
        return relative_prevalence(self._summary, versus, method=type(self).__name__, **settings)

    def _remember(self, cohort: Cohort, prevalence: FloatArray) -> Self:
        self._summary = summarise(cohort, prevalence)
        self.groups_ = cohort.group_names
        self.n_features_in_ = cohort.X.n_cols
        return self


class GroupwiseBaseline(Baseline):
    """A baseline that treats each group separately; subclasses implement `_prevalence`.

    ``least_cases`` is the smallest number of diagnosed rows the method can use. A group with
    fewer, or with nobody undiagnosed, gets NaN and a warning.
    """

    least_cases: ClassVar[int] = 1

    def fit(
        self, X: Any, s: Any = None, *, groups: Any = None, sample_weight: Any = None,
        clusters: Any = None,
    ) -> Self:  # fmt: skip
        cohort = as_cohort(X, s, groups=groups, sample_weight=sample_weight, clusters=clusters)
        if cohort.weights is not None and not self.admits_weights:
            raise InvalidInputError(
                f"{type(self).__name__} cannot use sample_weight, because it counts independent "
                "rows; fit without weights, or use a method that accepts them (PURPLE, Observed, "
                "Negative, SAREM)"
            )
        return self._remember(cohort, self._prevalences(cohort))

    @abstractmethod
    def _prevalence(self, group: Cohort) -> float:
        """Share of the group's weight with the condition."""

    def _prevalences(self, cohort: Cohort) -> FloatArray:
        found = np.full(cohort.n_groups, np.nan)
        for number in self._usable_groups(cohort):
            found[number] = self._prevalence(cohort.take(np.flatnonzero(cohort.groups == number)))
        return found

    def _usable_groups(self, cohort: Cohort) -> list[int]:
        """Numbers of the groups that can be estimated; a warning names every other."""
        usable = []
        for number, name in enumerate(cohort.group_names):
            rows = np.flatnonzero(cohort.groups == number)
            cases = int(cohort.diagnosed[rows].sum())
            if self.least_cases <= cases < len(rows):
                usable.append(number)
                continue
            said = Message(
                "group {group} gets no estimate: {method} needs more diagnosed rows ({n}), or "
                "some that are not diagnosed",
                group=repr(name), method=type(self).__name__,
                n=Count(cases, "diagnosed row", (("n_diagnosed", name),)),
            )  # fmt: skip
            warnings.warn(DataWarning(said), stacklevel=4)
        return usable
