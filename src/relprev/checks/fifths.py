"""Predicted and recorded rates in fifths of each group by predicted risk.

In every group and split, fifths are cut to within a 4,096th of the range of logit p, which
also works for rows in parts. Equal predictions stay together, so fifths may differ in size or
be empty.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts, group_sums, numbered
from relprev.checks.held_out import N_SPLITS, HeldOut
from relprev.cohort import Cohort
from relprev.rows import Rows

N_BINS = 5
PIECES = 4096  # pieces of the range of logit p, to find the fifths
MIN_ROWS = 500  # held-out rows that a group needs in every split to be drawn


def rates_by_fifth(rows: Rows[HeldOut], cohort: Cohort) -> pd.DataFrame:
    """One row per group and fifth: mean and SD of predicted and recorded rates, and counts.

    Patients are counted if they are known; ``drawn`` marks groups with enough rows.
    """
    K = cohort.n_groups
    low, high = logit_range(rows, K)
    edges = np.linspace(low.min(), high.max(), PIECES + 1)
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


def _patients(rows: Rows[HeldOut], cohort: Cohort, cuts: FloatArray) -> pd.DataFrame:
    """Patients and diagnosed patients by group and fifth; no columns if they are unknown.

    A patient's rows are held out together, but may fall into several fifths.
    """
    place = [range(cohort.n_groups), range(N_BINS)]
    table = pd.DataFrame(index=pd.MultiIndex.from_product(place, names=["group", "fifth"]))
    clusters = cohort.clusters
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
    """Distinct pairs of (group and fifth) and patient, as integers: all, and diagnosed."""
    cell = rows.g.astype(np.int64) * N_BINS + _cells(rows, cuts) % N_BINS
    pair = cell * count + patient
    return np.unique(pair), np.unique(pair[rows.s == 1])


def logit_range(rows: Rows[HeldOut], K: int) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest logit p by group and split, both of shape (K, splits)."""
    low, high = zip(*rows.map(_range, K), strict=True)
    return np.min(low, axis=0), np.max(high, axis=0)


def _range(rows: HeldOut, K: int) -> tuple[FloatArray, FloatArray]:
    low, high = np.full((K, N_SPLITS), np.inf), np.full((K, N_SPLITS), -np.inf)
    np.minimum.at(low, (rows.g, rows.split), logit(rows.p))
    np.maximum.at(high, (rows.g, rows.split), logit(rows.p))
    return low, high


def _histogram(rows: HeldOut, K: int, edges: FloatArray) -> NDArray[np.int64]:
    """Counts by group, split and piece (edges[k], edges[k + 1]] of the range, as one vector."""
    piece = np.clip(np.searchsorted(edges, logit(rows.p)) - 1, 0, PIECES - 1)
    cell = (rows.g.astype(np.int64) * N_SPLITS + rows.split) * PIECES + piece
    return group_counts(cell, K * N_SPLITS * PIECES)


def _cuts(counts: NDArray[np.int64], edges: FloatArray) -> FloatArray:
    """Upper ends of all fifths but the last, for each group and split."""
    reached = np.cumsum(counts, axis=1)
    shares = np.arange(1, N_BINS) / N_BINS
    return np.array([edges[np.searchsorted(row, shares * row[-1]) + 1] for row in reached])


def _cells(rows: HeldOut, cuts: FloatArray) -> NDArray[np.int64]:
    """Group, split and fifth of every row, as one number."""
    z, own = logit(rows.p), rows.g.astype(np.int64) * N_SPLITS + rows.split
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


def logit(p: FloatArray) -> FloatArray:
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(inside / (1 - inside))
