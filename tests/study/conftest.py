"""A small study of plain tables, and one of simulated visits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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
