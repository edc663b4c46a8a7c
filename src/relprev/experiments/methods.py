"""The methods that experiments compare, by name.

As in the paper, a data set is split into training, validation and test parts. PURPLE is fitted
to the first, its penalty is chosen on the second, and its p(y=1|x) is averaged over the third.
Baselines have nothing to tune and are fitted to the first two together. Each method is compared
with the true relative prevalence of the rows it averages over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from relprev.baselines import BBE, DEDPUL, KM2, SAREM, ElkanNoto, Negative, Observed, Oracle, TIcE
from relprev.cohort import Cohort
from relprev.estimates import RelativePrevalence
from relprev.inference import DebiasedPURPLE
from relprev.model import PURPLE

REFERENCE = "b"  # experiments have two groups and estimate a versus b
# As PURPLE's authors call it, with 800 rows in place of their 3,200 (drawn with replacement).
KM2_AS_PUBLISHED = KM2(max_rows=800, component="mixture", compat="published")
# The paper says "no regularization"; the authors' code has scikit-learn's ridge and no intercept.
NO_INTERCEPT = LogisticRegression(C=1.0, fit_intercept=False, max_iter=1000)


@dataclass(frozen=True)
class Parts:
    """A data set in parts, and the true condition of the ``fit`` rows."""

    train: Cohort
    validation: Cohort
    test: Cohort
    fit: Cohort  # train and validation
    condition: NDArray[np.uint8]


@dataclass(frozen=True)
class Method:
    """A way to estimate a relative prevalence.

    Parameters
    ----------
    name : str
        As in results files.
    label : str
        As in figures.
    estimate : function of `Parts`
    judged_on : "fit" or "test"
        The rows over which it averages.
    """

    name: str
    label: str
    estimate: Callable[[Parts], RelativePrevalence]
    judged_on: Literal["fit", "test"] = "fit"


def with_validation(estimator: Any, parts: Parts) -> RelativePrevalence:
    """Fit to training rows, choose on validation rows, average over test rows."""
    fitted = clone(estimator).fit(parts.train, validation=parts.validation)
    result: RelativePrevalence = fitted.relative_prevalence(REFERENCE, on=parts.test)
    return result


def without_validation(estimator: Any, parts: Parts) -> RelativePrevalence:
    """Fit to training and validation rows together, and average over them."""
    known = {"condition": parts.condition} if isinstance(estimator, Oracle) else {}
    fitted = clone(estimator).fit(parts.fit, **known)
    result: RelativePrevalence = fitted.relative_prevalence(REFERENCE)
    return result


def _purple(name: str, label: str, **options: Any) -> Method:
    estimator = PURPLE(**options)
    return Method(name, label, partial(with_validation, estimator), judged_on="test")


def _baseline(name: str, label: str, estimator: Any) -> Method:
    return Method(name, label, partial(without_validation, estimator))


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _purple("purple", "PURPLE", selection="likelihood"),
        _purple("purple-auc", "PURPLE, chosen by AUC", selection="auc"),
        _purple("purple-no-penalty", "PURPLE, λ = 0", lambdas=0.0),
        _baseline("debiased", "DebiasedPURPLE", DebiasedPURPLE()),
        _baseline("oracle", "Oracle", Oracle()),
        _baseline("observed", "Observed", Observed()),
        _baseline("negative", "Negative", Negative()),
        _baseline("sar-em-group", "SAR-EM, group as feature", SAREM(propensity="group")),
        _baseline("sar-em", "SAR-EM", SAREM()),
        _baseline("sar-em-published", "SAR-EM, public default", SAREM(compat="published")),
        _baseline("elkan-noto", "Elkan–Noto", ElkanNoto()),
        _baseline("bbe", "BBE", BBE()),
        _baseline("dedpul", "DEDPUL", DEDPUL()),
        _baseline("tice", "TIcE", TIcE()),
        _baseline("km2", "KM2", KM2_AS_PUBLISHED),
        _baseline("negative-no-intercept", "Negative, no intercept", Negative(NO_INTERCEPT)),
    )
}
# What the authors' code does and nobody would choose is tried where their figures are reproduced.
COMPARED = tuple(name for name in METHODS if name not in (
    "purple-no-penalty", "sar-em-published", "negative-no-intercept",
))  # fmt: skip
