"""An atlas at national size, compared with one fit of the debiased estimator on the same visits.

The visits are those of `benchmarks.neds`: 19,710 codes, four groups. The codes are dealt to 20
blocks, and the 300 most frequent ones are the conditions, each group against the others. Time of
``scan_conditions`` divided by that of ``DebiasedPURPLE().fit``, by the clock and in processor time.
The smaller sizes are in memory; the largest is out of core, in a process of its own, without the
comparison.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.measure import peak_gib, seconds
from benchmarks.neds import NATIONAL, SIZES, national_cohort
from benchmarks.scale import PART_ROWS, _alone, _anonymous
from relprev import scan_conditions
from relprev.cohort import Cohort, write_parts
from relprev.inference import DebiasedPURPLE
from relprev.simulate import ed_visit_parts

CONDITIONS, BLOCKS = 300, 20
GIB = 2**30


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per number of visits, smallest first; if quick, the largest is left out."""
    rows = []
    for visits in SIZES[:-1]:
        rows.append(_alone(_compared, visits))
        print(rows[-1], flush=True)
    if not quick:
        rows.append(out_of_core(SIZES[-1]))
        print(rows[-1], flush=True)
    return rows


def out_of_core(visits: int) -> dict[str, Any]:
    """The atlas of visits on disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits"
        names = _alone(_written, visits, str(path))
        return dict(_alone(_on_disk, visits, str(path), names))


def in_blocks(cohort: Cohort) -> Cohort:
    """The cohort with names that say each code's block."""
    names = tuple(f"B{k % BLOCKS + 1}:{k}" for k in range(cohort.n_cols))
    return replace(cohort, feature_names=names)


def most_frequent(counts: np.ndarray) -> list[str]:
    """Names of the codes that are conditions."""
    return [f"B{k % BLOCKS + 1}:{k}" for k in np.argsort(-counts, kind="stable")[:CONDITIONS]]


def _compared(visits: int) -> dict[str, Any]:
    cohort = in_blocks(national_cohort(visits))
    counts = np.asarray(sparse.csr_array(cohort.X.to_scipy()).sum(axis=0))
    start = process_time()
    fit_seconds, _ = seconds(lambda: DebiasedPURPLE(lonely_psu="adjust").fit(cohort))
    fit_peak, middle = peak_gib(), process_time()
    found = _scanned(cohort, most_frequent(counts))
    return {
        "visits": visits, "codes": cohort.n_cols, "where": "in memory", **found,
        "debiased_seconds": fit_seconds, "debiased_cpu_seconds": middle - start,
        "times_debiased": found["seconds"] / fit_seconds,
        "times_debiased_cpu": found["cpu_seconds"] / (middle - start),
        "debiased_peak_gib": fit_peak,
    }  # fmt: skip


def _written(visits: int, path: str) -> list[str]:
    """Write the visits in parts; the names of the conditions."""
    counts = np.zeros(NATIONAL["n_codes"])

    def parts() -> Iterator[Cohort]:
        for part in ed_visit_parts(visits, rows=PART_ROWS, **NATIONAL):
            counts[:] += np.asarray(sparse.csr_array(part.X.to_scipy()).sum(axis=0))
            yield in_blocks(part)

    write_parts(parts(), path)
    return most_frequent(counts)


def _on_disk(visits: int, path: str, names: list[str]) -> dict[str, Any]:
    cohort = Cohort.open(path)
    return {"visits": visits, "codes": cohort.n_cols, "where": "out of core",
            **_scanned(cohort, names)}  # fmt: skip


def _scanned(cohort: Cohort, names: list[str]) -> dict[str, Any]:
    start = process_time()
    with _anonymous() as largest:
        took, atlas = seconds(
            lambda: scan_conditions(cohort, conditions=names, lonely_psu="adjust", verbose=True)
        )
        own = largest()
    return {
        "groups": cohort.n_groups, "conditions": int(atlas.table["condition"].nunique()),
        "rows": len(atlas.table), "answers": int(atlas.table["estimate"].notna().sum()),
        "seconds": took, "cpu_seconds": process_time() - start, "anonymous_gib": own / GIB,
        "peak_gib": peak_gib(),
    }  # fmt: skip
