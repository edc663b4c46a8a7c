"""All of it at national size: 33,100,000 simulated visits, from the raw file to intervals.

Four files, in each of which another group variable drives symptoms and diagnosis rates, are
read, made into the cohorts of all four group variables, and every cohort is given to
DebiasedPURPLE. The peak of memory is noted after the cohorts are built (``cohort_peak_gib``)
and after every fit. Needs 7 GB of disk in the temporary folder.
"""

from __future__ import annotations

from typing import Any

from benchmarks.known_truth import neds
from relprev.simulate.neds import RATES

VISITS = 33_100_000


def run(quick: bool) -> list[dict[str, Any]]:
    """One row a file, variable and group."""
    rows = []
    for seed, driver in enumerate(RATES):
        rows += neds(VISITS // (100 if quick else 1), driver, seed)
    return rows
