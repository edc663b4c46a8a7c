"""Is the condition of the controls' kind, as far as the features can tell?

Calibration takes the condition's error for one more draw of the controls' errors. One thing on
which errors may depend can be seen: how well the features predict a condition within groups, its
AUC (`relprev.inference.discrimination`). Features that hardly know a condition cannot show how
groups differ, and the correction is off by as much as they do; features that nearly are the
condition leave nothing to be off. So the AUC of the condition should be one more draw of the AUCs
A_k of the controls. On the scale of log-odds,

    a_k = logit A_k ~ N(mu, tau^2 + v_k),    v_k = var(A_k) / (A_k (1 - A_k))^2,

with mu and tau as in `relprev.controls.random_effects`, and the condition's a, with its variance
v, should lie in the prediction interval mu +- t sqrt(v + tau^2 + var(mu)). If it lies above, the
controls were judged by features that are worse for them than for the condition, and their errors
are not its errors: the estimate is not calibrated by them. If it lies below, the condition's error
may well be larger than theirs. That it lies inside proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from relprev.arrays import FloatArray
from relprev.controls.random_effects import RandomEffects

NAN = float("nan")
BETTER, WORSE, ALIKE, UNKNOWN = "better", "worse", "alike", ""


@dataclass(frozen=True)
class Likeness:
    """How well the features predict the condition, beside the controls.

    Parameters
    ----------
    auc : float
        Of the condition, within groups; NaN if it is not known.
    low, high : float
        Interval in which the controls expect it; NaN with fewer than two controls.
    """

    auc: float = NAN
    low: float = NAN
    high: float = NAN

    @staticmethod
    def of(auc: float, std_error: float, controls: pd.DataFrame, level: float) -> Likeness:
        """Compare the condition with the controls.

        Parameters
        ----------
        auc, std_error : float
            Of the condition.
        controls : pandas.DataFrame
            With columns ``auc`` and ``auc_std_error``.
        level : float
            Of the prediction interval.

        Examples
        --------
        >>> controls = pd.DataFrame({"auc": [0.6, 0.65, 0.7, 0.62, 0.68], "auc_std_error": 0.01})
        >>> found = Likeness.of(0.95, 0.01, controls, 0.95)
        >>> found.words, round(found.high, 2)
        ('better', 0.78)
        """
        known = controls[_usable(controls["auc"], controls["auc_std_error"])]
        if len(known) < 2 or not _usable(auc, std_error):
            return Likeness(auc)
        value = known["auc"].to_numpy(dtype=float)
        effects = RandomEffects.of(logit(value), _variance(value, known["auc_std_error"]))
        low, high = effects.predicted(float(_variance(auc, std_error)), np.inf, level)
        return Likeness(auc, float(expit(low)), float(expit(high)))

    @property
    def words(self) -> str:
        """``"better"``, ``"worse"`` or ``"alike"``: predicted so; empty if it is not known."""
        if not self.low <= self.high:
            return UNKNOWN
        return BETTER if self.auc > self.high else WORSE if self.auc < self.low else ALIKE


def _usable(auc: ArrayLike, std_error: ArrayLike) -> NDArray[np.bool_]:
    """Whether log-odds and their variance exist."""
    value, error = np.asarray(auc, dtype=float), np.asarray(std_error, dtype=float)
    return (value > 0) & (value < 1) & (error > 0)


def _variance(auc: ArrayLike, std_error: ArrayLike) -> FloatArray:
    """Of the log-odds."""
    value, error = np.asarray(auc, dtype=float), np.asarray(std_error, dtype=float)
    out: FloatArray = (error / (value * (1 - value))) ** 2
    return out
