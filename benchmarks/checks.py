"""What it costs to ask whether the answer is right, compared with the estimate itself.

Simulated visits with a condition and 20 control conditions; codes in ten blocks, which benchmarks
leave out one by one. Every check is timed after ``DebiasedPURPLE().fit`` on the same visits, which
they share; ratios are of processor time, which other programs on the machine disturb less than the
clock.
"""

from __future__ import annotations

from dataclasses import replace
from time import process_time
from typing import Any

from benchmarks.measure import peak_gib, seconds
from relprev import PURPLE, DebiasedPURPLE
from relprev.checks.inputs import CheckInputs
from relprev.checks.registry import CHECKS
from relprev.simulate import visits_with_controls

VISITS, QUICK_VISITS = 1_500_000, 150_000
BLOCKS = 10
WORLD = {"n_controls": 20, "n_codes": 2_000, "prevalence": 0.01, "seed": 5}
FIT, CONTROLS, PURPLE_FIT = "DebiasedPURPLE", "20 control conditions", "PURPLE, for agreement"


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per step."""
    visits = QUICK_VISITS if quick else VISITS
    DebiasedPURPLE().fit(visits_with_controls(20_000, **WORLD).cohort)  # compiles
    cohort = visits_with_controls(visits, **WORLD).cohort
    names = tuple(f"code {k}" for k in range(cohort.n_cols))
    cohort = replace(cohort, feature_names=names)
    inputs = CheckInputs(
        cohort, lambda: PURPLE().fit(cohort), lambda: DebiasedPURPLE().fit(cohort),
        reference=cohort.group_names[1],
        blocks={f"block {k + 1}": names[k::BLOCKS] for k in range(BLOCKS)},
    )  # fmt: skip
    steps = {FIT: lambda: inputs.debiased, CONTROLS: lambda: inputs.calibration}
    steps[PURPLE_FIT] = lambda: inputs.purple
    steps |= {check.title: lambda check=check: check.results(inputs) for check in CHECKS.values()}
    rows: list[dict[str, Any]] = []
    for name, step in steps.items():
        start = process_time()
        took, _ = seconds(step)
        cpu = process_time() - start
        rows.append({
            "step": name, "visits": visits, "diagnosed": int(cohort.diagnosed.sum()),
            "seconds": took, "cpu_seconds": cpu,
            "times_fit_cpu": cpu / (rows[0]["cpu_seconds"] if rows else cpu),
            "peak_gib": peak_gib(),
        })  # fmt: skip
        print(rows[-1], flush=True)
    return rows
