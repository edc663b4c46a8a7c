"""Are the predicted diagnosis rates right within every group?

Predictions p = p(s=1|x,g) on held-out patients (`relprev.checks.held_out`) are cut into
fifths within each group; predicted and recorded rates should agree in each. Fifths are cut
at a 4,096th of the range of logit p, and equal predictions stay together, so that a fifth
can be larger than another, or empty. On all held-out rows of group g,

    logit p(s=1) = a_g + b_g logit p,

where b < 1 means that predictions are too extreme, a > 0 that they are too low. With the
influence functions' covariance V under the sampling design (a stratum's only PSU counts by
its distance from the mean), two things are asked by Wald's statistic:

- Do the slopes differ? H: all b_g are the same. The verdict rests on this, for under the
  assumptions one p(y=1|x) serves every group. (Intercepts say little: c_g is fitted to
  each group's recorded share, and where all slopes are off, they differ with that share.)
- Is a group off at all? H: a_g = 0 and b_g = 1, p-values adjusted by Holm's steps. With few
  cases for many features and a coarse grid of penalties PURPLE overfits, and b is below 1 in
  all groups alike, also where the assumptions hold; it tends to 1 as cases grow. The words
  say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit
from sklearn.base import clone

from relprev.arrays import FloatArray, group_counts, group_sums
from relprev.checks.check import CheckResult
from relprev.checks.held_out import (
    N_SPLITS,
    HeldOut,
    diagnosis_by,
    predicted_by_split,
    rotations,
)
from relprev.cohort import Cohort
from relprev.inference.intervals import holm
from relprev.inference.sampling import SamplingDesign
from relprev.model import PURPLE
from relprev.rows import Rows

N_BINS = 5
ROUNDOFF = 1e-14  # relative change of a loss that cannot be told from none
PIECES = 4096  # of the range of logit p, to find the fifths
FLAT = 1e-9  # range of logit p within a split, below which a model says the same of all rows
MIN_ROWS = 500  # held-out rows of a group in a split, to be drawn


def check_calibration(
    cohort: Cohort,
    estimator: PURPLE | None = None,
    *,
    level: float = 0.95,
    random_state: int = 0,
) -> CheckResult:
    """The paper's calibration check, and tests of every group's slope and intercept.

    Parameters
    ----------
    cohort : Cohort
    estimator : PURPLE, optional
        Fitted anew on every split's training part.
    level : float
        The test rejects below ``1 - level``.
    random_state : int
        Seed of the splits.

    Returns
    -------
    CheckResult
        Of concern if the groups' slopes differ; the words also say if all are off.

    Notes
    -----
    Formula: :mod:`relprev.checks.calibration`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), n=(2000, 3000), seed=0).cohort
    >>> check_calibration(cohort, PURPLE(lambdas=[1e-4])).verdict
    'no concern'
    """
    estimator = PURPLE() if estimator is None else estimator
    rows = _held_out(cohort, estimator, random_state)
    bins = _bins(rows, cohort.group_names)
    tests, statistic, p_value = _recalibrations(rows, cohort)
    table = bins.merge(tests, on="group", how="left")
    few = sorted(table.loc[~table["drawn"], "group"].unique())
    note = f" Too few held-out rows to draw: {', '.join(few)}." if few else ""
    return CheckResult(
        name="Calibration",
        verdict="concern" if p_value < 1 - level else "no concern",
        effect=_words(tests, 1 - level, p_value == p_value) + note,
        table=table,
        draw=_draw,
        statistic=statistic,
        p_value=p_value,
    )


def _words(tests: pd.DataFrame, alpha: float, judged: bool) -> str:
    """How far the groups' slopes are apart, and whether all are off alike."""
    known = tests.dropna(subset=["slope"])
    if known.empty:
        return (
            "Calibration cannot be judged: in every group too few are diagnosed or predictions "
            "are the same for all, or there are too few sampling units."
        )
    low, high = known["slope"].min(), known["slope"].max()
    words = (
        f"Slopes of the groups lie between {low:.2f} and {high:.2f}, intercepts between "
        f"{known['intercept'].min():.2f} and {known['intercept'].max():.2f} (1 and 0 expected)."
    )
    if not judged:
        words += " Whether slopes differ cannot be judged: too few groups or sampling units."
    off = known["p_value"] < alpha
    if off.any() and (low > 1 or high < 1):
        much, why = ("too extreme", "overfitted") if high < 1 else ("too flat", "underfitted")
        words += (
            f" Predictions are {much} in every group: PURPLE is {why}, which more cases or a finer "
            "grid of penalties (lambdas='log') would help; DebiasedPURPLE leans on it little."
        )
    return words


def _held_out(cohort: Cohort, estimator: PURPLE, seed: int) -> Rows[HeldOut]:
    models, split_of = [], np.empty(cohort.n, dtype=np.uint8)
    for number, (train, validation, test) in enumerate(rotations(cohort, seed)):
        fitted = clone(estimator).fit(cohort.take(train), validation=cohort.take(validation))
        models.append(partial(diagnosis_by, fitted))
        split_of[test] = number
    return cohort.derive(predicted_by_split, models, each=cohort.cut(split_of))


# -- fifths --------------------------------------------------------------------------------


def _bins(rows: Rows[HeldOut], names: tuple[str, ...]) -> pd.DataFrame:
    """Mean and SD over splits of predicted and recorded rates in fifths of every group."""
    K = len(names)
    ends = rows.map(_ends)
    edges = np.linspace(min(low for low, _ in ends), max(high for _, high in ends), PIECES + 1)
    counts = np.sum(rows.map(_histogram, K, edges), axis=0).reshape(K * N_SPLITS, PIECES)
    sums = np.sum(rows.map(_fifths, _cuts(counts, edges)), axis=0)
    place = [range(K), range(N_SPLITS), range(N_BINS)]
    index = pd.MultiIndex.from_product(place, names=["group", "split", "fifth"])
    columns = ["n", "n_diagnosed", "w", "wp", "ws"]
    frame = pd.DataFrame(sums.reshape(-1, len(columns)), index, columns)
    frame = frame[frame["n"] > 0]
    rates = frame[["wp", "ws"]].div(frame["w"], axis=0)
    over = rates.groupby(["group", "fifth"]).agg(["mean", "std"])
    over.columns = ["predicted", "predicted_sd", "recorded", "recorded_sd"]
    over[["n", "n_diagnosed"]] = (
        frame[["n", "n_diagnosed"]].groupby(["group", "fifth"]).sum().astype(int)
    )
    size = frame["n"].groupby(["group", "split"]).sum().groupby("group").min()
    table = over.reset_index()
    drawn = table["group"].map(size) >= MIN_ROWS
    return table.assign(
        group=np.asarray(names, dtype=object)[table["group"]], fifth=table["fifth"] + 1, drawn=drawn
    )


def _ends(rows: HeldOut) -> tuple[float, float]:
    """Smallest and largest logit p."""
    z = _logit(rows.p)
    return float(z.min()), float(z.max())


def _histogram(rows: HeldOut, K: int, edges: FloatArray) -> NDArray[np.int64]:
    """Rows by group, split and piece (edges[k], edges[k + 1]] of the range, as one vector."""
    piece = np.clip(np.searchsorted(edges, _logit(rows.p)) - 1, 0, PIECES - 1)
    cell = (rows.g.astype(np.int64) * N_SPLITS + rows.split) * PIECES + piece
    return group_counts(cell, K * N_SPLITS * PIECES)


def _cuts(counts: NDArray[np.int64], edges: FloatArray) -> FloatArray:
    """Upper ends of all fifths but the last, for every group and split."""
    reached = np.cumsum(counts, axis=1)
    shares = np.arange(1, N_BINS) / N_BINS
    return np.array([edges[np.searchsorted(row, shares * row[-1]) + 1] for row in reached])


def _fifths(rows: HeldOut, cuts: FloatArray) -> FloatArray:
    """Sums by group, split and fifth: rows, diagnosed, weight, weighted p and s."""
    z, own = _logit(rows.p), rows.g.astype(np.int64) * N_SPLITS + rows.split
    cell = own * N_BINS
    for cut in cuts.T:
        cell += z > cut[own]
    w, s = rows.weight, rows.s.astype(float)
    columns = (np.ones(len(z)), s, w, w * rows.p, w * s)
    size = len(cuts) * N_BINS
    return np.column_stack([group_sums(cell, column, size) for column in columns])


def _logit(p: FloatArray) -> FloatArray:
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(inside / (1 - inside))


# -- slope and intercept -------------------------------------------------------------------


def _recalibrations(rows: Rows[HeldOut], cohort: Cohort) -> tuple[pd.DataFrame, float, float]:
    """Slope, intercept and test of every group; statistic and p-value of slopes' differences."""
    design = SamplingDesign.from_cohort(cohort, "adjust")
    count, diagnosed, weight = rows.total(_group_totals, cohort.n_groups)
    varies = np.max(rows.map(_spread, cohort.n_groups, _lowest(rows, cohort.n_groups)), axis=0)
    able = np.flatnonzero((diagnosed > 0) & (diagnosed < count) & (varies > FLAT))
    head = pd.DataFrame({"group": cohort.group_names})
    columns = ["intercept", "slope", "statistic", "p_value"]
    df = design.degrees_of_freedom
    if df < 1 or not len(able):
        return head.assign(**dict.fromkeys(columns, float("nan"))), float("nan"), float("nan")
    fits = [(k, weight[k], *_logistic(rows, k, weight[k])) for k in able.tolist()]
    beta = np.array([fit[2] for fit in fits])
    V = design.covariance_in_parts(rows, _influences, fits)
    own = [slice(2 * k, 2 * k + 2) for k in range(len(able))]
    ideal = np.array([0.0, 1.0])
    found = [_wald(b - ideal, V[part, part], df) for b, part in zip(beta, own, strict=True)]
    tests = pd.DataFrame(np.column_stack([beta, found]), able, columns)
    tests["p_value"] = holm(tests["p_value"].to_numpy())  # all of them are known, or none
    apart = np.eye(len(able))[1:] - np.eye(len(able))[:1]
    between = _wald(apart @ beta[:, 1], apart @ V[1::2, 1::2] @ apart.T, df)
    return head.join(tests), *between


def _wald(away: FloatArray, V: FloatArray, df: int) -> tuple[float, float]:
    """F statistic of a vector with mean zero under the hypothesis, and its p-value.

    Both are NaN where there is nothing to compare or too few degrees of freedom.
    """
    q = len(away)
    if q == 0 or df < q:
        return float("nan"), float("nan")
    statistic = float(away @ np.linalg.solve(V, away)) * (df - q + 1) / (q * df)
    return statistic, float(stats.f.sf(statistic, q, df - q + 1))


def _group_totals(rows: HeldOut, K: int) -> tuple[NDArray[Any], ...]:
    """By group: rows, diagnosed rows, weight."""
    hit = rows.s == 1
    return group_counts(rows.g, K), group_counts(rows.g[hit], K), group_sums(rows.g, rows.weight, K)


def _lowest(rows: Rows[HeldOut], K: int) -> FloatArray:
    """Smallest logit p by group and split, shape (K, splits)."""
    return np.min(rows.map(_part_lowest, K), axis=0)


def _part_lowest(rows: HeldOut, K: int) -> FloatArray:
    out = np.full((K, N_SPLITS), np.inf)
    np.minimum.at(out, (rows.g, rows.split), _logit(rows.p))
    return out


def _spread(rows: HeldOut, K: int, lowest: FloatArray) -> FloatArray:
    """By group: how far logit p goes beyond the smallest of its split."""
    out = np.zeros(K)
    np.maximum.at(out, rows.g, _logit(rows.p) - lowest[rows.g, rows.split])
    return out


def _logistic(rows: Rows[HeldOut], group: int, weight: float) -> tuple[FloatArray, FloatArray]:
    """Coefficients and curvature of one group, by Newton's method with halved steps."""

    def at(beta: FloatArray) -> tuple[Any, ...]:
        found: tuple[Any, ...] = rows.total(_logistic_sums, group, weight, beta)
        return found

    beta = np.array([0.0, 1.0])
    loss, slope, H = at(beta)
    for _ in range(100):
        step = np.linalg.solve(H, slope)
        tried = at(beta + step)
        while tried[0] > (1 + ROUNDOFF) * loss and np.abs(step).max() > 1e-10:
            step = step / 2
            tried = at(beta + step)
        beta = beta + step
        loss, slope, H = tried
        if np.abs(step).max() < 1e-10:
            break
    return beta, H


def _own(
    rows: HeldOut, group: int, weight: float
) -> tuple[NDArray[np.int64], FloatArray, FloatArray, FloatArray]:
    """The group's rows: positions, (1, logit p), s and weights that sum to one over all parts."""
    own = np.flatnonzero(rows.g == group)
    A = np.column_stack([np.ones(len(own)), _logit(rows.p[own])])
    return own, A, rows.s[own].astype(float), rows.weight[own] / weight


def _logistic_sums(
    rows: HeldOut, group: int, weight: float, beta: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Loss, minus its gradient, and curvature."""
    _, A, s, omega = _own(rows, group, weight)
    z = A @ beta
    q = expit(z)
    loss = float(omega @ (np.logaddexp(0.0, z) - s * z))
    return loss, A.T @ (omega * (s - q)), (A.T * (omega * q * (1 - q))) @ A


def _influences(
    rows: HeldOut, fits: list[tuple[int, float, FloatArray, FloatArray]]
) -> Iterator[FloatArray]:
    """omega times the influence functions of all groups' intercepts and slopes."""
    for group, weight, beta, H in fits:
        own, A, s, omega = _own(rows, group, weight)
        residual = omega * (s - expit(A @ beta))
        for values in np.linalg.solve(H, (A * residual[:, None]).T):
            column = np.zeros(len(rows.p))
            column[own] = values
            yield column


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    for name, part in table[table["drawn"]].groupby("group", sort=False):
        ax.errorbar(
            part["predicted"], part["recorded"], xerr=part["predicted_sd"],
            yerr=part["recorded_sd"], marker="o", label=str(name),
        )  # fmt: skip
    top = float(table[["predicted", "recorded"]].max().max())
    ax.plot([0, top], [0, top], color="grey", linewidth=1)
    ax.set_xlabel("predicted share diagnosed")
    ax.set_ylabel("recorded share diagnosed")
    if table["drawn"].any():
        ax.legend()
