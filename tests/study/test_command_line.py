from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from relprev.cli import app
from relprev.disclosure.rendering import DIFFERENCING
from relprev.errors import RelprevError
from relprev.study import Study
from relprev.study.compare import compare_runs
from relprev.study.source import SOURCES
from tests.study.conftest import TABLES, write_tables

runner = CliRunner()


def invoke(*arguments):
    return runner.invoke(app, [str(item) for item in arguments])


def refused(*arguments):
    """The message of a refused command (``main`` prints it and exits with code 2)."""
    result = invoke(*arguments)
    assert isinstance(result.exception, RelprevError), result.output
    return str(result.exception)


@pytest.mark.parametrize("kind", SOURCES)
def test_init_writes_a_study_that_can_be_read(tmp_path, kind):
    file = tmp_path / "study.toml"
    result = invoke("init", "--source", kind, "--condition", "endometriosis", "--out", file)
    assert result.exit_code == 0
    study = Study.from_toml(file)
    assert study.source.kind == kind
    assert study.cohort.condition.name in ("endometriosis", "simulated condition")
    assert "exists already" in refused("init", "--source", kind, "--out", file)


def test_init_without_a_terminal_needs_a_source(tmp_path):
    assert "--source is missing" in refused("init", "--out", tmp_path / "s.toml")
    message = refused("init", "--source", "nedz", "--out", tmp_path / "s.toml")
    assert "did you mean 'neds'" in message
    assert not (tmp_path / "s.toml").exists()


def test_init_asks_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setattr("relprev.cli.study._on_terminal", lambda: True)
    arguments = ["init", "--out", str(tmp_path / "study.toml")]
    result = runner.invoke(app, arguments, input="neds\nendometriosis\n")
    assert result.exit_code == 0, result.output
    assert "Kind of data (mimic-iv, neds" in result.output
    study = Study.from_toml(tmp_path / "study.toml")
    assert (study.source.kind, study.cohort.condition.name) == ("neds", "endometriosis")


def test_check_shows_steps_groups_and_codes_with_small_counts_hidden(tmp_path):
    file = write_tables(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    codes = pd.read_csv(tmp_path / "codes.csv")
    north = set(visits.loc[visits["ward"] == "N", "visit"])
    sick = codes[codes["code"].eq("R52.1") & codes["visit"].isin(north)]
    codes = codes.drop(sick.index[7:])  # 7 or fewer diagnosed are left in the north
    codes.to_csv(tmp_path / "codes.csv", index=False)
    result = invoke("check", file)
    assert result.exit_code == 0, result.output
    assert "Codes of the condition that occur: 1 of 1" in result.output
    assert "age 18 or more" in result.output
    row = next(line for line in result.output.splitlines() if "North" in line)
    assert "–" in row
    assert "Ready: relprev run" in result.output
    file.write_text(TABLES + "[disclosure]\nhide = false\n")
    row = next(line for line in invoke("check", file).output.splitlines() if "North" in line)
    assert "–" not in row


def test_check_names_misspelt_columns_and_values_with_their_lines(tmp_path):
    file = write_tables(tmp_path)
    file.write_text(TABLES.replace('column = "ward"', 'column = "wrd"'))
    message = refused("check", file)
    assert re.search(r"pain.toml, line 21: groups\[1\].column: .*did you mean 'ward'\?", message)
    file.write_text(TABLES.replace('["N"]', '["N", "Nn"]'))
    result = invoke("check", file)
    assert result.exit_code == 0
    assert re.search(r"line 23: groups\[1\].recode.North: no visit has 'Nn' in ward", result.stderr)


def test_check_says_what_would_stop_the_study(tmp_path):
    """Strata with one sampling unit: an error before anything is fitted, with the remedy."""
    file = write_tables(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    visits.assign(stratum=visits["person"] % 7, psu=visits["person"] % 7).to_csv(
        tmp_path / "visits.csv", index=False
    )
    file.write_text(TABLES.replace('age = "age"', 'age = "age"\nstratum = "stratum"\npsu = "psu"'))
    result = invoke("check", file)
    assert result.exit_code == 2
    assert "single primary sampling unit" in result.stderr
    assert "Ready" not in result.output


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


def test_check_says_that_one_small_group_takes_all_estimates(tmp_path):
    """Three visits of one diagnosed patient are too few: compared as patients, not visits."""
    file = with_a_small_ward(tmp_path)
    result = invoke("check", file)
    assert result.exit_code == 0
    assert "too few diagnosed patients for a debiased estimate in Tiny" in result.stderr
    assert "no group gets one" in result.stderr
    estimates = Study.from_toml(file).run(verbose=False).report.variables[0].estimates
    assert estimates["debiased"]["estimate"].isna().all()
    text = file.read_text()
    file.write_text(text.replace("[estimate]", '[estimate]\nversus = "pairwise"'))
    assert "comparisons with it get none" in invoke("check", file).stderr
    file.write_text(text.replace('["debiased", "purple"]', '["purple"]'))
    result = invoke("check", file)
    assert result.exit_code == 0
    assert "Tiny to choose" not in result.stderr


def test_groups_with_one_and_without_diagnosed_patients_read_alike(tmp_path):
    """Purple was refused for one, and said to have 'no diagnosed row' for none."""
    file = with_a_small_ward(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    codes = pd.read_csv(tmp_path / "codes.csv")
    west = visits.loc[visits["ward"] == "S", "visit"].head(200)
    visits.loc[visits["visit"].isin(west), "ward"] = "W"
    visits.to_csv(tmp_path / "visits.csv", index=False)
    codes[~(codes["visit"].isin(west) & (codes["code"] == "R52.1"))].to_csv(
        tmp_path / "codes.csv", index=False
    )
    text = file.read_text().replace('Tiny = ["T"]', 'Tiny = ["T"]\nWest = ["W"]')
    file.write_text(text.replace('"leakage"]', '"leakage", "agreement"]'))
    said = " ".join(Study.from_toml(file).run(verbose=False).report.warnings)
    assert "no purple estimate" not in said
    assert "no estimate for Tiny, West: too few diagnosed patients" in said
    assert "few diagnosed rows or none: 'Tiny', 'West'" in said


def test_codes_of_the_condition_s_own_categories_are_named(tmp_path):
    """ICD-9 617.0 to 617.8 stayed among the symptoms of endometriosis without a word."""
    file = write_tables(tmp_path)
    codes = pd.read_csv(tmp_path / "codes.csv")
    codes["code"] = codes["code"].replace({"A03": "R52.0", "A04": "R52.9", "A05": "R50"})
    codes.to_csv(tmp_path / "codes.csv", index=False)
    file.write_text(TABLES.replace("R52*", "R52.1").replace('"debiased", "purple"', '"purple"'))
    expected = (
        "features include codes of the condition's own categories (ICD10:R52): ICD10:R520, "
        "ICD10:R529; if one of them means the condition too, add it to the code set"
    )
    assert expected in invoke("check", file).stderr
    assert expected in Study.from_toml(file).run(verbose=False).report.warnings
    file.write_text(TABLES)
    assert "own categories" not in invoke("check", file).stderr


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
    result = invoke("compare", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "both.csv")
    assert result.exit_code == 0, result.output
    assert "ward, DebiasedPURPLE" in result.output
    assert result.stderr.strip() == f"warning: {DIFFERENCING}"
    both = pd.read_csv(tmp_path / "both.csv")
    one = pd.read_csv(tmp_path / "a" / "estimates.csv")
    assert both["estimate_a"].tolist() == one["estimate"].tolist()
    assert both["b_over_a"].between(0.8, 1.25).all()


def test_compare_keeps_contrasts_of_one_run_only(tmp_path):
    frame = pd.DataFrame({"variable": "v", "method": "m", "group": ["a", "b"],
                          "versus": "complement", "estimate": [1.0, 2.0]})  # fmt: skip
    for name, part in (("one", frame), ("two", frame.iloc[1:])):
        (tmp_path / name).mkdir()
        part.to_csv(tmp_path / name / "estimates.csv", index=False)
    both = compare_runs(tmp_path / "one", tmp_path / "two")
    assert both["group"].tolist() == ["a", "b"]
    assert both["estimate_b"].isna().tolist() == [True, False]
    assert "has no estimates.csv" in refused("compare", tmp_path, tmp_path)
    (tmp_path / "estimates.csv").write_text("a,b\n1,2\n")
    assert "was it made by 'relprev run'" in refused("compare", tmp_path, tmp_path / "one")


def test_compare_says_that_two_runs_ask_different_questions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # short names, so that the table's cells are not broken
    frame = pd.DataFrame({"variable": "v", "method": "m", "group": ["a"], "versus": "complement",
                          "estimate": [1.0], "ci_low": [0.5], "ci_high": [2.0]})  # fmt: skip
    for name, kind in (("burns", "neds"), ("falls", "omop")):
        (tmp_path / name).mkdir()
        frame.to_csv(tmp_path / name / "estimates.csv", index=False)
        cohort = {"condition": {"name": name, "codes": []}, "include": []}
        manifest = {"study": {"source": {"kind": kind}, "cohort": cohort}}
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
    result = invoke("compare", "burns", "falls")
    assert "everyone else" in result.stdout
    said = result.stderr
    assert "the conditions differ (burns and falls)" in said
    assert "the sources differ (neds and omop)" in said
    assert "the rules" not in said
    (tmp_path / "falls" / "manifest.json").write_text("{}")
    assert invoke("compare", "burns", "falls").stderr.strip() == f"warning: {DIFFERENCING}"


def test_a_missing_study_file_is_named(tmp_path):
    assert "'relprev init' writes one" in refused("run", tmp_path / "none.toml")
