"""Standardised relative prevalence: as if every group had the same distribution of strata.

Let k number strata (such as age and sex), w_k be the standard's shares, which sum to one, and
P_gk = E[1(g, k)], D_gk = E[1(g, k) s] the shares of visits and of recorded cases. The diagnosis
rate c_g of a group is taken to be the same in all strata, as the method assumes anyway, so
D_gk e^{-theta_g} / P_gk is the prevalence of group g in stratum k, up to one factor for all. For a
set B of groups (one group, or everybody else), with r_h = e^{-theta_h},

    T_B = sum_k w_k p_Bk,    p_Bk = sum_{h in B} D_hk r_h / sum_{h in B} P_hk,

and the standardised relative prevalence is T_g / T_B. With r = 1 it is the directly standardised
ratio of recorded rates. Two sides can be compared if each has visits in every stratum that the
standard has; of everybody else taken together, one group may lack a stratum in which others have
some, and then does not count there. Writing P_Bk for the denominator, the gradient of log T_B is

    in D_hk       w_k r_h / (P_Bk T_B)
    in P_hk     - w_k p_Bk / (P_Bk T_B)
    in theta_h  - sum_k w_k D_hk r_h / (P_Bk T_B)

and, where the standard is the pooled data, w_k = sum_h P_hk / P, for every group h also

    in P_hk       (p_Bk - T_B) / (P T_B).

The influence functions of D_gk, P_gk and theta are 1(g_i, k_i = g, k) s_i - D_gk,
1(g_i, k_i = g, k) - P_gk and J^{-1} U_i (`relprev.inference.score`), so that of log T_g - log T_B
is their sum with these factors, and its variance is that of its total under the sampling design.
Intervals are those of `relprev.inference.intervals`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from relprev.arrays import FloatArray
from relprev.errors import InvalidInputError
from relprev.estimates import COMPLEMENT, contrasts, versus_words, withheld
from relprev.inference.debiased import DebiasedPURPLE
from relprev.inference.moments import inverse_slope
from relprev.inference.score import ScorePart, row_scores

POOLED = "pooled"
Labels = NDArray[np.integer[Any]]


def standardise(
    fitted: DebiasedPURPLE,
    strata: Any,
    versus: str = COMPLEMENT,
    *,
    standard: str | Mapping[str, float] = POOLED,
    level: float = 0.95,
) -> pd.DataFrame:
    """Relative prevalences standardised to a distribution of strata.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted estimator.
    strata : array of shape (n,)
        Stratum of every row that the estimator was fitted on, as text; rows without one ("") do not
        count for the standardised rates.
    versus : str
        ``"complement"`` (everybody else), ``"pairwise"`` or a group's name.
    standard : "pooled" or mapping of stratum to share
        The distribution: that of all rows together, or one given. Shares are scaled to sum to one;
        strata that it does not name have none.
    level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        One row per contrast: group, versus; estimate (standardised), observed_ratio (standardised,
        of recorded rates) and unadjusted, each with its interval; std_error of the logarithm of
        estimate; withheld (`relprev.estimates.withheld`). NaN, with the reason in ``withheld``, for
        groups without an estimate or without visits in a stratum of the standard; everyone else
        together needs visits in every stratum, not each group of them.

    Notes
    -----
    Formula: :mod:`relprev.inference.standardising`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(cohort)
    >>> old = np.random.default_rng(0).random(cohort.n) < 0.3
    >>> table = standardise(fitted, np.where(old, "old", "young"), "b", standard={"old": 0.5,
    ...                     "young": 0.5})
    >>> table[["group", "versus", "estimate", "unadjusted"]].round(2)
      group versus  estimate  unadjusted
    0     a      b      0.44        0.43
    """
    labels = np.asarray(strata).astype(str)
    if labels.ndim != 1 or (len(fitted.rows_) and len(labels) <= int(fitted.rows_.max())):
        raise InvalidInputError(
            f"strata must have one label for each row of fit, got shape {labels.shape}"
        )
    names, place = np.unique(labels[fitted.rows_], return_inverse=True)
    known = [str(name) for name in names if name]
    number = place.astype(np.int32) - int("" in names)
    return standardised(fitted, number, known, versus, standard=standard, level=level)


def standardised(
    fitted: DebiasedPURPLE, strata: Labels, names: Sequence[str], versus: str = COMPLEMENT, *,
    standard: str | Mapping[str, float] = POOLED, level: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """`standardise` with the number of each estimated row's stratum, -1 for none."""
    data, moments = fitted.score_data_, fitted.moments_
    K, S = len(moments.names), len(names)
    P, D = data.total(_cells, K, S, each=data.cut(strata))
    w, pooled = _shares(P, names, standard)
    unadjusted = fitted.relative_prevalence(versus, level=level).to_frame()
    place = {name: moments.names.index(name) for name in moments.estimated}
    reasons = list(unadjusted["withheld"])
    rows: list[int | None] = []
    wanted: list[float] = []
    gradients: list[tuple[Any, ...]] = []
    for row, (g, h) in enumerate(contrasts(fitted.groups_, versus)):
        others = [k for k in range(len(fitted.groups_)) if k != g] if h is None else [h]
        of = [place.get(fitted.groups_[k], -1) for k in (g, *others)]
        sides = of[:1], of[1:]
        empty = _empty(P, w, sides, moments.names, names) if min(of) >= 0 else []
        reasons[row] = withheld({"no data": empty}) if empty else reasons[row]
        rows.append(None if empty or min(of) < 0 else len(wanted))
        if rows[-1] is not None:
            contrast = moments.contrast(of[0], np.array(of[1:]))
            wanted.append(contrast.effective_cases)
            for r, corrected in ((np.exp(-moments.theta), 1.0), (np.ones(K), 0.0)):
                one, two = (_log_total(P, D, w, r, B, pooled) for B in sides)
                of_theta = corrected * (one[3] - two[3])
                gradients.append((one[0] - two[0], one[1] - two[1], one[2] - two[2], of_theta))
    table = unadjusted[["group", "versus"]].copy()
    table[["unadjusted", "unadjusted_ci_low", "unadjusted_ci_high"]] = unadjusted[
        ["estimate", "ci_low", "ci_high"]
    ]
    found = _with_intervals(fitted, strata, gradients, wanted, level)
    blank = dict.fromkeys(_COLUMNS, np.nan)
    made = pd.DataFrame([blank if at is None else found[at] for at in rows], columns=_COLUMNS)
    return pd.concat([table, made], axis=1).assign(withheld=reasons)


_COLUMNS = [
    "estimate", "ci_low", "ci_high", "observed_ratio", "observed_ci_low", "observed_ci_high",
    "std_error",
]  # fmt: skip


def _with_intervals(
    fitted: DebiasedPURPLE, strata: Labels, gradients: Sequence[tuple[Any, ...]],
    cases: Sequence[float], level: float,
) -> list[dict[str, float]]:  # fmt: skip
    """Values with intervals; gradients come in pairs, corrected and recorded."""
    if not gradients:
        return []
    data, design, moments = fitted.score_data_, fitted.design_, fitted.moments_
    inverse = inverse_slope(data, fitted.score_theta_)  # of the first deal of folds
    slopes = [(of_P, of_D, of_theta @ inverse) for _, of_P, of_D, of_theta in gradients]
    V = design.covariance_in_parts(
        data, _influence, fitted.score_theta_, slopes, each=data.cut(strata)
    )
    error = np.sqrt(np.diag(V))
    found = []
    for k, effective in enumerate(cases):
        freedom = moments.degrees_of_freedom
        df = np.array([min(freedom, max(effective, 1.0)), freedom])
        value = np.array([gradients[2 * k][0], gradients[2 * k + 1][0]])
        half = stats.t.ppf(0.5 + level / 2, df) * error[2 * k : 2 * k + 2]
        ends = [np.exp(value + side * half) for side in (0, -1, 1)]
        numbers = [*(float(end[0]) for end in ends), *(float(end[1]) for end in ends)]
        found.append(dict(zip(_COLUMNS, [*numbers, float(error[2 * k])], strict=True)))
    return found


def _log_total(
    P: FloatArray, D: FloatArray, w: FloatArray, r: FloatArray, B: Sequence[int], pooled: bool
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """log T_B and its gradients in P and D, shape (K, S), and in theta, shape (K,)."""
    used = w > 0
    below = np.where(used, P[B].sum(axis=0), 1.0)
    p = np.where(used, (D[B] * r[B, None]).sum(axis=0) / below, 0.0)
    T = float(w @ p)
    of_P, of_D, of_theta = np.zeros_like(P), np.zeros_like(P), np.zeros(len(P))
    of_D[B] = w * r[B, None] / (below * T)
    of_P[B] = -w * p / (below * T)
    of_theta[B] = -(of_D[B] * D[B]).sum(axis=1)
    if pooled:
        of_P += np.where(used, (p - T) / (P.sum() * T), 0.0)
    return float(np.log(T)) if T > 0 else -np.inf, of_P, of_D, of_theta


def _influence(
    data: ScorePart, strata: Labels, theta: FloatArray, slopes: Sequence[tuple[FloatArray, ...]]
) -> Iterator[FloatArray]:
    """omega * influence of every value, shape (n,) each."""
    U = row_scores(data.with_all_risk(), theta)
    inside = strata >= 0
    at = (data.g[inside], strata[inside])
    for of_P, of_D, of_score in slopes:
        value = U @ of_score
        value[inside] += of_P[at] + of_D[at] * data.s[inside]
        yield data.omega * value  # P and D are of degree zero: what is subtracted sums to nothing


def _cells(data: ScorePart, strata: Labels, K: int, S: int) -> tuple[FloatArray, FloatArray]:
    inside = strata >= 0
    cell = data.g[inside].astype(np.int64) * S + strata[inside]
    omega = data.omega[inside]
    both = (omega, omega * data.s[inside])
    P, D = (np.bincount(cell, weights, K * S).reshape(K, S).astype(float) for weights in both)
    return P, D


def _shares(
    P: FloatArray, names: Sequence[str], standard: str | Mapping[str, float]
) -> tuple[FloatArray, bool]:
    """w_k, and whether they are those of the data."""
    if isinstance(standard, str):
        if standard != POOLED:
            raise InvalidInputError(
                f"standard must be {POOLED!r} or the share of every stratum, got {standard!r}"
            )
        return P.sum(axis=0) / P.sum(), True
    unknown = sorted(set(standard) - set(names))
    if unknown:
        raise InvalidInputError(
            f"standard names strata that have no rows: {', '.join(unknown)}; there are "
            f"{', '.join(names)}"
        )
    w = np.array([float(standard.get(name, 0.0)) for name in names])
    if not np.isfinite(w).all() or (w < 0).any() or w.sum() <= 0:
        raise InvalidInputError("standard must hold shares of 0 or more, some of them positive")
    return w / w.sum(), False


def _empty(
    P: FloatArray, w: FloatArray, sides: Iterable[Sequence[int]], groups: Sequence[str],
    names: Sequence[str],
) -> list[str]:  # fmt: skip
    """Sides of a comparison without visits in a stratum that the standard has, in words."""
    return [
        f"{groups[B[0]] if len(B) == 1 else versus_words(COMPLEMENT)} in {names[k]}"
        for B in sides
        for k in np.flatnonzero((w > 0) & (P[B].sum(axis=0) == 0)).tolist()
    ]
