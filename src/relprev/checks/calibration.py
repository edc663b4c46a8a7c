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
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit
from sklearn.base import clone

from relprev.arrays import FloatArray, group_counts, group_sums, numbered
from relprev.checks.check import NAN, Check, CheckResult, Verdict
from relprev.checks.held_out import (
    N_SPLITS,
    HeldOut,
    Rows,
    diagnosis_by,
    predicted_by_split,
    rotations,
)
from relprev.checks.inputs import CheckInputs
from relprev.cohort import AnyCohort
from relprev.disclosure.columns import Column
from relprev.inference.intervals import holm
from relprev.inference.sampling import SamplingDesign
from relprev.messages import Message, Number, joined
from relprev.model import PURPLE
from relprev.partitions import total

if TYPE_CHECKING:  # drawing alone loads matplotlib
    from matplotlib.axes import Axes

N_BINS = 5
ROUNDOFF = 1e-14  # relative change of a loss that cannot be told from none
PIECES = 4096  # of the range of logit p, to find the fifths
FLAT = 1e-9  # range of logit p within a split, below which a model says the same of all rows
MIN_ROWS = 500  # held-out rows of a group in a split, to be drawn


def check_calibration(
    cohort: AnyCohort,
    estimator: PURPLE | None = None,
    *,
    level: float = 0.95,
    random_state: int = 0,
) -> CheckResult:
    """The paper's calibration check, and tests of every group's slope and intercept.

    Parameters
    ----------
    cohort : Cohort or PartitionedCohort
        Every row is held out once.
    estimator : PURPLE, optional
        Fitted anew on every split's training part.
    level : float
        The test rejects below ``1 - level``.
    random_state : int
        Seed of the splits.

    Returns
    -------
    CheckResult
        Of concern if the groups' slopes differ; the words also say if all are off. ``table``
        counts rows and, where the cohort knows them, patients.

    Notes
    -----
    Formula: :mod:`relprev.checks.calibration`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), n=(2000, 3000), seed=0).cohort
    >>> print(check_calibration(cohort, PURPLE(lambdas=[1e-4])).verdict)
    no concern
    """
    estimator = PURPLE() if estimator is None else estimator
    rows = _held_out(cohort, estimator, random_state)
    tests, statistic, p_value = _recalibrations(rows, cohort)
    table = _bins(rows, cohort).merge(tests, on="group", how="left")
    said = _effect(tests, 1 - level, p_value == p_value)
    few = sorted(table.loc[~table["drawn"], "group"].unique())
    if few:
        said.append(Message("Too few held-out rows to draw: {groups}.", groups=few))
    return CHECK.result(
        Verdict.of_test(p_value, level), joined(said), table, statistic=statistic, p_value=p_value
    )


def _effect(tests: pd.DataFrame, alpha: float, judged: bool) -> list[Message]:
    """How far the groups' slopes are apart, and whether all are off alike."""
    known = tests.dropna(subset=["slope"])
    if known.empty:
        return [
            Message(
                "Calibration cannot be judged: in every group too few are diagnosed or predictions "
                "are the same for all, or there are too few sampling units."
            )
        ]
    ends = known.sort_values("slope").iloc[[0, -1]], known.sort_values("intercept").iloc[[0, -1]]
    low, high, least, most = (
        Number(row[column], ".2f", (("n_diagnosed", row["group"]),))
        for column, rows in zip(("slope", "intercept"), ends, strict=True)
        for _, row in rows.iterrows()
    )
    said = [
        Message(
            "Slopes of the groups lie between {low} and {high}, intercepts between {least} and "
            "{most} (1 and 0 expected).",
            low=low, high=high, least=least, most=most,
        )
    ]  # fmt: skip
    if not judged:
        said.append(
            Message("Whether slopes differ cannot be judged: too few groups or sampling units.")
        )
    if (known["p_value"] < alpha).any() and (low.value > 1 or high.value < 1):
        extreme = high.value < 1
        said.append(
            Message(
                "Predictions are {much} in every group: PURPLE is {why}, which more cases or a "
                "finer grid of penalties (lambdas='log') would help; DebiasedPURPLE leans on it "
                "little.",
                much="too extreme" if extreme else "too flat",
                why="overfitted" if extreme else "underfitted",
            )
        )
    return said


def _held_out(cohort: AnyCohort, estimator: PURPLE, seed: int) -> Rows:
    models, split_of = [], np.empty(cohort.n, dtype=np.uint8)
    for number, (train, validation, test) in enumerate(rotations(cohort, seed)):
        fitted = clone(estimator).fit(cohort.take(train), validation=cohort.take(validation))
        models.append(partial(diagnosis_by, fitted))
        split_of[test] = number
    return Rows.of(cohort).derive(predicted_by_split, models, by=split_of)


# -- fifths --------------------------------------------------------------------------------


def _bins(rows: Rows, cohort: AnyCohort) -> pd.DataFrame:
    """Mean and SD over splits of predicted and recorded rates in fifths of every group."""
    K = cohort.n_groups
    ends = rows.map(_ends)
    edges = np.linspace(min(low for low, _ in ends), max(high for _, high in ends), PIECES + 1)
    counts = np.sum(rows.map(_histogram, K, edges), axis=0).reshape(K * N_SPLITS, PIECES)
    cuts = _cuts(counts, edges)
    sums = np.sum(rows.map(_sums, cuts), axis=0)
    place = [range(K), range(N_SPLITS), range(N_BINS)]
    index = pd.MultiIndex.from_product(place, names=["group", "split", "fifth"])
    columns = ["n", "n_diagnosed", "w", "wp", "ws"]
    frame = pd.DataFrame(sums.reshape(-1, len(columns)), index, columns)
    frame = frame[frame["n"] > 0]
    fifths = ["group", "fifth"]
    over = frame[["wp", "ws"]].div(frame["w"], axis=0).groupby(fifths).agg(["mean", "std"])
    over.columns = ["predicted", "predicted_sd", "recorded", "recorded_sd"]
    over[["n", "n_diagnosed"]] = frame[["n", "n_diagnosed"]].groupby(fifths).sum().astype(int)
    table = over.join(_patients(rows, cohort, cuts)).reset_index()
    size = frame["n"].groupby(["group", "split"]).sum().groupby("group").min()
    drawn = table["group"].map(size) >= MIN_ROWS
    names = np.asarray(cohort.group_names, dtype=object)[table["group"]]
    return table.assign(group=names, fifth=table["fifth"] + 1, drawn=drawn)


def _patients(rows: Rows, cohort: AnyCohort, cuts: FloatArray) -> pd.DataFrame:
    """Patients, and diagnosed patients, by group and fifth; no columns if they are not known.

    A patient's rows are held out together, but may lie in several fifths.
    """
    place = [range(cohort.n_groups), range(N_BINS)]
    table = pd.DataFrame(index=pd.MultiIndex.from_product(place, names=["group", "fifth"]))
    clusters = cohort.gathered("clusters")
    if clusters is None:
        return table
    distinct, number = numbered(clusters)
    each = np.split(number.astype(np.int64), np.cumsum(rows.sizes)[:-1])
    found = zip(*rows.map(_who, len(distinct), cuts, each=each), strict=True)
    for name, pairs in zip(("patients", "patients_diagnosed"), found, strict=True):
        cell = np.unique(np.concatenate(pairs)) // len(distinct)
        table[name] = group_counts(cell, len(table))
    return table


def _who(
    rows: HeldOut, patient: NDArray[np.int64], count: int, cuts: FloatArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct pairs of (group and fifth, patient), as whole numbers: of all, of the diagnosed."""
    cell = rows.g.astype(np.int64) * N_BINS + _cells(rows, cuts) % N_BINS
    pair = cell * count + patient
    return np.unique(pair), np.unique(pair[rows.s == 1])


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


def _cells(rows: HeldOut, cuts: FloatArray) -> NDArray[np.int64]:
    """Group, split and fifth of every row, as one number."""
    z, own = _logit(rows.p), rows.g.astype(np.int64) * N_SPLITS + rows.split
    cell = own * N_BINS
    for cut in cuts.T:
        cell += z > cut[own]
    return cell


def _sums(rows: HeldOut, cuts: FloatArray) -> FloatArray:
    """Sums by group, split and fifth: rows, diagnosed, weight, weighted p and s."""
    cell, w, s = _cells(rows, cuts), rows.weight, rows.s.astype(float)
    columns = (np.ones(len(s)), s, w, w * rows.p, w * s)
    size = len(cuts) * N_BINS
    return np.column_stack([group_sums(cell, column, size) for column in columns])


def _logit(p: FloatArray) -> FloatArray:
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(inside / (1 - inside))


# -- slope and intercept -------------------------------------------------------------------


def _recalibrations(rows: Rows, cohort: AnyCohort) -> tuple[pd.DataFrame, float, float]:
    """Slope, intercept and test of every group; statistic and p-value of slopes' differences."""
    design = SamplingDesign.from_cohort(cohort, "adjust")
    count, diagnosed, weight = total(rows.map(_group_totals, cohort.n_groups))
    varies = np.max(rows.map(_spread, cohort.n_groups, _lowest(rows, cohort.n_groups)), axis=0)
    able = np.flatnonzero((diagnosed > 0) & (diagnosed < count) & (varies > FLAT))
    head = pd.DataFrame({"group": cohort.group_names})
    columns = ["intercept", "slope", "statistic", "p_value"]
    df = design.degrees_of_freedom
    if df < 1 or not len(able):
        return head.assign(**dict.fromkeys(columns, NAN)), NAN, NAN
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
        return NAN, NAN
    statistic = float(away @ np.linalg.solve(V, away)) * (df - q + 1) / (q * df)
    return statistic, float(stats.f.sf(statistic, q, df - q + 1))


def _group_totals(rows: HeldOut, K: int) -> tuple[NDArray[Any], ...]:
    """By group: rows, diagnosed rows, weight."""
    hit = rows.s == 1
    return group_counts(rows.g, K), group_counts(rows.g[hit], K), group_sums(rows.g, rows.weight, K)


def _lowest(rows: Rows, K: int) -> FloatArray:
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


def _logistic(rows: Rows, group: int, weight: float) -> tuple[FloatArray, FloatArray]:
    """Coefficients and curvature of one group, by Newton's method with halved steps."""

    def at(beta: FloatArray) -> tuple[Any, ...]:
        return total(rows.map(_logistic_sums, group, weight, beta))

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


def _run(inputs: CheckInputs) -> list[CheckResult]:
    return [check_calibration(inputs.cohort, level=inputs.level, random_state=inputs.seed)]


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    shown = table[
        table["drawn"] & table["recorded"].notna().groupby(table["group"]).transform("any")
    ]
    if shown.empty:
        return
    for name, part in shown.groupby("group", sort=False):
        ax.errorbar(
            part["predicted"], part["recorded"], xerr=part["predicted_sd"],
            yerr=part["recorded_sd"], marker="o", label=str(name),
        )  # fmt: skip
    top = float(shown[["predicted", "recorded"]].max().max())
    ax.plot([0, top], [0, top], color="grey", linewidth=1)
    ax.set_xlabel("predicted share diagnosed")
    ax.set_ylabel("recorded share diagnosed")
    ax.legend()


CHECK = Check(
    kind="calibration",
    title="Calibration",
    explained=(
        "Compares predicted and recorded shares of diagnosed patients, in fifths of every group by "
        "predicted risk, among patients the model has not seen. Points on the diagonal are right."
    ),
    run=_run,
    table={
        "group": Column.NAME, "fifth": Column.NAME, "drawn": Column.FREE, "recorded": Column.SHARE,
    }
    | dict.fromkeys(["n", "n_diagnosed", "patients", "patients_diagnosed"], Column.COUNT)
    | dict.fromkeys(["predicted", "predicted_sd", "recorded_sd"], Column.REVEALING)
    | dict.fromkeys(["intercept", "slope", "statistic", "p_value"], Column.REVEALING),
    columns=("group", "fifth", "n", "n_diagnosed", "predicted", "recorded", "slope", "p_value"),
    draw=_draw,
    references=("holm",),
    refits=True,
    seconds=30.0,
)  # fmt: skip
