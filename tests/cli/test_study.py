from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from relprev.disclosure.rendering import DIFFERENCING
from relprev.study import Study
from relprev.study.file.source import SOURCES
from tests.cli.commands import in_a_process, invoke, refused
from tests.study.conftest import TABLES, write_tables


def test_demo_shows_the_wrong_way_ratio_and_writes_the_report(tmp_path):
    done = in_a_process("demo", "--visits", 60_000, "--out", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    for heading in ("Recorded", "Diagnosis-rate", "Corrected", "Truth"):
        assert heading in done.stdout
    row = next(line for line in done.stdout.splitlines() if "Group A" in line)
    assert row.endswith("│")  # not cut off
    assert "Group A: records say 0." in done.stdout
    assert f"Report: {tmp_path / 'demo' / 'report.html'}" in done.stdout
    assert "Study" in done.stderr  # the progress bar
    table = pd.read_csv(tmp_path / "demo" / "estimates.csv")
    table = table[table["method"] == "DebiasedPURPLE"].set_index("group")
    assert table.loc["Group A", "observed_ratio"] < 1 < table.loc["Group A", "truth"]
    assert abs(np.log(table["estimate"] / table["truth"])).max() < 0.15
    assert (tmp_path / "demo" / "report.html").stat().st_size > 50_000
    assert not (tmp_path / "demo.work").exists()


@pytest.mark.parametrize("kind", SOURCES)
def test_init_writes_a_study_that_can_be_read(tmp_path, kind):
    file = tmp_path / "study.toml"
    own = {"simulated": "simulated condition", "nhanes": "prediabetes"}
    wanted = [] if kind in own else ["--condition", "endometriosis"]
    result = invoke("init", "--source", kind, *wanted, "--out", file)
    assert result.exit_code == 0
    study = Study.from_toml(file)
    assert study.source.kind == kind
    assert study.cohort.condition.name == own.get(kind, "endometriosis")
    assert "exists already" in refused("init", "--source", kind, "--out", file)


@pytest.mark.parametrize("kind", ["nhanes", "simulated"])
def test_init_refuses_a_code_set_for_data_without_codes(tmp_path, kind):
    """It wrote the file with another condition."""
    arguments = ["init", "--source", kind, "--condition", "asthma", "--out", tmp_path / "s.toml"]
    assert "--condition is a code set" in refused(*arguments)
    assert not (tmp_path / "s.toml").exists()


def test_init_without_a_terminal_needs_a_source(tmp_path):
    assert "--source is missing" in refused("init", "--out", tmp_path / "s.toml")
    message = refused("init", "--source", "nedz", "--out", tmp_path / "s.toml")
    assert "did you mean 'neds'" in message
    assert not (tmp_path / "s.toml").exists()


def test_init_asks_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setattr("relprev.cli.study._on_terminal", lambda: True)
    arguments = ["init", "--out", str(tmp_path / "study.toml")]
    result = invoke(*arguments, input="neds\nendometriosis\n")
    assert result.exit_code == 0, result.output
    assert "Kind of data (mimic-iv, neds" in result.output
    study = Study.from_toml(tmp_path / "study.toml")
    assert (study.source.kind, study.cohort.condition.name) == ("neds", "endometriosis")


def test_schema_is_json():
    schema = json.loads(invoke("schema").output)
    assert "estimate" in schema["properties"]


def test_run_and_compare(tmp_path):
    file = write_tables(tmp_path)
    result = invoke("run", file, "--out", tmp_path / "a", "--quiet")
    assert result.exit_code == 0, result.output
    assert "Relative prevalence by ward (debiased)" in result.output
    assert f"Report: {tmp_path / 'a' / 'report.html'}" in result.output
    file.write_text(TABLES.replace("seed = 1", "seed = 2"))
    assert invoke("run", file, "--out", tmp_path / "b", "--quiet").exit_code == 0
    names = ["--name", "one", "--name", "=two"]
    result = invoke(
        "compare", tmp_path / "a", tmp_path / "b", *names, "--out", tmp_path / "both.csv"
    )
    assert result.exit_code == 0, result.output
    assert "ward, DebiasedPURPLE" in result.output
    same, published = result.stderr.strip().splitlines()
    assert "were made from the same data, so their estimates are not independent" in same
    assert published == f"warning: {DIFFERENCING}"
    both = pd.read_csv(tmp_path / "both.csv")
    one = pd.read_csv(tmp_path / "a" / "estimates.csv")
    assert both["estimate"].iloc[::2].tolist() == one["estimate"].tolist()
    assert both["run"].unique().tolist() == ["one", "'=two"]  # no formula for a spreadsheet
    assert both["ratio"].iloc[1::2].between(0.8, 1.25).all()


def test_a_missing_study_file_is_named(tmp_path):
    assert "'relprev init' writes one" in refused("run", tmp_path / "none.toml")
