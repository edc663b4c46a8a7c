"""The debiased estimator at national size, compared with PURPLE's path on the same visits.

Time of ``DebiasedPURPLE().fit`` (propensities of four groups and risk, five folds each,
penalties chosen) divided by the time of PURPLE's path of six penalties, by the clock and in
processor time, which other programs on the machine disturb less.
"""

from __future__ import annotations

from time import process_time
from typing import Any

from benchmarks.measure import peak_gib, seconds
from benchmarks.neds import by_size, national_cohort
from relprev.inference import DebiasedPURPLE
from relprev.model.likelihood import Problem
from relprev.model.path import PAPER_GRID, fit_path


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per number of visits, smallest first."""
    return by_size(_measure, quick)


def _measure(visits: int) -> dict[str, Any]:
    cohort = national_cohort(visits)
    start = process_time()
    path_seconds, path = seconds(lambda: fit_path(Problem.from_cohort(cohort), PAPER_GRID))
    path_peak, middle = peak_gib(), process_time()
    fit_seconds, fitted = seconds(lambda: DebiasedPURPLE(lonely_psu="adjust").fit(cohort))
    path_cpu, fit_cpu = middle - start, process_time() - middle
    table = fitted.relative_prevalence().to_frame()
    return {
        "visits": visits, "codes": cohort.X.n_cols, "groups": cohort.n_groups,
        "diagnosed": int(cohort.diagnosed.sum()), "path_seconds": path_seconds,
        "path_converged": all(point.certificate.converged for point in path),
        "debiased_seconds": fit_seconds, "times_path": fit_seconds / path_seconds,
        "path_cpu_seconds": path_cpu, "debiased_cpu_seconds": fit_cpu,
        "times_path_cpu": fit_cpu / path_cpu,
        "strength": fitted.strength_, "lambda": fitted.lambda_,
        "largest_std_error": float(table["std_error"].max()),
        "path_peak_gib": path_peak, "peak_gib": peak_gib(),
    }  # fmt: skip
