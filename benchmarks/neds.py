"""National size: 15,357,528 visits x 19,710 codes, four groups, weights.

A pass is one evaluation of the likelihood and its gradient. It is compared with scipy's
X @ w plus X.T @ r on the same matrix, and the path of six penalties is compared with the pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import best_seconds, peak_gib, seconds
from relprev.cohort import Cohort
from relprev.model.likelihood import Problem, evaluate
from relprev.model.path import PAPER_GRID, fit_path
from relprev.model.solver import null_parameters
from relprev.simulate import ed_visits

VISITS = 15_357_528
CODES = 19_710
SIZES = (150_000, 1_500_000, VISITS)
NATIONAL: dict[str, Any] = {"n_codes": CODES, "prevalence": 0.02, "survey": True, "seed": 1}


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per number of visits, smallest first."""
    return by_size(_measure, quick)


def by_size(measure: Callable[[int], dict[str, Any]], quick: bool) -> list[dict[str, Any]]:
    """What ``measure`` finds for each number of visits; if quick, the largest is left out."""
    rows = []
    for visits in SIZES[:-1] if quick else SIZES:
        rows.append(measure(visits))
        print(rows[-1], flush=True)
    return rows


def _measure(visits: int) -> dict[str, Any]:
    simulate_seconds, cohort = seconds(lambda: national_cohort(visits))
    problem = Problem.from_cohort(cohort)
    start = null_parameters(problem)
    one_pass = best_seconds(lambda: evaluate(problem, start))
    path_seconds, path = seconds(lambda: fit_path(problem, PAPER_GRID))
    peak = peak_gib()  # before scipy's copy of the matrix
    w, r = path[-1].parameters.w, np.random.default_rng(0).random(visits)
    X = cohort.X.to_scipy()
    XT = X.T
    scipy_seconds = best_seconds(lambda: X @ w) + best_seconds(lambda: XT @ r)
    return {
        "visits": visits, "codes": CODES, "ones": cohort.X.nnz,
        "simulate_seconds": simulate_seconds, "pass_seconds": one_pass,
        "scipy_products_seconds": scipy_seconds, "pass_over_scipy": one_pass / scipy_seconds,
        "path_seconds": path_seconds, "path_in_passes": path_seconds / one_pass,
        "passes_made": sum(point.certificate.passes for point in path),
        "all_converged": all(point.certificate.converged for point in path),
        "peak_gib": peak,
    }  # fmt: skip


def national_cohort(visits: int) -> Cohort:
    """Simulated visits like those of one year of the national survey."""
    return ed_visits(visits, **NATIONAL).cohort
