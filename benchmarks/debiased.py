"""The debiased estimator at national size, compared with PURPLE's path on the same visits.

Time of ``DebiasedPURPLE().fit`` (propensities of four groups and risk, five folds each,
penalties chosen) divided by the time of PURPLE's path of six penalties, by the clock and in
processor time, which other programs on the machine disturb less. Beside the defaults, which look
for richer models and deal folds several times where cases are few: linear models and one deal.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any, TypeVar

from benchmarks.measure import peak_gib, seconds
from benchmarks.neds import by_size, national_cohort
from relprev import Cohort
from relprev.inference import DebiasedPURPLE
from relprev.model.likelihood import Problem
from relprev.model.path import PAPER_GRID, fit_path

WARM = 20_000  # visits
LINEAR = {"propensity": "ridge", "risk": "purple", "n_repeats": 1}
T = TypeVar("T")


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per number of visits, smallest first."""
    _fitted(national_cohort(WARM))  # compiles
    return by_size(_measure, quick)


def _measure(visits: int) -> dict[str, Any]:
    cohort = national_cohort(visits)
    path_cpu, path_seconds, path = _spent(lambda: fit_path(Problem.from_cohort(cohort), PAPER_GRID))
    path_peak = peak_gib()
    linear_cpu, linear_seconds, _ = _spent(lambda: _fitted(cohort, **LINEAR))
    fit_cpu, fit_seconds, fitted = _spent(lambda: _fitted(cohort))
    table = fitted.relative_prevalence().to_frame()
    return {
        "visits": visits, "codes": cohort.X.n_cols, "groups": cohort.n_groups,
        "diagnosed": int(cohort.diagnosed.sum()), "path_seconds": path_seconds,
        "path_converged": all(point.certificate.converged for point in path),
        "linear_seconds": linear_seconds, "debiased_seconds": fit_seconds,
        "path_cpu_seconds": path_cpu, "linear_cpu_seconds": linear_cpu,
        "debiased_cpu_seconds": fit_cpu, "linear_times_path_cpu": linear_cpu / path_cpu,
        "times_path_cpu": fit_cpu / path_cpu, "times_linear_cpu": fit_cpu / linear_cpu,
        "deals": fitted.n_repeats_, "propensity": fitted.propensity_model_,
        "risk": fitted.risk_model_, "strength": fitted.strength_, "lambda": fitted.lambda_,
        "largest_std_error": float(table["std_error"].max()),
        "path_peak_gib": path_peak, "peak_gib": peak_gib(),
    }  # fmt: skip


def _fitted(cohort: Cohort, **options: Any) -> DebiasedPURPLE:
    return DebiasedPURPLE(lonely_psu="adjust", **options).fit(cohort)


def _spent(work: Callable[[], T]) -> tuple[float, float, T]:
    """Processor seconds, seconds by the clock, and what the work returned."""
    start = process_time()
    by_clock, found = seconds(work)
    return process_time() - start, by_clock, found
