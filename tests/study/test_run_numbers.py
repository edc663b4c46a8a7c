"""Studies with numbers and curves as features: files to report, in memory, parts, workers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relprev.disclosure import Rule
from relprev.study import Study
from relprev.study.inspect import inspect_study
from tests.study.test_run_in_parts import assert_same_results, client, on_disk

__all__ = ["client"]  # a fixture

STUDY = """
condition = {name = "sepsis", codes = ["ICD10:A41*"]}
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
attributes = ["ward", "pulse"]
[features]
min_count = 10
[[features.extra]]
column = "pulse"
form = "number"
missing = true
[[features.extra]]
column = "age"
form = "spline"
knots = [40, 60]
[[groups]]
column = "ward"
[estimate]
versus = "reference"
[inference]
folds = 2
[checks]
run = ["overlap", "leakage", "benchmarks"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    rng, n = np.random.default_rng(3), 6_000
    person = rng.integers(0, n // 2, n)
    ward = np.where(rng.random(n // 2) < 0.4, "North", "South")[person]
    pulse, age = rng.normal(np.where(ward == "North", 84, 78), 12), rng.integers(18, 90, n)
    X = rng.random((n, 8)) < 0.3
    sick = rng.random(n) < 1 / (1 + np.exp(2 - (pulse - 80) / 10 - 1.5 * X[:, 0]))
    told = sick & (rng.random(n) < np.where(ward == "North", 0.3, 0.6))
    pd.DataFrame({
        "visit": range(n), "person": person, "ward": ward, "age": age,
        "pulse": np.where(rng.random(n) < 0.1, np.nan, pulse.round(6)),
    }).to_csv(folder / "visits.csv", index=False)  # fmt: skip
    rows, columns = np.nonzero(X)
    pd.DataFrame({
        "visit": np.r_[rows, np.flatnonzero(told), np.arange(n)],
        "code": [*(f"R1{k}" for k in columns), *["A419"] * told.sum(), *["Z00"] * n],
    }).to_csv(folder / "codes.csv", index=False)  # fmt: skip
    (folder / "study.toml").write_text(STUDY)
    return Study.from_toml(folder / "study.toml")


@pytest.fixture(scope="module")
def in_memory(study):
    return study.run(verbose=False)


@pytest.mark.filterwarnings("ignore:.*constant and carry no information")
def test_parts_give_the_same_results(study, in_memory):
    assert_same_results(in_memory, on_disk(study, 1_700).run(verbose=False))


def test_workers_give_the_same_estimates(study, in_memory, client):
    few = replace(study, checks=replace(study.checks, run=("leakage",)))
    found = on_disk(few, 2_500).run(verbose=False, client=client)
    for method, table in in_memory.report.variables[0].estimates.items():
        other = found.report.variables[0].estimates[method]
        np.testing.assert_allclose(
            other["estimate"].to_numpy(float), table["estimate"].to_numpy(float), rtol=1e-6
        )


def test_numbers_are_shown_without_counts(in_memory):
    table = in_memory.report.variables[0].symptoms.set_index("feature")
    assert pd.isna(table.loc["pulse:number", "visits"])
    assert pd.isna(table.loc["pulse:number", "patients"])
    assert table.loc["pulse:number", "description"] == "pulse, per standard deviation"
    assert table.loc["pulse:number", "weight"] == pytest.approx(1.2, abs=0.4)
    assert table.loc["ICD10:R10", "visits"] > 1_000
    assert table.index[0] == "pulse:number"  # it moves the risk most


def test_counts_beside_numbers_can_be_rounded(study):
    rounded = replace(study, disclosure=Rule(round_to=5), checks=replace(study.checks, run=()))
    table = rounded.run(verbose=False).report.variables[0].symptoms.set_index("feature")
    assert pd.isna(table.loc["pulse:number", "visits"])
    assert (table["visits"].dropna() % 5 == 0).all()


def test_leakage_judges_the_ends_of_a_number(in_memory):
    (check,) = (one for one in in_memory.report.variables[0].checks if one.kind == "leakage")
    high = check.table.set_index("feature").loc["pulse:number, highest twentieth"]
    assert high["n"] == pytest.approx(300, abs=20)
    names = set(check.table["feature"])
    assert not any(name in names for name in ("pulse:number", "age:spline1", "age:spline2"))


def test_benchmarks_leave_a_number_out_as_a_whole(in_memory):
    (check,) = (one for one in in_memory.report.variables[0].checks if one.kind == "benchmarks")
    features = check.table.set_index("block")["features"]
    assert features["pulse"] == 2  # the number, and whether it is missing
    assert features["age"] == 4


def test_the_report_tells_no_value_of_a_column(study, tmp_path):
    study.run(tmp_path / "results", verbose=False)
    pulse = pd.read_csv(Path(study.file).parent / "visits.csv")["pulse"]
    told = "".join(
        path.read_text(errors="ignore")
        for path in (tmp_path / "results").rglob("*")
        if path.suffix in (".csv", ".json", ".txt", ".md", ".html")
    )
    assert not any(f"{value:.4f}" in told for value in pulse.quantile([0, 0.25, 0.5, 0.75, 1]))
    assert "numbers and curves of them 5" in told


def test_the_look_counts_numbers_apart(study):
    assert "numbers and curves of them 5" in inspect_study(study).words["ward"]
