"""KM2, kernel mean matching with a gradient threshold (Ramaswamy, Scott and Tewari 2016).

The rows of a group are a mixture F = (1 - kappa) G + kappa H of negatives G and positives H;
kappa is the prevalence, and the diagnosed rows are a sample of H. For lambda >= 1, the
function lambda F + (1 - lambda) H is a distribution as long as lambda <= 1 / (1 - kappa). Its
distance d(lambda) from the nearest distribution, in the space of a Gaussian kernel K, stays
near zero up to that point and then rises:

    d(lambda)^2 = min over v >= 0, sum v = 1 of (u - v)' K (u - v),
    u = lambda / N on the mixture's rows, (1 - lambda) / M on the diagnosed rows.

lambda is found by bisection of [1, 8], as the point where the slope of d crosses

    0.8 (slope between 1 and 1.05) + 0.2 (distance between F and H),

and kappa = 1 - 1 / lambda. The kernel's width is the median distance times whichever of
10^-1, 10^-0.5, ..., 10 puts F and H furthest apart.

With K = A'A, the inner problem is least squares of A v on A u under v >= 0, with a heavily
weighted row for sum v = 1, solved exactly by an active-set method.

Bisection stops at width 0.04, so kappa lies in [0.0135, 0.8748]; for a rarer condition it is
0.0135 in every group and the ratio is 1. Time grows with the cube of the number of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from relprev.arrays import FloatArray
from relprev.baselines.base import GroupwiseBaseline
from relprev.cohort import Cohort
from relprev.errors import DataWarning, InvalidInputError
from relprev.messages import Count, Message, Number

LARGEST = 8.0
WIDTH = 0.04  # of the bisection
FIRST_STEP = 0.05
THRESHOLD = 0.2
SUM_WEIGHT = 100.0
SLOW_ROWS = 3000


class KM2(GroupwiseBaseline):
    """Kernel mean matching with a gradient threshold.

    Parameters
    ----------
    max_rows : int
        Largest number of rows of a group, and of its diagnosed rows, which are sampled without
        replacement. Time grows with the cube of this number.
    random_state : int
        Seed of the sample.

    Notes
    -----
    Formula: :mod:`relprev.baselines.km2`.

    References
    ----------
    Ramaswamy, Scott and Tewari (2016), "Mixture proportion estimation via kernel embeddings of
    distributions".

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.5), separable=True, seed=1)
    >>> table = KM2(max_rows=200).fit(data.cohort).relative_prevalence(versus="b").to_frame()
    >>> bool(0 < table.loc[0, "estimate"] < 1)  # the truth is 0.24
    True
    """

    admits_weights = False
    least_cases = 10

    def __init__(self, *, max_rows: int = 800, random_state: int = 0) -> None:
        self.max_rows = max_rows
        self.random_state = random_state

    def _prevalence(self, group: Cohort) -> float:
        if self.max_rows < 20:
            raise InvalidInputError(f"max_rows must be at least 20, got {self.max_rows}")
        rng = np.random.default_rng(self.random_state)
        mixture = _sample(np.arange(group.n), self.max_rows, rng)
        component = _sample(np.flatnonzero(group.diagnosed), self.max_rows, rng)
        if len(mixture) + len(component) > SLOW_ROWS:
            _warn(
                Message(
                    "KM2 on {rows} takes minutes to hours (time grows with the cube of the number "
                    "of rows); lower max_rows",
                    rows=Count(len(mixture) + len(component), "row"),
                )
            )
        X = group.X.take(np.concatenate([mixture, component])).to_scipy()
        X = X.toarray() if issparse(X) else X
        kappa, at_bound = mixture_share(X[: len(mixture)], X[len(mixture) :])
        if at_bound:
            _warn(
                Message(
                    "KM2 can only return prevalences between {low} and {high}, and a group is at a "
                    "limit: its ratios are meaningless",
                    low=Number(_share(1 + _last() / 2), ".4f"),
                    high=Number(_share(LARGEST - _last() / 2), ".4f"),
                )
            )
        return kappa


def _warn(message: Message) -> None:
    warnings.warn(DataWarning(message), stacklevel=5)


def mixture_share(mixture: FloatArray, component: FloatArray) -> tuple[float, bool]:
    """Share of the component (M, p) in the mixture (N, p), and whether it is at a limit."""
    K, apart = _kernel(mixture, component)
    distance = distance_curve(K, len(mixture))
    first_slope = (distance(1 + FIRST_STEP) - distance(1.0)) / FIRST_STEP
    threshold = (1 - THRESHOLD) * first_slope + THRESHOLD * apart
    low, high = 1.0, LARGEST
    while high - low > WIDTH:
        middle = 0.5 * (low + high)
        slope = (distance(middle + WIDTH / 2) - distance(middle)) / (WIDTH / 2)
        low, high = (low, middle) if slope > threshold else (middle, high)
    return _share(0.5 * (low + high)), low == 1.0 or high == LARGEST


def distance_curve(K: FloatArray, N: int) -> Callable[[float], float]:
    """The function d(lambda), for a kernel matrix whose first N rows are the mixture's."""
    M = len(K) - N
    weight, vectors = np.linalg.eigh(K)
    kept = weight > 1e-10 * weight[-1]
    A = (vectors[:, kept] * np.sqrt(weight[kept])).T
    heavy = SUM_WEIGHT * np.sqrt(weight[-1])
    rows = np.vstack([A, np.full(N + M, heavy)])

    def distance(value: float) -> float:
        target = A @ np.concatenate([np.full(N, value / N), np.full(M, (1 - value) / M)])
        v = nnls(rows, np.append(target, heavy), maxiter=10 * (N + M))[0]
        return float(np.linalg.norm(A @ v - target))

    return distance


def _share(value: float) -> float:
    return 1.0 - 1.0 / value


def _last() -> float:
    """Width of the last bisection interval."""
    return float((LARGEST - 1) / 2 ** np.ceil(np.log2((LARGEST - 1) / WIDTH)))


def _kernel(mixture: FloatArray, component: FloatArray) -> tuple[FloatArray, float]:
    """Kernel matrix of all rows, and the distance between mixture and component."""
    X = np.concatenate([mixture, component])
    squared = cdist(X, X, "sqeuclidean")
    N, M = len(mixture), len(component)
    contrast = np.concatenate([np.full(N, 1 / N), np.full(M, -1 / M)])
    median = float(np.median(squared)) or 1.0
    kernels = (np.exp(-squared / (2 * median * m**2)) for m in np.logspace(-1, 1, 5))
    apart, best = max(((contrast @ K @ contrast, K) for K in kernels), key=lambda pair: pair[0])
    return best, float(np.sqrt(max(apart, 0.0)))


def _sample(rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= size else np.sort(rng.choice(rows, size, replace=False))
