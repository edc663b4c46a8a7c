"""Recorded rates of groups, also standardised, under the sampling design.

With weights w_i, P_gk = sum_i w_i 1(g_i, k_i = g, k) and D_gk = sum_i w_i 1(g_i, k_i = g, k) s_i
over groups g and strata k, the recorded rate of a stratum is p_gk = D_gk / P_gk, and that of a
group, standardised to shares v_k that sum to one, is

    T_g = sum_k v_k p_gk.

Without strata there is one, and T_g is the crude rate. Its linearised error is the sum over rows of

    w_i v_k 1(g_i = g) (s_i - p_gk) / P_gk    with k = k_i,

and, where the standard is the pooled data, v_k = P_k / P, also of w_i (p_gk - T_g) / P. The
variance is that of this total under the design (`relprev.inference.sampling`). Intervals are
symmetric on the scale of log(T / (1 - T)), with the t quantile of the design's degrees of freedom,
as R's ``svyciprop`` has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from relprev.arrays import FloatArray
from relprev.cohort import Cohort
from relprev.estimates import withheld
from relprev.inference.sampling import SamplingDesign

COLUMNS = ("rate", "rate_low", "rate_high", "withheld")


def recorded_rates(
    cohort: Cohort, strata: NDArray[np.integer[Any]] | None = None, names: Sequence[str] = ("all",),
    *, standard: str | Mapping[str, float] = "pooled", lonely_psu: str = "fail",
    level: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """Recorded rates of all groups with intervals.

    Parameters
    ----------
    cohort : Cohort
    strata : integer array of shape (n,), optional
        Number of every row's stratum, -1 for none. Default: all rows are in one.
    names : sequence of str
        Names of the strata.
    standard : "pooled" or mapping of stratum to share
        As in `relprev.inference.standardise`.
    lonely_psu : "fail", "adjust" or "certainty"
        As in `relprev.DebiasedPURPLE`.
    level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Columns group, rate, rate_low, rate_high and withheld (`relprev.estimates.withheld`); NaN
        for a group without rows in a stratum that the standard has, and ends that are not known.

    Notes
    -----
    Formula: :mod:`relprev.inference.rates`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> recorded_rates(cohort).drop(columns="withheld").round(3)
      group   rate  rate_low  rate_high
    0     a  0.147     0.140      0.154
    1     b  0.070     0.066      0.073
    """
    design = SamplingDesign.from_cohort(cohort, lonely_psu)
    k = np.zeros(cohort.n, dtype=np.int64) if strata is None else strata
    w = np.where(k >= 0, 1.0 if cohort.weights is None else cohort.weights, 0.0)
    s, place, count = np.asarray(cohort.diagnosed, float), np.maximum(k, 0), len(names)
    whole, pooled = np.bincount(place, w, count), isinstance(standard, str)
    shares = (
        whole if isinstance(standard, str) else np.array([standard.get(one, 0) for one in names])
    )
    v = shares / shares.sum()
    quantile = stats.t.ppf(0.5 + level / 2, design.degrees_of_freedom)
    rows = []
    for g, group in enumerate(cohort.group_names):
        inside = np.where(cohort.groups == g, w, 0.0)
        P, D = np.bincount(place, inside, count), np.bincount(place, inside * s, count)
        if empty := [f"{group} in {names[k]}" for k in np.flatnonzero((v > 0) & (P == 0)).tolist()]:
            rows.append((group, *[np.nan] * 3, withheld({"no data": empty})))
            continue
        p = np.divide(D, P, out=np.zeros(count), where=P > 0)
        T = float(v @ p)
        slope = np.divide(v, P, out=np.zeros(count), where=P > 0)
        error = inside * slope[place] * (s - p[place])
        if pooled:
            error += w * (p[place] - T) / whole.sum()
        V = float(design.covariance(design.totals([error]))[0, 0])
        rows.append((group, T, *_interval(T, np.sqrt(max(V, 0.0)), quantile), ""))
    return pd.DataFrame(rows, columns=["group", *COLUMNS])


def _interval(rate: float, error: float, quantile: float) -> FloatArray:
    if not 0 < rate < 1:
        return np.full(2, np.nan)
    half = quantile * error / (rate * (1 - rate))
    ends: FloatArray = 1 / (1 + np.exp(-(np.log(rate / (1 - rate)) + np.array([-half, half]))))
    return ends
