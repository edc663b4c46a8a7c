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
weighted row for sum v = 1, solved exactly by an active-set method. The authors' code solves it by
an interior-point method that stops early (`relprev.baselines.interior_point`), which lowers the
first slope and can move kappa far; ``compat="published"`` does the same. At a tolerance of 1e-10
their code gives what ours gives.

Bisection stops at width 0.04, so kappa lies in [0.0135, 0.8748]. An estimate at one of these
limits only says that the slope never, or always, crossed the threshold: it is no estimate. Time
grows with the cube of the number of rows.

The published code of PURPLE samples the rows of a group and takes the diagnosed rows *of that
sample* as the component (``component="mixture"``), so that the component is part of the mixture
and has few rows if the condition is rare. Samples drawn separately use all the diagnosed rows
there are (``component="separate"``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from relprev.arrays import FloatArray
from relprev.baselines.base import GroupwiseBaseline
from relprev.baselines.interior_point import NearestDistribution, Point
from relprev.cohort import Cohort
from relprev.errors import DataWarning, InvalidInputError
from relprev.messages import Count, Message, Number
from relprev.parallel.threads import one_blas_thread

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
        replacement. Time grows with the cube of this number. A group with no more rows is used
        whole, so that its mixture contains its diagnosed rows whatever ``component`` says, and a
        warning says so.
    component : "separate" or "mixture"
        Sample diagnosed rows separately, or take those of the sampled rows, as the published code
        of PURPLE does.
    compat : "published", optional
        Stop where the authors' solver stops (:mod:`relprev.baselines.interior_point`) instead of
        at the optimum.
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

    def __init__(
        self,
        *,
        max_rows: int = 800,
        component: Literal["separate", "mixture"] = "separate",
        compat: Literal["published"] | None = None,
        random_state: int = 0,
    ) -> None:
        self.max_rows = max_rows
        self.component = component
        self.compat = compat
        self.random_state = random_state

    def _prevalence(self, group: Cohort) -> float:
        self._check()
        rng = np.random.default_rng(self.random_state)
        mixture = _sample(np.arange(group.n), self.max_rows, rng)
        diagnosed = np.flatnonzero(group.diagnosed)
        if self.component == "mixture":
            component = mixture[group.diagnosed[mixture] == 1]
        else:
            component = _sample(diagnosed, self.max_rows, rng)
        if not self._usable(group, len(mixture), len(component), len(diagnosed)):
            return float("nan")
        X = group.X.take(np.concatenate([mixture, component])).to_scipy()
        X = X.toarray() if issparse(X) else X
        kappa, at_bound = mixture_share(
            X[: len(mixture)], X[len(mixture) :], early=self.compat == "published"
        )
        if at_bound:
            _warn(
                Message(
                    "group {group} gets no estimate: KM2 can only return prevalences between {low} "
                    "and {high}, and is at a limit",
                    group=repr(_name(group)),
                    low=Number(_share(1 + _last() / 2), ".4f"),
                    high=Number(_share(LARGEST - _last() / 2), ".4f"),
                )
            )
        return float("nan") if at_bound else kappa

    def _check(self) -> None:
        if self.max_rows < 20:
            raise InvalidInputError(f"max_rows must be at least 20, got {self.max_rows}")
        if self.component not in ("separate", "mixture"):
            raise InvalidInputError(
                f"component must be 'separate' or 'mixture', got {self.component!r}"
            )
        if self.compat not in (None, "published"):
            raise InvalidInputError(f"compat must be None or 'published', got {self.compat!r}")

    def _usable(self, group: Cohort, mixture: int, component: int, diagnosed: int) -> bool:
        """Say what is peculiar about the samples; False if there is nothing to estimate from."""
        name = _name(group)
        if component == 0:
            said = Message(
                "group {group} gets no estimate: none of the rows sampled as KM2's mixture is "
                "diagnosed ({n} in the group); raise max_rows or use component='separate'",
                group=repr(name), n=Count(diagnosed, "diagnosed row", (("n_diagnosed", name),)),
            )  # fmt: skip
            _warn(said, one_up=True)
            return False
        if self.component == "separate" and mixture == group.n:
            said = Message(
                "group {group} has no more than max_rows rows ({n}), so its diagnosed rows are "
                "part of KM2's mixture, as with component='mixture'",
                group=repr(name), n=Count(group.n, "row", (("n", name),)),
            )  # fmt: skip
            _warn(said, one_up=True)
        if mixture + component > SLOW_ROWS:
            said = Message(
                "KM2 on {rows} takes minutes to hours (time grows with the cube of the number of "
                "rows); lower max_rows",
                rows=Count(mixture + component, "row"),
            )
            _warn(said, one_up=True)
        return True


def _name(group: Cohort) -> str:
    """Name of the group to which all rows belong."""
    return group.group_names[int(group.groups[0])]


def _warn(message: Message, *, one_up: bool = False) -> None:
    warnings.warn(DataWarning(message), stacklevel=6 if one_up else 5)


@one_blas_thread()
def mixture_share(
    mixture: FloatArray, component: FloatArray, *, early: bool = False
) -> tuple[float, bool]:
    """Share of the component (M, p) in the mixture (N, p), and whether it is at a limit.

    ``early`` stops where the authors' solver stops.
    """
    K, apart = _kernel(mixture, component)
    curve = early_distance_curve if early else distance_curve
    distance = curve(K, len(mixture))
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
        target = A @ _target(value, N, M)
        v = nnls(rows, np.append(target, heavy), maxiter=10 * (N + M))[0]
        return float(np.linalg.norm(A @ v - target))

    return distance


def early_distance_curve(K: FloatArray, N: int) -> Callable[[float], float]:
    """The same function as the authors' code computes it: 1 + FIRST_STEP is begun at 1."""
    M, nearest = len(K) - N, NearestDistribution(K)
    first = nearest(_target(1.0, N, M))

    def distance(value: float) -> float:
        u = _target(value, N, M)
        begun: Point | None = first if value == 1 + FIRST_STEP else None
        point = first if value == 1.0 else nearest(u, begun)
        return float(np.sqrt(max(0.0, point.objective + float(u @ K @ u))))

    return distance


def _target(value: float, N: int, M: int) -> FloatArray:
    """The weights u of lambda F + (1 - lambda) H."""
    return np.concatenate([np.full(N, value / N), np.full(M, (1 - value) / M)])


def _share(value: float) -> float:
    return 1.0 - 1.0 / value


def _last() -> float:
    """Width of the last bisection interval."""
    return float((LARGEST - 1) / 2 ** np.ceil(np.log2((LARGEST - 1) / WIDTH)))


def _kernel(mixture: FloatArray, component: FloatArray) -> tuple[FloatArray, float]:
    """Kernel matrix of all rows, and the distance between mixture and component."""
    X = np.concatenate([mixture, component])
    squared = _squared_distances(X)
    N, M = len(mixture), len(component)
    contrast = np.concatenate([np.full(N, 1 / N), np.full(M, -1 / M)])
    median = float(np.median(squared)) or 1.0
    kernels = (np.exp(-squared / (2 * median * m**2)) for m in np.logspace(-1, 1, 5))
    apart, best = max(((contrast @ K @ contrast, K) for K in kernels), key=lambda pair: pair[0])
    return best, float(np.sqrt(max(apart, 0.0)))


def _squared_distances(X: FloatArray) -> FloatArray:
    """Between all rows; of codes by one product, which is exact for small whole numbers."""
    X = X[:, (X[0] != X).any(axis=0)]
    if not ((X == 0) | (X == 1)).all():
        return cdist(X, X, "sqeuclidean")
    ones = X.sum(axis=1)
    return ones[:, None] + ones - 2.0 * (X @ X.T)


def _sample(rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= size else np.sort(rng.choice(rows, size, replace=False))
