"""National size from end to end: 33,100,000 simulated visits, from the raw file to intervals.

There are four files; in each, a different group variable drives symptoms and diagnosis rates. Each
file is read and turned into the cohorts of all four group variables, and every cohort is fitted
with DebiasedPURPLE. Peak memory is recorded after the cohorts are built (``cohort_peak_gib``) and
after every fit. Needs 7 GB of disk in the temporary folder.
"""

from __future__ import annotations

from typing import Any

from benchmarks.known_truth import neds
from relprev.simulate.neds import RATES

VISITS = 33_100_000


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per file, variable and group."""
    rows = []
    for seed, driver in enumerate(RATES):
        rows += neds(VISITS // (100 if quick else 1), driver, seed)
    return rows
