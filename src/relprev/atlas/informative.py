"""Do the features predict a condition at all? A quick answer for every condition.

If they do not, its corrected ratio is 1 by construction (`relprev.checks.informativeness`). A risk
model for each of hundreds of conditions would be slow, so visits are ranked by naive Bayes: the
score of a visit is the sum, over its features j, of

    w_j = logit p_j1 - logit p_j0,    p_j1 = (n_j1 + 2 p_j) / (n_1 + 2),

where n_j1 of the n_1 cases of the other folds have the feature, p_j0 is the same of visits without
the condition, and p_j that share itself. The AUC within groups is that of
`relprev.inference.discrimination`. The *risk of cases*, the mean over the cases of how likely
visits that look like them are recorded, is E[m^2] / E[m]; it is taken from the shares of cases and
of others in tenths of the cases' scores. All of it rests on at most 1,000 cases of a condition and
5,000 visits. A penalised risk model ranks better by a little, so this is a lower bound on what the
features say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from scipy.special import expit, logit

from relprev.arrays import FloatArray, group_sums
from relprev.checks.informativeness import LITTLE, NOTHING
from relprev.cohort import Cohort
from relprev.inference.discrimination import discrimination
from relprev.inference.score import ScoreData

if TYPE_CHECKING:
    from relprev.atlas.cases import Cases
    from relprev.atlas.conditions import Block
    from relprev.atlas.scan import Scan

MOST_CASES, N_OTHERS = 1_000, 5_000
TINY = 1e-12
PRIOR = 2.0  # cases as which the share among others counts
STREAM = 23  # of random numbers, apart from those of folds
BINS = 10
COLUMNS = ("auc", "auc_low", "auc_high", "risk_of_cases")
NOT_KNOWN = (float("nan"), float("nan"), float("nan"), 1.0)


@dataclass(frozen=True, eq=False)
class OthersSample:
    """Visits drawn at random: positions (m,), ascending, and features (m, p), 0 or 1."""

    rows: NDArray[np.int64]
    X: sparse.csr_array

    @staticmethod
    def of(cohort: Cohort, seed: int) -> OthersSample:
        """Draw them."""
        rng = np.random.default_rng([seed, STREAM])
        rows = np.sort(rng.choice(cohort.n, min(cohort.n, N_OTHERS), replace=False))
        return OthersSample(rows, features_of(cohort, rows))


def features_of(cohort: Cohort, rows: NDArray[np.int64]) -> sparse.csr_array:
    """Which features some visits have; of a number, whether it is above its median."""
    X = sparse.csr_array(cohort.take(rows).together().X.to_scipy())
    if (X.data < 0).any():
        X.data = np.maximum(X.data, 0.0)
        X.eliminate_zeros()
    return sparse.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)


def discrimination_of(scan: Scan, block: Block, cases: Cases) -> dict[str, tuple[float, ...]]:
    """Values of `COLUMNS` for every condition of a block: AUC, its 95% interval, risk of cases.

    Where they cannot be known, NaN and a risk of 1.
    """
    rng = np.random.default_rng([scan.random_state, STREAM, int(block.left_out[0])])
    drawn = {
        name: np.sort(rng.choice(own, MOST_CASES, replace=False)) if len(own) > MOST_CASES else own
        for name, own in cases.of.items()
    }
    used = np.unique(np.concatenate(list(drawn.values())))
    X = features_of(scan.cohort, cases.rows[used])
    keep = scan.used(block)
    both = sparse.vstack([X[:, keep], scan.others.X[:, keep]]).tocsr()
    rows = np.concatenate([cases.rows[used], scan.others.rows])
    found = {}
    for name, own in drawn.items():
        without = np.flatnonzero(~np.isin(scan.others.rows, cases.rows[cases.of[name]]))
        picked = np.concatenate([np.searchsorted(used, own), len(used) + without])
        recorded = np.arange(len(picked)) < len(own)
        share = scan.weights[cases.rows[cases.of[name]]].sum() / scan.weights.sum()
        found[name] = _ranked(scan, both[picked], rows[picked], recorded, float(share))
    return found


def _ranked(
    scan: Scan, X: sparse.csr_array, rows: NDArray[np.int64], recorded: NDArray[np.bool_],
    share: float,
) -> tuple[float, ...]:  # fmt: skip
    fold = scan.fold[rows]
    counts = np.bincount(fold, recorded, scan.n_folds)
    if recorded.sum() < 2 or recorded.all() or counts.max() == recorded.sum():
        return NOT_KNOWN
    score = (X @ _weights(X, fold, recorded, scan.n_folds))[np.arange(len(rows)), fold]
    weight = scan.weights[rows]
    ranked_by = expit((score - score.mean()) / max(float(score.std()), TINY))
    data = ScoreData.of(
        scan.groups[rows], recorded.astype(float), weight / weight.sum(),
        np.ones((len(rows), scan.cohort.n_groups)), ranked_by,
    )  # fmt: skip
    design = scan.design.take(rows)
    ranked = discrimination(data, fold, design)
    auc, error = float(ranked.auc[0]), float(ranked.std_error[0])
    if not (0 < auc < 1 and error > 0):
        return NOT_KNOWN
    df = min(design.degrees_of_freedom, int(recorded.sum()) - 1)
    half = float(stats.t.ppf(0.975, max(df, 1))) * error / (auc * (1 - auc))
    middle = float(logit(auc))
    risk = _risk_of_cases(score, weight, recorded, share)
    return auc, float(expit(middle - half)), float(expit(middle + half)), risk


def _risk_of_cases(
    score: FloatArray, weight: FloatArray, recorded: NDArray[np.bool_], share: float
) -> float:
    """E[m^2] / E[m], from the shares of cases and others in tenths of the cases' scores."""
    edges = np.quantile(score[recorded], np.arange(1, BINS) / BINS)
    place = np.searchsorted(edges, score, side="right")
    sides = (recorded, ~recorded)
    cases, others = (group_sums(place[k], weight[k], BINS) / weight[k].sum() for k in sides)
    chance = share * cases / np.maximum(share * cases + (1 - share) * others, TINY)
    return float(cases @ chance)


def _weights(
    X: sparse.csr_array, fold: NDArray[np.integer], recorded: NDArray[np.bool_], n_folds: int
) -> FloatArray:
    """w for the rows of every fold, from those of all others, shape (p, folds)."""
    cases, others = (_outside(X, fold, rows, n_folds) for rows in (recorded, ~recorded))
    share = (others[0] + 0.5) / (others[1] + 1.0)
    among = (cases[0] + PRIOR * share) / (cases[1] + PRIOR)
    weights: FloatArray = logit(among) - logit(share)
    return weights


def _outside(
    X: sparse.csr_array, fold: NDArray[np.integer], rows: NDArray[np.bool_], n_folds: int
) -> tuple[FloatArray, FloatArray]:
    """Features (p, folds) and number (folds,) of some rows outside of each fold."""
    own = np.flatnonzero(rows)
    each = sparse.csr_array((np.ones(len(own)), (fold[own], own)), shape=(n_folds, len(rows)))
    inside, counts = (each @ X).toarray().T, np.bincount(fold[own], minlength=n_folds)
    return inside.sum(axis=1, keepdims=True) - inside, counts.sum() - counts


def says_something(low: Any, high: Any) -> NDArray[np.bool_]:
    """Whether intervals of the AUC are those of features that predict, as the check judges."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return (low > NOTHING) & (high >= LITTLE)
