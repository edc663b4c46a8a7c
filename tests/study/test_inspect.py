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
    assert "hidden" in row
    assert "Ready: relprev run" in result.output
    file.write_text(TABLES + "[disclosure]\nhide = false\n")
    row = next(line for line in invoke("check", file).output.splitlines() if "North" in line)
    assert "hidden" not in row


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


def test_a_group_with_too_few_diagnosed_leaves_the_others_their_estimates(tmp_path):
    """Three visits of one diagnosed patient are too few: compared as patients, not visits."""
    file = with_a_small_ward(tmp_path)
    result = invoke("check", file)
    assert result.exit_code == 0
    assert "excluded for having too few diagnosed patients: Tiny" in result.stderr
    assert "ward group with enough diagnosed patients" in result.output
    found = Study.from_toml(file).run(verbose=False).report.variables[0]
    assert found.estimates["debiased"]["estimate"].notna().all()
    assert found.left_out["Tiny"] == "too few diagnosed patients"
    assert found.attrition["visits"].iloc[-1] == found.counts["n"].sum()


def test_check_says_that_one_small_group_takes_all_estimates_if_it_is_kept(tmp_path):
    file = with_a_small_ward(tmp_path)
    kept = 'column = "ward"\nfew_diagnosed = "keep"'
    text = file.read_text().replace('column = "ward"', kept)
    file.write_text(text)
    result = invoke("check", file)
    assert result.exit_code == 0
    assert "too few diagnosed patients for a debiased estimate in Tiny" in result.stderr
    assert "no group gets one" in result.stderr
    estimates = Study.from_toml(file).run(verbose=False).report.variables[0].estimates
    assert estimates["debiased"]["estimate"].isna().all()
    file.write_text(text.replace("[estimate]", '[estimate]\nversus = "pairwise"'))
    assert "comparisons with it get none" in invoke("check", file).stderr
    file.write_text(text.replace('["debiased", "purple"]', '["purple"]'))
    result = invoke("check", file)
    assert result.exit_code == 0
    assert "Tiny to choose" not in result.stderr


def test_a_reference_with_too_few_diagnosed_is_an_error_with_its_line(tmp_path):
    file = with_a_small_ward(tmp_path)
    file.write_text(file.read_text() + '\n[estimate.reference]\nward = "Tiny"\n')
    message = refused("check", file)
    assert re.search(
        r"estimate.reference.ward: 'Tiny' is not in the cohort \(too few diag", message
    )


def test_check_remarks_on_many_visits_without_a_group(tmp_path):
    file = write_tables(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    visits.loc[visits["person"] % 4 == 0, "ward"] = None
    visits.to_csv(tmp_path / "visits.csv", index=False)
    said = invoke("check", file).stderr
    assert re.search(r'ward: 2\d% of the visits have no value.*missing = "Unknown"', said)
    file.write_text(TABLES.replace('column = "ward"', 'column = "ward"\nmissing = "Unknown"'))
    assert "have no value" not in invoke("check", file).stderr


def test_check_suggests_codes_that_would_match(tmp_path):
    file = write_tables(tmp_path)
    file.write_text(TABLES.replace('"ICD10:R52*"', '"ICD10:R52*", "ICD10:A00-A02", "ICD9:A03"'))
    said = invoke("check", file).stderr
    assert re.search(r"condition: no visit has ICD9:A03; did you mean ICD10:A03 \(\d+ pat", said)
    assert "A00-A02" not in said


def test_a_file_saved_on_windows_is_refused_with_the_option_that_reads_it(tmp_path):
    file = write_tables(tmp_path)
    visits = (tmp_path / "visits.csv").read_text().replace("N", "Nörd")
    (tmp_path / "visits.csv").write_bytes(visits.encode("cp1252"))
    assert "'cp1252' for most files saved on Windows" in refused("check", file)
    file.write_text(TABLES.replace('["N"]', '["Nörd"]').replace(
        'kind = "tables"', 'kind = "tables"\nencoding = "cp1252"'))  # fmt: skip
    assert invoke("check", file).exit_code == 0


def test_check_names_the_strata_and_remarks_on_many(tmp_path):
    """Single years of age were taken as strata without a word."""
    file = write_tables(tmp_path)
    file.write_text(TABLES + '[[strata]]\ncolumn = "age"\nedges = [45]\n')
    said = invoke("check", file).output
    assert "Strata by age: under 45, 45 and over" in said
    file.write_text(TABLES + '[[strata]]\ncolumn = "age"\n')
    said = " ".join(invoke("check", file).output.split())
    assert said.count("strata by age, and each is estimated on its own") == 1
    assert "make fewer with edges or recode" in said
