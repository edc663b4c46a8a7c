"""Load visits of groups a (Black) and b (white), with their codes, for semi-synthetic data.

``simulated`` means visits of `relprev.simulate.ed_visits`; ``nhds:PATH``, discharges of the
National Hospital Discharge Survey 2010; ``mimic:PATH``, hospital admissions of MIMIC-IV, where PATH
is the folder that contains ``hosp`` (see `relprev.experiments.admissions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse as sp

from relprev.codes import CodeSet, code_set
from relprev.errors import InvalidInputError
from relprev.experiments.admissions import read_admissions
from relprev.simulate import ed_visits
from relprev.sources.database import Connection
from relprev.sources.nhds import read_nhds
from relprev.sources.source import Source

ADULT = 18
SIMULATED_VISITS = {"simulated": (60_000, 1_500), "simulated-small": (20_000, 400)}
SIMULATED_CODE = "SIMULATED"

Code = tuple[str, str]


@dataclass(frozen=True)
class CodedVisits:
    """Visits of the two groups.

    Parameters
    ----------
    X : sparse 0/1 matrix of shape (n, p)
    codes : (version, code) of every column
    group : 0 for a, 1 for b, shape (n,)
    female, adult, emergency : boolean arrays of shape (n,)
        ``emergency`` marks admissions through the emergency room; all, where that is not known.
    patients : integer array of shape (n,), or None
    endometriosis, injuries : code sets that fit these codes
    """

    X: sp.csr_array
    codes: tuple[Code, ...]
    group: NDArray[np.int64]
    female: NDArray[np.bool_]
    adult: NDArray[np.bool_]
    emergency: NDArray[np.bool_]
    patients: NDArray[np.int64] | None
    endometriosis: CodeSet
    injuries: CodeSet

    def restricted(self, rows: NDArray[np.bool_], least_uses: int) -> CodedVisits:
        """Some of the visits, with the codes used more than ``least_uses`` times in them."""
        X = self.X[np.flatnonzero(rows)]
        kept = np.flatnonzero(np.asarray(X.sum(axis=0)).ravel() > least_uses)
        return CodedVisits(
            X=X[:, kept].tocsr(),
            codes=tuple(self.codes[j] for j in kept),
            group=self.group[rows],
            female=self.female[rows],
            adult=self.adult[rows],
            emergency=self.emergency[rows],
            patients=None if self.patients is None else self.patients[rows],
            endometriosis=self.endometriosis,
            injuries=self.injuries,
        )

    def columns_of(self, codes: CodeSet) -> NDArray[np.int64]:
        """Columns whose codes belong to a set."""
        return np.flatnonzero([code in codes for code in self.codes])


@lru_cache(maxsize=1)
def load_visits(data: str) -> CodedVisits:
    """The visits named by ``data`` (see the module), cached until others are requested."""
    if data in SIMULATED_VISITS:
        return _simulated(*SIMULATED_VISITS[data])
    kind, colon, path = data.partition(":")
    if not colon or kind not in ("nhds", "mimic"):
        raise InvalidInputError(
            f"data must be 'simulated', 'nhds:PATH' or 'mimic:PATH', got {data!r}"
        )
    if kind == "mimic":
        with read_admissions(Path(path)) as connection:
            return _from_tables(connection, adult="adult", emergency="emergency")
    with _nhds(Path(path)) as source:
        return _from_tables(source.connection, adult=f"age >= {ADULT}", emergency="true")


def _nhds(path: Path) -> Source:
    files = sorted(path.glob("NHDS10*")) if path.is_dir() else [path]
    return read_nhds(files[0] if files else path / "NHDS10.PU.txt")


def _from_tables(connection: Connection, *, adult: str, emergency: str) -> CodedVisits:
    """Visits from the tables ``visits`` and ``codes``; conditions in SQL say who is an adult
    and who came through the emergency room."""
    run = connection.execute
    visits = run(f"""
        SELECT visit, lower(race) LIKE 'white%' AS white, sex = 'F' AS female, {adult} AS adult,
               {emergency} AS emergency, patient
        FROM visits WHERE lower(race) LIKE 'white%' OR lower(race) LIKE 'black%' ORDER BY visit
    """).df()
    pairs = run("SELECT DISTINCT visit, version, code FROM codes ORDER BY version, code").df()
    pairs = pairs.merge(visits[["visit"]].assign(row=range(len(visits))), on="visit")
    column, codes = pd.factorize(pd.MultiIndex.from_frame(pairs[["version", "code"]]), sort=True)
    ones = np.ones(len(pairs))
    shape = (len(visits), len(codes))
    patients = None if visits["patient"].isna().all() else pd.factorize(visits["patient"])[0]
    return CodedVisits(
        X=sp.csr_array((ones, (pairs["row"].to_numpy(), column)), shape=shape),
        codes=tuple((str(version), str(code)) for version, code in codes),
        group=visits["white"].to_numpy(dtype=np.int64),
        female=visits["female"].fillna(False).to_numpy(dtype=bool),
        adult=visits["adult"].fillna(False).to_numpy(dtype=bool),
        emergency=visits["emergency"].to_numpy(dtype=bool),
        patients=patients,
        endometriosis=code_set("endometriosis"),
        injuries=code_set("ipv-injuries"),
    )


def _simulated(n_visits: int, n_codes: int) -> CodedVisits:
    """Simulated visits, all by adult women; one code means endometriosis, eight mean injuries."""
    cohort = ed_visits(
        n_visits, n_codes=n_codes, diagnosis_rates={"a": 0.5, "b": 0.5}, group_shares=(0.2, 0.8)
    ).cohort
    X = sp.csr_array(cohort.X.to_scipy())
    by_use = np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")
    every = np.ones(n_visits, dtype=bool)
    names = [f"{j:05d}" for j in range(n_codes)]
    chosen = {"endometriosis": by_use[60:61], "injuries": by_use[40:120:10]}
    sets = {
        name: CodeSet.of(name, [f"{SIMULATED_CODE}:{names[j]}" for j in columns])
        for name, columns in chosen.items()
    }
    assert cohort.clusters is not None
    return CodedVisits(
        X=X,
        codes=tuple((SIMULATED_CODE, name) for name in names),
        group=cohort.groups.astype(np.int64),
        female=every,
        adult=every,
        emergency=every,
        patients=cohort.clusters.astype(np.int64),
        **sets,
    )
