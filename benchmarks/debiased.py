"""The debiased estimator at national size, beside PURPLE's path on the same visits.

Time of ``DebiasedPURPLE().fit`` (propensities of four groups and risk, five folds each,
strengths chosen) over the time of PURPLE's path of six penalties.
"""

from __future__ import annotations

from typing import Any

from benchmarks.measure import peak_gib, seconds
from benchmarks.neds import SIZES, national_cohort
from relprev.inference import DebiasedPURPLE
from relprev.model.likelihood import Problem
from relprev.model.path import PAPER_GRID, fit_path


def run(quick: bool) -> list[dict[str, Any]]:
    """One row a number of visits, smallest first."""
    rows = []
    for visits in SIZES[:2] if quick else SIZES:
        rows.append(_measure(visits))
        print(rows[-1], flush=True)
    return rows


def _measure(visits: int) -> dict[str, Any]:
    cohort = national_cohort(visits)
    path_seconds, path = seconds(lambda: fit_path(Problem.from_cohort(cohort), PAPER_GRID))
    path_peak = peak_gib()
    fit_seconds, fitted = seconds(lambda: DebiasedPURPLE(lonely_psu="adjust").fit(cohort))
    table = fitted.relative_prevalence().to_frame()
    return {
        "visits": visits, "codes": cohort.X.n_cols, "groups": cohort.n_groups,
        "diagnosed": int(cohort.diagnosed.sum()), "path_seconds": path_seconds,
        "path_converged": all(point.certificate.converged for point in path),
        "debiased_seconds": fit_seconds, "times_path": fit_seconds / path_seconds,
        "strength": fitted.strength_, "lambda": fitted.lambda_,
        "largest_std_error": float(table["std_error"].max()),
        "path_peak_gib": path_peak, "peak_gib": peak_gib(),
    }  # fmt: skip
