"""How well out-of-fold risks rank the diagnosed within groups, with standard errors.

Rows of one group and fold form a stratum h: within it all risks come from one model, which has
not seen the rows, and groups differ in nothing that ranks could pick up. (Pairs across folds
would compare models, and pull the result below one half: a fold with many diagnosed is predicted
by a model that has seen few.) With V_i the weighted share of the undiagnosed of h whose risk lies
below that of the diagnosed row i (ties count half), C_h and O_h the weights of the diagnosed and
of the others, and C = sum_h C_h,

    AUC = sum_i omega_i V_i / C,        AUC_h = sum_{i in h} omega_i V_i / C_h,

the chance that a diagnosed patient ranks above an undiagnosed one of the same group. A patient
counts by weight, not by the number of pairs. With U_j the share of the diagnosed of h above the
undiagnosed row j, the influence functions are

    diagnosed i:     (V_i - AUC) / C
    undiagnosed j:   (C_h / C) (U_j - AUC_h) / O_h

(DeLong et al. 1988; for cross-validation LeDell et al. 2015), whose totals by patient or primary
sampling unit give the variance (`relprev.inference.sampling`). The AUC of one group is the same
over its strata. The diagnosed are few, so their risks are collected and sorted; everything else is
a sum over rows, which may be stored in parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts, group_sums
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, ScorePart

Folds = NDArray[np.integer]


@dataclass(frozen=True)
class Discrimination:
    """AUC of all groups together (first) and of every group, with standard errors.

    Parameters
    ----------
    auc, std_error : arrays of shape (1 + K,)
        NaN where a group has no diagnosed or no undiagnosed rows.
    lift : array of shape (1 + K,)
        Mean risk of the diagnosed over that of everybody in their stratum.
    cases : array of shape (1 + K,)
        Diagnosed rows.
    """

    auc: FloatArray
    std_error: FloatArray
    lift: FloatArray
    cases: NDArray[np.int64]


@dataclass(frozen=True)
class _Ranks:
    """Of every stratum: the diagnosed rows' distinct risks, ascending, and what lies around them.

    Parameters
    ----------
    values : list of arrays
        Distinct risks of the diagnosed, one array for each stratum.
    below : list of arrays
        V at these values.
    above : list of arrays, one longer
        Weight of the diagnosed above the gap before each value, and above all.
    at : list of arrays
        Weight of the diagnosed at each value.
    cases, others, auc : arrays of shape (strata,)
        C_h, O_h and AUC_h.
    """

    values: list[FloatArray]
    below: list[FloatArray]
    above: list[FloatArray]
    at: list[FloatArray]
    cases: FloatArray
    others: FloatArray
    auc: FloatArray


def discrimination(data: ScoreData, folds: Folds, design: SamplingDesign) -> Discrimination:
    """Rank the rows of every group and fold by risk.

    Parameters
    ----------
    data : ScoreData
        With out-of-fold risks.
    folds : integer array of shape (n,)
    design : SamplingDesign
        Of the same rows.

    Examples
    --------
    A risk that puts three of four pairs in order:

    >>> g, s = np.zeros(4, np.uint8), np.array([0.0, 0.0, 1.0, 1.0])
    >>> rows = ScoreData.of(g, s, np.full(4, 0.25), np.ones((4, 1)), np.array([0.1, 0.4, 0.3, 0.8]))
    >>> design = SamplingDesign(np.arange(4), np.zeros(4, dtype=int))
    >>> float(discrimination(rows, np.zeros(4, int), design).auc[0])
    0.75
    """
    each, n_folds = data.cut(folds), int(folds.max()) + 1
    ranks = _ranks(data, each, n_folds)
    K = data.n_groups
    C = ranks.cases.reshape(K, n_folds)
    own = (C * np.nan_to_num(ranks.auc).reshape(K, n_folds)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        auc = np.append(own.sum() / C.sum(), own / C.sum(axis=1))
    known = np.isfinite(auc)
    V = design.covariance_in_parts(data, _influences, ranks, auc, n_folds, each=each)
    error = np.full(1 + K, np.nan)
    error[known] = np.sqrt(np.maximum(np.diag(V)[known], 0.0))
    count, ratio = data.total(_risk_sums, n_folds, each=each)
    return Discrimination(auc, error, _lift(ratio, C), np.append(count.sum(), count))


def _lift(sums: FloatArray, C: FloatArray) -> FloatArray:
    """Mean risk of the diagnosed over everybody's, averaged over the diagnosed of the strata."""
    weight, risk, risk_of_cases, weight_of_cases = (part.reshape(C.shape) for part in sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.nan_to_num((risk_of_cases / weight_of_cases) / (risk / weight)) * C
        return np.append(ratio.sum() / C.sum(), ratio.sum(axis=1) / C.sum(axis=1))


def _risk_sums(data: ScorePart, fold: Folds, n_folds: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Diagnosed rows by group; by stratum, sums of omega, omega m, omega s m and omega s."""
    cell, size = _cells(data, fold, n_folds), data.n_groups * n_folds
    hit = data.omega * (data.s > 0.5)
    columns = (data.omega, data.omega * data.risk, hit * data.risk, hit)
    sums = np.array([group_sums(cell, column, size) for column in columns])
    return group_counts(data.g[data.s > 0.5], data.n_groups), sums


def _cells(data: ScorePart, fold: Folds, n_folds: int) -> NDArray[np.int64]:
    return data.g.astype(np.int64) * n_folds + fold


def _ranks(data: ScoreData, each: list[Folds], n_folds: int) -> _Ranks:
    size = data.n_groups * n_folds
    found = zip(*data.map(_diagnosed, n_folds, each=each), strict=True)
    cell, risk, omega = (np.concatenate(part) for part in found)
    values, at = [], []
    for h in range(size):
        distinct, place = np.unique(risk[cell == h], return_inverse=True)
        values.append(distinct)
        at.append(group_sums(place, omega[cell == h], len(distinct)))
    first = np.cumsum([0, *(len(own) + 1 for own in values)])
    between, tied = data.total(_undiagnosed, n_folds, values, first, each=each)
    cases = np.array([own.sum() for own in at])
    others, below, above, auc = np.zeros(size), [], [], np.full(size, np.nan)
    for h in range(size):
        gap, equal = between[first[h] : first[h + 1]], tied[first[h] : first[h + 1]]
        others[h] = (gap + equal).sum()
        reached = np.cumsum(gap + equal) - 0.5 * equal
        below.append(reached[:-1] / others[h] if others[h] > 0 else np.zeros(len(values[h])))
        above.append(np.append(np.cumsum(at[h][::-1])[::-1], 0.0))
        if others[h] > 0 and cases[h] > 0:
            auc[h] = at[h] @ below[h] / cases[h]
    cases = np.where(others > 0, cases, 0.0)  # without others there is nobody to rank above
    return _Ranks(values, below, above, at, cases, others, auc)


def _diagnosed(
    data: ScorePart, fold: Folds, n_folds: int
) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    hit = data.s > 0.5
    return _cells(data, fold, n_folds)[hit], data.risk[hit], data.omega[hit]


def _undiagnosed(
    data: ScorePart, fold: Folds, n_folds: int, values: list[FloatArray], first: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Weight of the others by the first of their stratum's values above them; by the one equal."""
    between, tied = np.zeros(first[-1]), np.zeros(first[-1])
    for h, rows in _by_stratum(data, fold, n_folds):
        rows = rows[data.s[rows] <= 0.5]
        place, equal = _placed(values[h], data.risk[rows])
        omega, own = data.omega[rows], slice(first[h], first[h + 1])
        size = len(values[h]) + 1
        between[own] = group_sums(place, np.where(equal, 0.0, omega), size)
        tied[own] = group_sums(place, np.where(equal, omega, 0.0), size)
    return between, tied


def _placed(values: FloatArray, risk: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    place = np.searchsorted(values, risk)
    return place, np.append(values, np.nan)[place] == risk


def _by_stratum(
    data: ScorePart, fold: Folds, n_folds: int
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Every stratum that has rows in the part, and their positions."""
    cell = _cells(data, fold, n_folds)
    order = np.argsort(cell.astype(np.uint16), kind="stable")
    ends = np.cumsum(group_counts(cell, data.n_groups * n_folds))
    for h, rows in enumerate(np.split(order, ends[:-1])):
        if len(rows):
            yield h, rows


def _influences(
    data: ScorePart, fold: Folds, ranks: _Ranks, auc: FloatArray, n_folds: int
) -> Iterator[FloatArray]:
    """omega times the influence functions of the AUC of all groups, and of every group."""
    total, by_group = ranks.cases.sum(), ranks.cases.reshape(-1, n_folds).sum(axis=1)
    hit = data.s > 0.5
    usable = ranks.cases[_cells(data, fold, n_folds)] > 0
    placement, pull = np.zeros(len(hit)), np.zeros(len(hit))
    for h, rows in _by_stratum(data, fold, n_folds):
        if ranks.cases[h] == 0:
            continue
        ill, well = rows[hit[rows]], rows[~hit[rows]]
        placement[ill] = ranks.below[h][np.searchsorted(ranks.values[h], data.risk[ill])]
        place, equal = _placed(ranks.values[h], data.risk[well])
        at = np.append(ranks.at[h], 0.0)[place]
        above = ranks.above[h][place] - np.where(equal, 0.5 * at, 0.0)
        pull[well] = (above - ranks.cases[h] * ranks.auc[h]) / ranks.others[h]
    for group in range(-1, data.n_groups):
        own = usable if group < 0 else usable & (data.g == group)
        weight = total if group < 0 else by_group[group]
        if weight == 0:
            yield np.zeros(len(hit))
            continue
        value = np.where(hit, placement - auc[1 + group], pull) / weight
        yield data.omega * np.where(own, value, 0.0)
