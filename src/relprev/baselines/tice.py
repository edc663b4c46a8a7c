"""TIcE, tree induction for c estimation (Bekker and Davis 2018).

In a region of x where everyone is positive, the share of diagnosed rows is the diagnosis rate
c; anywhere else it is lower. So in any region with T rows, L of them diagnosed,

    c >= L / T - sqrt(c (1 - c) (1 - delta) / (delta T))

with probability 1 - delta (one-sided Chebyshev), and c is estimated by the largest such limit
over regions. The regions are the nodes of a decision tree that searches for dense diagnoses:
each feature, scaled to [0, 1], is cut into quarters, and a node is split by the feature with
the largest L / (T + k) in a quarter. The tree grows best-first on one fold, and limits are
computed from the rest; c is the mean over folds. The first round uses c = 1/2 in the square
root, the second the estimate of the first. The prevalence is p(s=1) / c.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from relprev.baselines.base import GroupwiseBaseline
from relprev.baselines.kernels import count_quarters
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.model.splits import split

PARTS = 4
Rows = NDArray[np.int64]


class TIcE(GroupwiseBaseline):
    """Tree induction for the diagnosis rate.

    Parameters
    ----------
    folds : int
    max_splits : int
        Largest number of nodes split per tree.
    k : int
        Prior weight that keeps small parts from looking dense.
    min_rows : int
        Rows in the smallest region used.
    delta : float, optional
        Error probability of a limit. Default: max(0.025, 1 / (1 + 0.004 T)), where T is the
        number of rows outside the tree's fold, as in the paper.
    rounds : int
    random_state : int
        Seed of the folds.

    Notes
    -----
    Formula: :mod:`relprev.baselines.tice`.

    References
    ----------
    Bekker and Davis (2018), "Estimating the class prior in positive and unlabeled data through
    decision tree induction".

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.3), separable=True, seed=1)
    >>> table = TIcE(max_splits=50).fit(data.cohort).relative_prevalence(versus="b").to_frame()
    >>> bool(0 < table.loc[0, "estimate"] < 1)  # the truth is 0.24
    True
    """

    admits_weights = False
    least_cases = 10

    def __init__(
        self,
        *,
        folds: int = 5,
        max_splits: int = 500,
        k: int = 5,
        min_rows: int = 10,
        delta: float | None = None,
        rounds: int = 2,
        random_state: int = 0,
    ) -> None:
        self.folds = folds
        self.max_splits = max_splits
        self.k = k
        self.min_rows = min_rows
        self.delta = delta
        self.rounds = rounds
        self.random_state = random_state

    def _prevalence(self, group: Cohort) -> float:
        self._check_parameters()
        parts = split(group, [1.0] * self.folds, self.random_state)
        s = group.diagnosed.astype(np.int64)
        return min(float(s.mean()) / self._rate(quarters(group.X.to_scipy()), s, parts), 1.0)

    def _check_parameters(self) -> None:
        for name in ("max_splits", "k", "min_rows", "rounds"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.delta is not None and not 0 < self.delta < 1:
            raise InvalidInputError(f"delta must be between 0 and 1, got {self.delta}")

    def _rate(self, regions: Regions, s: NDArray[np.int64], folds: list[Rows]) -> float:
        """Diagnosis rate from trees grown on each fold."""
        rate = 0.5
        for _ in range(self.rounds):
            limits = []
            for fold in folds:
                rest = np.delete(np.arange(len(s)), fold)
                delta = self.delta or max(0.025, 1 / (1 + 0.004 * len(rest)))
                search = _Search(regions, s, rate, delta, self.k, self.min_rows)
                limits.append(search.largest_limit(fold, rest, self.max_splits))
            rate = float(np.mean(limits))
        return rate


@dataclass(frozen=True)
class Regions:
    """The quarter of each feature that each row falls into.

    ``member``, of shape (n, 4 p), marks the quarters except ``home``, of shape (p,): in sparse
    data, the quarter of the value zero, which applies wherever nothing is marked.
    """

    member: sp.csr_array
    home: NDArray[np.int64]

    def counts(self, rows: Rows, s: NDArray[np.int64]) -> Rows:
        """Numbers of rows and of diagnosed rows in each quarter, shape (2, p, 4)."""
        member = self.member
        found: Rows = count_quarters(member.indptr, member.indices, self.home, PARTS, rows, s)
        return found

    def parts(self, rows: Rows, feature: int) -> list[Rows]:
        """The rows in each quarter of one feature."""
        marks, first = self.member_by_column, PARTS * feature
        quarter = np.full(marks.shape[0], self.home[feature], dtype=np.int8)
        for part in range(PARTS):
            start, stop = marks.indptr[first + part : first + part + 2]
            quarter[marks.indices[start:stop]] = part
        own = quarter[rows]
        return [rows[own == part] for part in range(PARTS)]

    @cached_property
    def member_by_column(self) -> sp.csc_array:
        """``member``, held by column."""
        return self.member.tocsc()


def quarters(X: Any) -> Regions:
    """Cut the range of each feature of an array or sparse matrix into quarters."""
    n, p = X.shape
    if sp.issparse(X):
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
        coo = X.tocoo()
        row, column, values = coo.row, coo.col, coo.data
        home = _quarter(np.zeros(p), low, high)
    else:
        low, high = X.min(axis=0), X.max(axis=0)
        row, column = np.divmod(np.arange(n * p), p)
        values = np.asarray(X).ravel()
        home = np.full(p, -1)
    quarter = _quarter(values, low[column], high[column])
    elsewhere = quarter != home[column]
    row, column, quarter = row[elsewhere], column[elsewhere], quarter[elsewhere]
    ones = np.ones(len(row), dtype=np.int8)
    member = sp.csr_array((ones, (row, PARTS * column + quarter)), shape=(n, PARTS * p))
    return Regions(member, home)


def _quarter(
    values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.int64]:
    scaled = (values - low) / np.where(high > low, high - low, 1.0)
    return np.minimum((PARTS * scaled).astype(np.int64), PARTS - 1)


@dataclass(frozen=True)
class _Node:
    """A region's rows in the tree's fold and in the rest; features not yet used on the path to it.

    Counts of both may be known already.
    """

    tree: Rows
    rest: Rows
    features: NDArray[np.bool_]
    counts: tuple[Rows, Rows] | None = None


class _Search:
    """The largest lower limit on c over the nodes of one tree."""

    def __init__(
        self, regions: Regions, s: NDArray[np.int64], rate: float, delta: float, k: int, least: int
    ) -> None:
        self.regions, self.s, self.k, self.least = regions, s, k, least
        self.spread = rate * (1 - rate) * (1 - delta) / delta

    def largest_limit(self, tree: Rows, rest: Rows, max_splits: int) -> float:
        """Grow a tree on some rows, the most promising node first, with limits from the rest."""
        best = max(float(self.s[rest].mean()), self._limit(rest))
        every = np.ones(len(self.regions.home), dtype=bool)
        queue = [(-self._limit(tree), 0, _Node(tree, rest, every))]
        enough, made = 1.0, 1
        for _ in range(max_splits):
            if not queue:
                break
            node = heapq.heappop(queue)[2]
            counts = node.counts or self._counts(node)
            feature, left = self._best_feature(node.features, counts, enough)
            if feature is None:
                continue
            inside = self.regions.parts(node.tree, feature)
            outside = self.regions.parts(node.rest, feature)
            best = max([best, *(self._limit(rows) for rows in outside if len(rows) >= self.least)])
            # A region with fewer diagnosed rows cannot exceed the best limit so far.
            enough = self.spread / (1 - best) ** 2 if best < 1 else np.inf
            children = [_Node(*rows, left) for rows in zip(inside, outside, strict=True)]
            worth = [self._worth_splitting(child, enough) for child in children]
            largest = int(np.argmax([len(rows) for rows in outside]))
            if worth[largest]:
                apart = [child for child in children if len(child.tree) or len(child.rest)]
                others = [self._counts(child) for child in apart if child is not children[largest]]
                known = tuple(whole - sum(own) for whole, *own in zip(counts, *others, strict=True))
                children[largest] = replace(children[largest], counts=known)
            for child, is_worth in zip(children, worth, strict=True):
                if is_worth:
                    heapq.heappush(queue, (-self._limit(child.tree), made, child))
                    made += 1
        return best

    def _counts(self, node: _Node) -> tuple[Rows, Rows]:
        return self.regions.counts(node.tree, self.s), self.regions.counts(node.rest, self.s)

    def _limit(self, rows: Rows) -> float:
        return float(self.s[rows].mean() - np.sqrt(self.spread / len(rows)))

    def _worth_splitting(self, node: _Node, enough: float) -> bool:
        labeled = int(self.s[node.tree].sum())
        return (
            int(self.s[node.rest].sum()) > enough
            and len(node.tree) > self.least
            and 0 < labeled < len(node.tree)
        )

    def _best_feature(
        self, features: NDArray[np.bool_], counts: tuple[Rows, Rows], enough: float
    ) -> tuple[int | None, NDArray[np.bool_]]:
        """The feature with the densest part, and those left for the node's children."""
        (rows, labeled), (outside_rows, outside_labeled) = counts
        useful = features & (_largest(outside_labeled) >= enough)
        if not useful.any():
            return None, useful
        score = np.where(useful, _largest(labeled / (rows + self.k)), -1.0)
        feature = int(score.argmax())
        if score[feature] <= 0 or np.count_nonzero(outside_rows[feature]) < 2:
            return None, useful
        left = useful.copy()
        left[feature] = False
        return feature, left


def _largest(values: NDArray[Any]) -> NDArray[Any]:
    """The largest of the quarters, shape (p,); faster than a maximum over so short an axis."""
    return np.maximum.reduce([values[:, part] for part in range(PARTS)])
