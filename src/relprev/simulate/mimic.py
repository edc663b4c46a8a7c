"""Write simulated MIMIC-IV and MIMIC-IV-ED files, in the official format, with known truth.

Visits come from `relprev.simulate.ed_visits`, whose groups become the patients' races. Each
visit is written as an emergency stay, as a stay with the admission it led to (with codes in
both), or as an admission through the emergency room. Visits that the paper's rules exclude are
added, with codes of the condition: admissions linked to two stays, stays linked to an admission
that does not exist, and admissions from elsewhere. Triage (chief complaints, vital signs, pain,
acuity) has nothing to do with the condition.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from relprev.codes import code_set
from relprev.errors import InvalidInputError
from relprev.simulate import Simulation, ed_visits
from relprev.simulate.neds import icd10_like
from relprev.simulate.truth import Truth, population_truth
from relprev.store.files import written_whole

RACES = {"WHITE": 0.35, "BLACK/AFRICAN AMERICAN": 0.15, "ASIAN": 0.2, "HISPANIC/LATINO": 0.3}
INSURANCES = ("Medicare", "Medicaid", "Other")
MARITAL_STATUSES = ("SINGLE", "MARRIED", "DIVORCED", "WIDOWED", "")
COMPLAINTS = ("Abd pain", "Chest pain", "SOB", "S/P FALL", "Headache", "N/V", "Cough", "UNKNOWN-CC")
SIGNS = {  # mean and standard deviation at triage
    "temperature": (98.1, 0.8), "heartrate": (85, 17), "resprate": (17.5, 2.5), "o2sat": (98, 2),
    "sbp": (135, 22), "dbp": (78, 15),
}  # fmt: skip
ED, BOTH, HOSPITAL = 0, 1, 2
ANCHOR_YEAR = 2150
LAYOUTS = ("1.0", "2.2")
UNQUOTED = pa.csv.WriteOptions(include_header=False, quoting_style="none")


@dataclass(frozen=True, eq=False)
class WrittenMimic:
    """The folders, the truth for race, and how many visits each rule must exclude.

    ``included`` counts visits of women aged 18 or over; ``settings`` are those passed to
    `relprev.simulate.ed_visits`. The truth is computed on first use.
    """

    hosp: Path
    ed: Path
    excluded: Mapping[str, int]
    included: int
    settings: Mapping[str, Any]

    @cached_property
    def truth(self) -> Truth:
        return population_truth(tuple(RACES), **self.settings)


def write_mimic(
    folder: str | Path,
    n_visits: int = 50_000,
    *,
    layout: str = "2.2",
    n_codes: int = 2_000,
    prevalence: float = 0.05,
    seed: int = 0,
) -> WrittenMimic:
    """Write simulated MIMIC-IV and MIMIC-IV-ED folders.

    Parameters
    ----------
    folder : str or Path
        Where the folders ``mimic-iv`` and ``mimic-iv-ed`` are created.
    n_visits : int
        Visits that the linking rules keep, including those of men and children.
    layout : "1.0" or "2.2"
        Version whose folders and column names are used.
    n_codes, prevalence, seed
        As in `relprev.simulate.ed_visits`.
    """
    if layout not in LAYOUTS:
        raise InvalidInputError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    rng = np.random.default_rng([seed, 2])
    settings: dict[str, Any] = {
        "n_visits": n_visits, "n_codes": n_codes, "prevalence": prevalence, "seed": seed,
        "diagnosis_rates": RACES,
    }  # fmt: skip
    simulation = ed_visits(**settings)
    patients = _patients(simulation, rng)
    visits = _visits(simulation, patients, rng)
    left_out = _left_out(visits, rng)
    stays = pd.concat([visits[visits["kind"] != HOSPITAL], left_out[left_out["stay_id"] > 0]])
    admissions = pd.concat([visits[visits["kind"] != ED], left_out[left_out["admitted"]]])
    codes = _codes(simulation, visits, left_out, rng)
    hosp, ed = Path(folder) / "mimic-iv", Path(folder) / "mimic-iv-ed"
    triage = _triage(stays, np.random.default_rng([seed, 3]))
    _write_tables(hosp, ed, layout, patients, stays, admissions, codes, triage)
    included = (visits["gender"] == "F").to_numpy() & (visits["age"] >= 18).to_numpy()
    return WrittenMimic(
        hosp, ed,
        excluded={str(reason): int(n) for reason, n in left_out["reason"].value_counts().items()},
        included=int(included.sum()),
        settings=settings,
    )  # fmt: skip


def _patients(simulation: Simulation, rng: np.random.Generator) -> pd.DataFrame:
    cohort = simulation.cohort
    assert cohort.clusters is not None
    _, first = np.unique(cohort.clusters, return_index=True)
    n = len(first)
    return pd.DataFrame({
        "subject_id": 10_000_000 + np.arange(n),
        "gender": rng.choice(["F", "M"], n, p=[0.6, 0.4]),
        "anchor_age": rng.integers(12, 91, n),
        "anchor_year": ANCHOR_YEAR,
        "race": cohort.group_labels[first],
        "insurance": rng.choice(INSURANCES, n),
        "marital_status": rng.choice(MARITAL_STATUSES, n),
    })  # fmt: skip


def _visits(
    simulation: Simulation, patients: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """One row per simulated visit, in the order of the simulation."""
    cohort = simulation.cohort
    visits = patients.iloc[np.asarray(cohort.clusters)].reset_index(drop=True)
    later = rng.integers(0, 4, cohort.n)
    visits["age"] = visits["anchor_age"] + later
    visits["time"] = _times(later, rng)
    visits["kind"] = rng.choice([ED, BOTH, HOSPITAL], cohort.n, p=[0.45, 0.4, 0.15])
    number = np.arange(cohort.n)
    visits["stay_id"] = np.where(visits["kind"] == HOSPITAL, 0, 30_000_000 + number)
    visits["hadm_id"] = np.where(visits["kind"] == ED, 0, 20_000_000 + number)
    visits["admission_location"] = "EMERGENCY ROOM"
    return visits


def _times(years_later: NDArray[Any], rng: np.random.Generator) -> list[str]:
    months = rng.integers(1, 13, len(years_later))
    return [f"{ANCHOR_YEAR + later}-{month:02d}-15 10:00:00"
            for later, month in zip(years_later, months, strict=True)]  # fmt: skip


def _left_out(visits: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Visits that the rules must exclude, and why."""
    size = max(len(visits) // 200, 4)
    reasons = ("several stays", "several stays", "no admission", "from elsewhere")
    parts = []
    for k, reason in enumerate(reasons):
        part = visits.iloc[rng.integers(0, len(visits), size)].copy()
        number = np.arange(size)
        part["reason"] = reason
        part["stay_id"] = 0 if reason == "from elsewhere" else 38_000_000 + size * k + number
        # Both parts of "several stays" share their admissions, which are written once.
        part["hadm_id"] = 28_000_000 + size * reasons.index(reason) + number
        part["admitted"] = (reason == "from elsewhere") | ((reason == "several stays") & (k == 0))
        part["admission_location"] = "PHYSICIAN REFERRAL"
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _codes(
    simulation: Simulation, visits: pd.DataFrame, left_out: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """Every recorded code: stay_id or hadm_id (the other is 0), icd_code, icd_version."""
    X = simulation.cohort.X.to_scipy().tocoo()
    names, versions = _code_names(X.shape[1])
    labels = code_set("ipv").patterns
    texts = np.concatenate([names, [p.text for p in labels]])
    numbers = np.concatenate([versions, [int(p.version[3:]) for p in labels]])
    sick = np.flatnonzero(simulation.cohort.diagnosed)
    row = np.concatenate([X.row, sick])
    code = np.concatenate([X.col, X.shape[1] + rng.integers(0, len(labels), len(sick))])
    stay, admission = visits["stay_id"].to_numpy()[row], visits["hadm_id"].to_numpy()[row]
    place = rng.choice([ED, BOTH, HOSPITAL], len(row))  # used for visits with stay and admission
    in_stay = (stay > 0) & ((admission == 0) | (place != HOSPITAL))
    in_admission = (admission > 0) & ((stay == 0) | (place != ED))
    wrong = rng.integers(X.shape[1], len(texts), len(left_out))  # codes of the condition
    elsewhere = np.where(left_out["stay_id"] > 0, 0, left_out["hadm_id"])
    none_in_stays, none_in_admissions = (np.zeros(k.sum(), int) for k in (in_admission, in_stay))
    stay = np.concatenate([stay[in_stay], none_in_stays, left_out["stay_id"]])
    admission = np.concatenate([none_in_admissions, admission[in_admission], elsewhere])
    code = np.concatenate([code[in_stay], code[in_admission], wrong])
    return pd.DataFrame({"stay_id": stay, "hadm_id": admission, "icd_code": texts[code],
                         "icd_version": numbers[code]})  # fmt: skip


def _triage(stays: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    n = len(stays)
    signs = {name: np.round(rng.normal(mean, sd, n), 1) for name, (mean, sd) in SIGNS.items()}
    signs["o2sat"] = np.minimum(signs["o2sat"], 100)
    return pd.DataFrame({
        "subject_id": stays["subject_id"].to_numpy(), "stay_id": stays["stay_id"].to_numpy(),
        **signs, "pain": rng.integers(0, 11, n), "acuity": rng.integers(1, 6, n),
        "chiefcomplaint": rng.choice(COMPLAINTS, n),
    })  # fmt: skip


def _code_names(count: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Texts and versions of the simulated codes, alternating between ICD-10 and ICD-9."""
    icd10 = np.array(icd10_like(count), dtype=object)
    icd9 = np.array([f"{j:05d}" for j in range(count)], dtype=object)
    odd = np.arange(count) % 2 == 1
    return np.where(odd, icd9, icd10), np.where(odd, 9, 10)


def _write_tables(
    hosp: Path,
    ed: Path,
    layout: str,
    patients: pd.DataFrame,
    stays: pd.DataFrame,
    admissions: pd.DataFrame,
    codes: pd.DataFrame,
    triage: pd.DataFrame,
) -> None:
    old = layout == "1.0"
    people = hosp / ("core" if old else "hosp")
    admissions = admissions.rename(
        columns={"time": "admittime"} | ({"race": "ethnicity"} if old else {})
    )
    stays = stays.rename(columns={"time": "intime"}).assign(
        hadm_id=stays["hadm_id"].astype("Int64").mask(stays["hadm_id"] == 0)
    )
    race = "ethnicity" if old else "race"
    person = ["subject_id", "gender", "anchor_age", "anchor_year"]
    admission = ["subject_id", "hadm_id", "admittime", "admission_location", "insurance",
                 "marital_status", race]  # fmt: skip
    stay = ["subject_id", "hadm_id", "stay_id", "intime", *([] if old else ["gender", "race"])]
    code = ["icd_code", "icd_version"]
    tables = {
        people / "patients": patients[person],
        people / "admissions": admissions[admission],
        hosp / "hosp" / "diagnoses_icd": codes.loc[codes["hadm_id"] > 0, ["hadm_id", *code]],
        ed / "ed" / "edstays": stays[stay],
        ed / "ed" / "diagnosis": codes.loc[codes["stay_id"] > 0, ["stay_id", *code]],
        ed / "ed" / "triage": triage,
    }
    for path, table in tables.items():
        # Without file name and time in the gzip header, the same seed gives the same bytes.
        with (
            written_whole(path.with_name(path.name + ".csv.gz")) as temporary,
            temporary.open("wb") as file,
            gzip.GzipFile("", "wb", compresslevel=3, fileobj=file, mtime=0) as packed,
        ):
            packed.write((",".join(table.columns) + "\n").encode())
            rows = pa.Table.from_pandas(table, preserve_index=False)
            pa.csv.write_csv(rows, packed, UNQUOTED)
