"""A study of a survey without codes: condition, rules, features and groups from columns."""

from __future__ import annotations

import json

import pandas as pd

from relprev.study import Study
from tests.experiments.truth.people import extract

STUDY = """
condition = {name = "prediabetes", codes = ["IS:told"]}
without_codes = "keep"
[source]
kind = "nhanes"
path = "extract.parquet"
[derive]
told = "DIQ160 == 1"
takes_part = "DIQ010 == 2 and not missing(DIQ160)"
side = "where(RIDRETH1 == 4, 'Black', where(RIDRETH1 == 3, 'White', 'other'))"
[[include]]
column = "takes_part"
one_of = ["true"]
[[features.extra]]
column = "LBXGH"
edges = [5.0, 5.4, 5.8, 6.2]
missing = true
[[groups]]
column = "side"
[estimate]
methods = ["purple"]
versus = "reference"
reference = {side = "White"}
[checks]
run = []
[report]
formats = ["svg"]
"""


def test_a_study_of_derived_columns_runs(tmp_path):
    extract(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    Study.from_toml(tmp_path / "study.toml").run(tmp_path / "results")
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text())
    assert manifest["study"]["cohort"]["derive"]["told"] == "DIQ160 == 1"
    estimates = pd.read_csv(next((tmp_path / "results").rglob("estimates*.csv")))
    row = estimates[estimates["group"] == "Black"].iloc[0]
    assert row["observed_ratio"] < 0.9 < 1.1 < row["estimate"]
