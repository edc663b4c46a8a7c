"""Dummy data as files of a neds source: Core, Hospital and the supplemental files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.cohort import CohortSpec
from relprev.errors import InvalidInputError
from relprev.simulate.dummy_tables import listed
from relprev.simulate.neds import write_neds
from relprev.simulate.places import Places
from relprev.sources.neds_store import LAYOUT_OPTIONS, read_layout
from relprev.store.files import written_whole

YEAR = 2019
FILES = {"hospital": "Hospital", "ed": "ED", "ip": "IP"}  # besides the Core file
HOSPITAL = {  # values of the columns that are used
    "HOSP_REGION": (1, 2, 3, 4), "HOSP_UR_TEACH": (0, 1, 2), "HOSP_TRAUMA": (0, 1, 2, 3),
    "HOSP_CONTROL": (0, 1, 2, 3, 4),
}  # fmt: skip
PROCEDURES = {  # columns, and codes that look like CPT and ICD-10-PCS
    "ED": ("CPT", [str(12_001 + 37 * k) for k in range(20)]),
    "IP": ("I10_PR_IP", [f"0D{k:02d}0ZZ" for k in range(20)]),
}
MOST = 3  # procedures of a visit


def write_dummy_neds(
    spec: CohortSpec, arguments: Mapping[str, Any], places: Places, n: int, seed: int
) -> list[Path]:
    """The files of 2019 that a neds source names, by their layouts."""
    core = _name(arguments, "core")
    names = {kind: _name(arguments, key) for key, kind in FILES.items() if arguments.get(key)}
    given = {kind: arguments[key] for kind, key in LAYOUT_OPTIONS.items() if arguments.get(key)}
    for kind, layout in given.items():
        if not places.given(layout).is_file():
            raise InvalidInputError(
                f"{LAYOUT_OPTIONS[kind]}: expected a file at {places.given(layout)}"
            )
    layouts = {
        kind: read_layout(kind, YEAR, places.given(given[kind]) if kind in given else None)
        for kind in names
    }
    path = write_neds(places.written(core), n, condition=spec.condition, seed=seed).path
    visits = pd.read_csv(path, names=list(read_layout("Core", YEAR)), usecols=["KEY_ED", "HOSP_ED"])
    rng = np.random.default_rng([seed, 6])
    files = [path]
    for kind, name in names.items():
        table = _hospitals(visits, rng) if kind == "Hospital" else _procedures(visits, kind, rng)
        files.append(places.written(name))
        with written_whole(files[-1]) as temporary:
            packed = {"method": "gzip", "mtime": 0} if name.lower().endswith(".gz") else None
            ordered = table.reindex(columns=list(layouts[kind]))
            ordered.to_csv(temporary, header=False, index=False, compression=packed)
    return [*files, *map(places.copied, given.values())]


def _name(arguments: Mapping[str, Any], key: str) -> str:
    """The one file that a key names."""
    names = listed(arguments[key])
    usual = f"NEDS_{YEAR}_{FILES.get(key, 'Core')}.csv"
    if len(names) != 1 or str(YEAR) not in names[0]:
        raise InvalidInputError(
            f"{key}: dummy NEDS files are those of {YEAR}; name one file, {usual}, in the study "
            "for the time being"
        )
    if not names[0].lower().endswith((".csv", ".csv.gz")):
        raise InvalidInputError(
            f"{key}: dummy NEDS files are .csv or .csv.gz; name such a file, {usual}, in the study "
            "for the time being"
        )
    return names[0]


def _hospitals(visits: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    hospitals = pd.DataFrame({"HOSP_ED": visits["HOSP_ED"].unique(), "YEAR": YEAR})
    made = {name: rng.choice(values, len(hospitals)) for name, values in HOSPITAL.items()}
    return hospitals.assign(**made)


def _procedures(visits: pd.DataFrame, kind: str, rng: np.random.Generator) -> pd.DataFrame:
    """Up to three procedures; one visit in five led to an admission, and is in the IP file."""
    admitted = visits["KEY_ED"] % 5 == 0
    own = visits[admitted if kind == "IP" else ~admitted]
    column, codes = PROCEDURES[kind]
    made = rng.choice(codes, (len(own), MOST)).astype(object)
    made[np.arange(MOST) >= rng.integers(0, MOST + 1, len(own))[:, None]] = ""
    return own.assign(**{f"{column}{k + 1}": made[:, k] for k in range(MOST)})
