"""From raw files to intervals: do they contain the known ratio?

Simulated NEDS files, in each of which a different group variable drives symptoms and diagnosis
rates, and simulated MIMIC-IV files of both layouts are read, made into cohorts as in the
paper's studies, and fitted with DebiasedPURPLE. Every group is compared with the other groups
of its variable. A 95% interval misses the truth one time in twenty; where the intervals are
right, errors divided by standard errors have mean 0 and root mean square 1. Simultaneous intervals
(max-t) contain the truth for all groups of a variable at once nineteen times in twenty. Every seed
makes a different world, with its own symptoms, groups and truth.
"""

from __future__ import annotations

import math
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import peak_gib, seconds
from relprev.cohort import BuiltCohort, build_cohorts, cohort_spec
from relprev.inference import DebiasedPURPLE
from relprev.simulate.mimic import LAYOUTS, RACES, WrittenMimic, write_mimic
from relprev.simulate.neds import RATES, WrittenNeds, write_neds
from relprev.sources import read_mimic, read_neds
from relprev.sources.neds import PAYER, RACE

NEDS_VISITS = 3_300_000
MIMIC_VISITS = 600_000  # leaves about as many women aged 18 or over as the paper has
MIMIC_SEEDS = 20  # the layouts alternate
CODES = 2_000
COLUMNS = {"race": "RACE", "payer": "PAY1", "income_quartile": "ZIPINC_QRTL",
           "urbanicity": "PL_NCHS"}  # fmt: skip
WORDS = {"race": RACE, "payer": PAYER}


def run(quick: bool) -> list[dict[str, Any]]:
    """One row per file, variable and group."""
    rows = []
    scale = 10 if quick else 1
    for seed, driver in enumerate(RATES):
        rows += neds(NEDS_VISITS // scale, driver, seed)
    for seed in range(2 if quick else MIMIC_SEEDS):
        rows += _mimic(MIMIC_VISITS // scale, LAYOUTS[seed % len(LAYOUTS)], seed)
    return rows


def neds(visits: int, driver: str, seed: int) -> list[dict[str, Any]]:
    """One row per variable and group of a simulated NEDS file."""
    rows = []
    about: dict[str, Any] = {"source": "neds", "visits": visits, "seed": seed, "driver": driver}
    spec = cohort_spec("ipv-neds")
    with tempfile.TemporaryDirectory(prefix="relprev-") as folder:
        written = _apart(_write_neds, Path(folder) / "NEDS_2019_Core.csv", visits, driver, seed)
        start = time.perf_counter()
        with read_neds(written.path, cache=folder) as source:
            built = build_cohorts(spec, source)
        about |= {"cohort_seconds": time.perf_counter() - start, "cohort_peak_gib": peak_gib()}
        for group in spec.groups:
            number = {word: k for k, word in WORDS.get(group.name, {}).items()}
            values = [number.get(raw, raw) for (raw,) in group.recode.values()]
            truth = written.truth[COLUMNS[group.name]].relative_prevalence(values)
            rows += _compared(about, built[group.name], truth)
    return rows


def _mimic(visits: int, layout: str, seed: int) -> list[dict[str, Any]]:
    about = {"source": f"mimic-iv {layout}", "visits": visits, "seed": seed, "driver": "race"}
    with tempfile.TemporaryDirectory(prefix="relprev-") as folder:
        written = _apart(_write_mimic, Path(folder), visits, layout, seed)
        with read_mimic(written.hosp, written.ed) as source:
            built = build_cohorts(cohort_spec("ipv-mimic"), source, groups=["race"])["race"]
    return _compared(about, built, written.truth.relative_prevalence(list(RACES)))


def _compared(
    about: dict[str, Any], built: BuiltCohort, truth: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """One row per group: its truth (given in the cohort's order of groups) and its interval."""
    fit_seconds, estimator = seconds(lambda: DebiasedPURPLE().fit(built.cohort))
    known = dict(zip(built.cohort.group_names, truth, strict=True))
    result = estimator.relative_prevalence()
    jointly = result.simultaneous().set_index("group")
    rows = []
    for item in result.to_frame().to_dict("records"):
        low, high, true = item["ci_low"], item["ci_high"], float(known[item["group"]])
        wider = jointly.loc[item["group"]]
        rows.append(
            about | {"variable": built.name, "group": item["group"], "women": built.cohort.n,
                     "diagnosed": int(built.cohort.diagnosed.sum()),
                     "observed_ratio": item["observed_ratio"], "estimate": item["estimate"],
                     "std_error": item["std_error"], "ci_low": low, "ci_high": high,
                     "truth": true, "inside": bool(low <= true <= high),
                     "inside_simultaneous": bool(wider.ci_low <= true <= wider.ci_high),
                     "error_over_std_error": math.log(item["estimate"] / true) / item["std_error"],
                     "fit_seconds": fit_seconds,
                     "peak_gib": peak_gib()}
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def _apart(function: Any, *arguments: Any) -> Any:
    """Run in a separate process, so that its memory is not counted here."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _write_neds(path: Path, visits: int, driver: str, seed: int) -> WrittenNeds:
    return write_neds(path, visits, driver=driver, n_codes=CODES, prevalence=0.02, seed=seed)


def _write_mimic(folder: Path, visits: int, layout: str, seed: int) -> WrittenMimic:
    return write_mimic(folder, visits, layout=layout, n_codes=CODES, prevalence=0.02, seed=seed)
