"""Write simulated NEDS Core files, in HCUP's format, with known truth.

Visits come from `relprev.simulate.ed_visits`. Its groups become one NEDS variable, the driver,
on which both symptoms and diagnosis rates depend. The other group variables are drawn
independently of everything, so their relative prevalences are 1. As in the real files, there
are men, children, missing values and codes of the condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from relprev.codes import CodeSet, code_set
from relprev.codes.patterns import example_code, is_expression
from relprev.errors import InvalidInputError
from relprev.simulate import Simulation, ed_visits
from relprev.simulate.truth import Truth, no_difference, population_truth
from relprev.sources.neds_store import read_layout
from relprev.store.files import written_whole

CHUNK = 200_000
MISSING_SHARE = 0.02
VALUES = {"RACE": 6, "PAY1": 6, "ZIPINC_QRTL": 4, "PL_NCHS": 6}  # codes 1, 2, ...
RATES = {
    "RACE": (0.3, 0.15, 0.2, 0.25), "PAY1": (0.25, 0.5), "ZIPINC_QRTL": (0.2, 0.25, 0.35, 0.45),
    "PL_NCHS": (0.35, 0.3, 0.25, 0.15),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class WrittenNeds:
    """The file, and the truth for every group variable, including the driver.

    ``included`` counts visits of women aged 18 or over; ``settings`` are those passed to
    `relprev.simulate.ed_visits`. The truth is computed on first use.
    """

    path: Path
    driver: str
    included: int
    settings: Mapping[str, Any]

    @cached_property
    def truth(self) -> dict[str, Truth]:
        driven = population_truth(tuple(self.settings["diagnosis_rates"]), **self.settings)
        return {
            name: driven if name == self.driver
            else no_difference([str(k + 1) for k in range(count)], driven)
            for name, count in VALUES.items()
        }  # fmt: skip


def icd10_like(count: int) -> list[str]:
    """Distinct strings that look like ICD-10 codes, none of them starting with T to Z."""
    letters = "ABCDEFGHIJKLMNOPQRS"
    if count > 10_000 * len(letters):
        raise InvalidInputError(f"n_codes must be at most {10_000 * len(letters):,}, got {count:,}")
    return [f"{letters[j % len(letters)]}{j // len(letters):04d}" for j in range(count)]


def write_neds(
    path: str | Path,
    n_visits: int = 100_000,
    *,
    condition: str | CodeSet = "ipv",
    driver: str = "RACE",
    diagnosis_rates: tuple[float, ...] | None = None,
    n_codes: int = 2_000,
    prevalence: float = 0.05,
    seed: int = 0,
) -> WrittenNeds:
    """Write a simulated NEDS 2019 Core file.

    Parameters
    ----------
    path : str or Path
        Ends in .csv or .csv.gz; name it ``NEDS_2019_Core.csv`` for `read_neds`.
    n_visits : int
        Includes men and children; slightly under half are by women aged 18 or over.
    condition : str or CodeSet
        Code set, or the name of one, whose ICD-10 codes mark diagnosed visits.
    driver : str
        RACE, PAY1, ZIPINC_QRTL or PL_NCHS: the variable on which symptoms and diagnosis depend.
    diagnosis_rates : tuple of float, optional
        c_g for the values 1, 2, ... of the driver.
    n_codes, prevalence, seed
        As in `relprev.simulate.ed_visits`.
    """
    if driver not in RATES:
        raise InvalidInputError(f"driver must be one of {', '.join(RATES)}, got {driver!r}")
    rates = diagnosis_rates or RATES[driver]
    rng = np.random.default_rng([seed, 1])
    settings: dict[str, Any] = {
        "n_visits": n_visits, "n_codes": n_codes, "prevalence": prevalence, "survey": True,
        "seed": seed, "diagnosis_rates": {str(k + 1): rate for k, rate in enumerate(rates)},
    }  # fmt: skip
    simulation = ed_visits(**settings)
    variables = _variables(simulation, driver, rng)
    path = Path(path)
    with written_whole(path) as temporary, pa.output_stream(str(temporary)) as stream:
        codes, labels = pa.array(icd10_like(n_codes)), pa.array(_icd10_codes(condition))
        options = pa.csv.WriteOptions(include_header=False, quoting_style="needed")
        for start in range(0, n_visits, CHUNK):
            rows = np.arange(start, min(start + CHUNK, n_visits))
            table = _table(simulation, variables, rows, codes, labels, rng)
            pa.csv.write_csv(table, stream, options)
    women = (variables["FEMALE"] == 1) & (variables["AGE"] >= 18)
    return WrittenNeds(path, driver, int(women.sum()), settings)


def _variables(
    simulation: Simulation, driver: str, rng: np.random.Generator
) -> dict[str, NDArray[np.int16]]:
    """All variables of the visits except their codes; negative numbers are missing."""
    n = simulation.cohort.n
    variables = {
        name: rng.integers(1, count + 1, n).astype(np.int16) for name, count in VALUES.items()
    }
    variables[driver] = simulation.cohort.groups.astype(np.int16) + 1
    for name in VALUES:
        variables[name][rng.random(n) < MISSING_SHARE] = -99 if name == "PL_NCHS" else -9
    variables["AGE"] = rng.integers(0, 95, n).astype(np.int16)
    variables["AGE"][rng.random(n) < 0.002] = -99
    variables["FEMALE"] = (rng.random(n) < 0.55).astype(np.int16)
    variables["FEMALE"][rng.random(n) < 0.001] = -9
    return variables


def _table(
    simulation: Simulation,
    variables: Mapping[str, NDArray[np.int16]],
    rows: NDArray[np.int64],
    codes: pa.Array,
    labels: pa.Array,
    rng: np.random.Generator,
) -> pa.Table:
    cohort = simulation.cohort
    assert cohort.psus is not None  # ed_visits(survey=True)
    assert cohort.strata is not None
    assert cohort.weights is not None
    dx, counts = _diagnoses(simulation, rows, codes, labels, rng)
    columns: dict[str, pa.Array] = {
        name: pa.array(values[rows]) for name, values in variables.items()
    }
    columns |= {f"I10_DX{k + 1}": column for k, column in enumerate(dx)}
    columns |= {
        "I10_NDX": pa.array(counts),
        "KEY_ED": pa.array(2019_0000_0000 + rows),
        "HOSP_ED": pa.array(10_000 + cohort.psus[rows]),
        "NEDS_STRATUM": pa.array(20_000 + cohort.strata[rows]),
        "DISCWT": pa.array(np.round(cohort.weights[rows], 7)),
        "YEAR": pa.array(np.full(len(rows), 2019)),
        "HCUPFILE": pa.array(["NEDS"] * len(rows)),
        "AMONTH": pa.array(rng.integers(1, 13, len(rows))),
    }
    filler = pa.array(np.zeros(len(rows), dtype=np.int8))
    return pa.table({name: columns.get(name, filler) for name in read_layout("Core", 2019)})


def _icd10_codes(condition: str | CodeSet) -> list[str]:
    """ICD-10 codes of the set, with prefixes used as codes."""
    found = code_set(condition) if isinstance(condition, str) else condition
    patterns = [p.text for p in found.patterns if p.version == "ICD10"]
    codes = [example_code(text) for text in patterns if not is_expression(text)]
    if not codes:
        raise InvalidInputError(f"the code set {found.name!r} has no ICD-10 codes to write")
    return codes


def _diagnoses(
    simulation: Simulation, rows: NDArray[np.int64], codes: pa.Array, labels: pa.Array,
    rng: np.random.Generator,
) -> tuple[list[pa.Array], NDArray[np.int64]]:  # fmt: skip
    """The 35 columns of codes, and the number of codes per visit."""
    X = simulation.cohort.X.take(rows).to_scipy()
    diagnosed = simulation.cohort.diagnosed[rows] == 1
    all_codes = pa.concat_arrays([codes, labels])
    lengths = np.minimum(np.diff(X.indptr), 34)
    numbers = np.full((len(rows), 35), -1, dtype=np.int64)
    filled = np.arange(35) < lengths[:, None]
    offsets = X.indptr[:-1, None] + np.arange(35)
    numbers[filled] = X.indices[offsets[filled]]
    numbers[np.flatnonzero(diagnosed), lengths[diagnosed]] = len(codes) + rng.integers(
        0, len(labels), int(diagnosed.sum())
    )
    taken = [all_codes.take(pa.array(column, mask=column < 0)) for column in numbers.T]
    return taken, lengths + diagnosed
