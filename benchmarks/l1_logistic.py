"""The special case of one group with c = 1, L1 logistic regression, against specialised solvers.

Each solver runs at a series of tolerances. Its time is that of the loosest run
whose objective is within 1e-6 (relative) of the best objective any solver found.
liblinear penalises the intercept; a large intercept scaling makes that negligible.
glum keeps a dense matrix of all pairs of columns and is left out at 15,700 columns,
where it needs more than 13 GB.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.measure import seconds
from relprev.matrix import BinaryCSR, Matrix
from relprev.model.likelihood import Parameters, Problem
from relprev.model.quadratic import Penalty
from relprev.model.solver import SolverOptions, solve

SIZES = ((200_000, 1_500, 1_800_000), (300_000, 15_700, 3_600_000))
LAMBDAS = (1e-4, 1e-5)
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
GOAL = 1e-6
GLUM_COLUMNS = 5_000

Fit = Callable[[float], tuple[np.ndarray, float]]


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per size and penalty."""
    rows = []
    for n, p, ones in SIZES:
        shrink = 10 if quick else 1
        X, s = _data(n // shrink, p // shrink, ones // shrink)
        for l1 in LAMBDAS:
            rows.append(_compare(X, s, l1))
            print(rows[-1], flush=True)
    return rows


def _data(n: int, p: int, ones: int) -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    popularity = np.arange(1, p + 1) ** -0.8
    count = rng.poisson(ones / n, n)
    columns = rng.choice(p, count.sum(), p=popularity / popularity.sum()).astype(np.int32)
    pointers = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    X = sp.csr_matrix((np.ones(len(columns)), columns, pointers), shape=(n, p))
    X.sum_duplicates()
    X.data[:] = 1.0
    w = np.zeros(p)
    w[rng.choice(p, p // 10, replace=False)] = rng.normal(size=p // 10)
    s = (rng.random(n) < 1 / (1 + np.exp(2 - X @ w))).astype(np.uint8)
    return X, s


def _compare(X: sp.csr_matrix, s: np.ndarray, l1: float) -> dict[str, Any]:
    row = {"rows": X.shape[0], "columns": X.shape[1], "ones": X.nnz, "lambda": l1}
    return row | times(X, s, l1, _solvers(X, s, l1))


def times(
    X: Any, s: np.ndarray, l1: float, solvers: dict[str, Fit], goal: float = GOAL
) -> dict[str, float]:
    """Seconds of every solver to the same objective, and how relprev's compare with the others."""

    def objective(w: np.ndarray, b: float) -> float:
        z = X @ w + b
        return float(np.logaddexp(0, np.where(s == 1, -z, z)).mean() + l1 * np.abs(w).sum())

    runs: dict[str, list[tuple[float, float]]] = {}
    for name, fit in solvers.items():
        fit(1e-1)  # compile, load
        for tolerance in TOLERANCES:
            spent, (w, b) = seconds(lambda fit=fit, tolerance=tolerance: fit(tolerance))
            runs.setdefault(name, []).append((spent, objective(w, b)))
    best = min(value for found in runs.values() for _, value in found)
    row: dict[str, float] = {}
    for name, found in runs.items():
        good = [spent for spent, value in found if value <= best * (1 + goal)]
        row[f"{name}_seconds"] = min(good, default=float("nan"))
    rivals = [row[f"{name}_seconds"] for name in runs if name != "relprev"]
    row["times_faster_than_fastest"] = float(np.nanmin(rivals) / row["relprev_seconds"])
    return row


def by_relprev(X: Matrix, s: np.ndarray, l1: float, tolerance: float) -> tuple[np.ndarray, float]:
    """Coefficients and intercept by PURPLE with one group and c = 1."""
    n, p = X.shape
    problem = Problem.of(X, s, np.zeros(n, np.uint8), np.full(n, 1 / n), 1)
    odds = np.log(s.mean() / (1 - s.mean()))
    found = solve(
        problem, Penalty(l1, np.zeros(p)), Parameters(np.zeros(p), odds, np.zeros(1)),
        fit_rates=False, options=SolverOptions(tolerance, ratio_tolerance=1.0), warn=False,
    )  # fmt: skip
    return found.parameters.w, found.parameters.b


def by_liblinear(X: Any, s: np.ndarray, l1: float, tolerance: float) -> tuple[np.ndarray, float]:
    """Coefficients and intercept by liblinear."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", C=1 / (l1 * len(s)), tol=tolerance,
        intercept_scaling=100.0, max_iter=1000, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, s)
    return model.coef_[0], float(model.intercept_[0])


def _solvers(X: sp.csr_matrix, s: np.ndarray, l1: float) -> dict[str, Fit]:
    from glum import GeneralizedLinearRegressor
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    p = X.shape[1]
    by_column, signs = X.tocsc(), np.where(s == 1, 1.0, -1.0)

    def relprev(tolerance: float) -> tuple[np.ndarray, float]:
        # The matrix is built inside, since the other solvers convert their input too.
        return by_relprev(BinaryCSR(X.indptr, X.indices, p), s, l1, tolerance)

    def liblinear(tolerance: float) -> tuple[np.ndarray, float]:
        return by_liblinear(X, s, l1, tolerance)

    def skglm(tolerance: float) -> tuple[np.ndarray, float]:
        solver = ProxNewton(tol=1e-2 * tolerance, fit_intercept=True, max_iter=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = solver.solve(by_column, signs, Logistic(), L1(l1))[0]
        return w[:p], float(w[p])

    def glum(tolerance: float) -> tuple[np.ndarray, float]:
        model = GeneralizedLinearRegressor(
            family="binomial", alpha=l1, l1_ratio=1.0, gradient_tol=1e-3 * tolerance, max_iter=300
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(by_column, s.astype(float))
        return model.coef_, float(model.intercept_)

    solvers: dict[str, Fit] = {"relprev": relprev, "liblinear": liblinear, "skglm": skglm}
    return solvers | {"glum": glum} if p <= GLUM_COLUMNS else solvers
