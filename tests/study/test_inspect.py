from __future__ import annotations

import re

import pandas as pd

from relprev.study import Study
from tests.cli.commands import invoke, refused
from tests.study.conftest import TABLES, with_a_small_ward, write_tables


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
