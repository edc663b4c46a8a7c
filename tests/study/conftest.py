"""A small study of plain tables, and one of simulated visits."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable
from relprev.study import CheckOptions, EstimateOptions, SourceOptions, Study
from relprev.study import run as run_module
from relprev.study.stages.variable import Variable

WARDS = """
condition = {name = "it", codes = ["ICD10:Z99"]}
[source]
kind = "tables"
visits = "visits.csv"
codes = "codes.csv"
visit_id = "visit"
code = "code"
version = "version"
attributes = ["ward"]
[[groups]]
column = "ward"
[estimate]
methods = ["debiased"]
versus = "reference"
"""
TABLES = """\
condition = {name = "pain", codes = ["ICD10:R52*"]}
seed = 1

[source]
kind = "tables"
visits = "visits.csv"
codes = "codes.csv"
visit_id = "visit"
code = "code"
version = "ICD10"
patient = "person"
age = "age"
sex = "sex"
attributes = ["ward"]

[[include]]
column = "age"
minimum = 18

[[groups]]
column = "ward"
[groups.recode]
North = ["N"]
South = ["S"]

[estimate]
methods = ["debiased", "purple"]
level = 0.9

[checks]
run = ["overlap", "leakage"]
"""


def write_tables(folder: Path, visits: int = 3000, seed: int = 0) -> Path:
    """Visits, codes and the study file; returns the study file."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, visits // 2, visits)
    ward = np.where(rng.random(visits // 2) < 0.4, "N", "S")[person]
    X = rng.random((visits, 15)) < np.where(ward == "N", 0.25, 0.15)[:, None]
    p = 1 / (1 + np.exp(2.5 - 2 * X[:, 0] - 1.5 * X[:, 1]))
    s = rng.random(visits) < p * np.where(ward == "N", 0.3, 0.6)
    pd.DataFrame(
        {"visit": np.arange(visits), "person": person, "ward": ward, "sex": "F",
         "age": rng.integers(10, 90, visits)}
    ).to_csv(folder / "visits.csv", index=False)  # fmt: skip
    row, column = np.nonzero(X)
    codes = pd.DataFrame({"visit": row, "code": [f"A{j:02d}" for j in column]})
    sick = pd.DataFrame({"visit": np.flatnonzero(s), "code": "R52.1"})
    pd.concat([codes, sick]).to_csv(folder / "codes.csv", index=False)
    file = folder / "pain.toml"
    file.write_text(TABLES)
    return file


@pytest.fixture
def tables_study(tmp_path):
    """Path of the study file of a small study of plain tables."""
    return write_tables(tmp_path)


def csv_files(folder: Path) -> dict[str, bytes]:
    """Content of all CSV files below a folder."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*.csv"))
    }


def with_a_small_ward(folder, diagnosed_visits=3):
    """The study with a ward "Tiny" that has one diagnosed patient, with several visits."""
    file = write_tables(folder)
    visits, codes = (pd.read_csv(folder / f"{name}.csv") for name in ("visits", "codes"))
    tiny = np.arange(10_000, 10_030)
    person = np.where(tiny < 10_000 + diagnosed_visits, 5000, tiny)
    more = pd.DataFrame({"visit": tiny, "person": person, "ward": "T", "sex": "F", "age": 40})
    pd.concat([visits, more]).to_csv(folder / "visits.csv", index=False)
    sick = pd.DataFrame({"visit": tiny[:diagnosed_visits], "code": "R52.1"})
    other = pd.DataFrame({"visit": tiny, "code": "A01"})
    pd.concat([codes, sick, other]).to_csv(folder / "codes.csv", index=False)
    file.write_text(TABLES.replace('South = ["S"]', 'South = ["S"]\nTiny = ["T"]'))
    return file


def simulated(**changes):
    """A study of simulated visits with PURPLE only and no checks: seconds."""
    study = Study(
        SourceOptions("simulated", {"visits": 8_000, "codes": 60, "prevalence": 0.25, "seed": 1}),
        CohortSpec(CodeSet.of("it", ["SIMULATED:CONDITION"]), (GroupVariable("group"),)),
        EstimateOptions(methods=("purple",)),
        checks=CheckOptions(run=()),
    )
    return replace(study, **changes)


@pytest.fixture(scope="session")
def whole():
    """Both estimators and all checks, in memory."""
    return simulated(estimate=EstimateOptions(), checks=CheckOptions()).run(verbose=False)


@contextmanager
def nothing_made_again(monkeypatch):
    """A run within finds cohorts and estimates kept, or fails."""

    def never(*args, **options):
        raise AssertionError("made again")

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "build", never)
        patch.setattr(Variable, "estimate", never)
        yield
