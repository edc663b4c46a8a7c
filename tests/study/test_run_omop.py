"""Studies of OMOP databases, from their file to `check` and results."""

from __future__ import annotations

import re

import pytest

from relprev.study import Study
from relprev.study.inspect import inspect_study
from tests.cli.commands import invoke, relprev


def omop_folder(folder, people=400):
    """One emergency visit per person; all records but every 20th name no visit."""
    folder.mkdir()
    numbers = range(1, people + 1)
    tables = {
        "person": "person_id,gender_concept_id,year_of_birth,month_of_birth,day_of_birth,"
                  "race_concept_id,ethnicity_concept_id\n"
                  + "".join(f"{n},8532,1980,6,15,{8527 if n % 2 else 8516},0\n" for n in numbers),
        "visit_occurrence": "visit_occurrence_id,person_id,visit_concept_id,visit_start_date,"
                            "visit_end_date\n"
                            + "".join(f"{n},{n},9203,2020-03-01,2020-03-02\n" for n in numbers),
        "observation_period": "person_id,observation_period_start_date,"
                              "observation_period_end_date\n"
                              + "".join(f"{n},2020-01-01,2020-12-31\n" for n in numbers),
        "condition_occurrence": "person_id,condition_start_date,visit_occurrence_id,"
                                "condition_concept_id,condition_source_value,"
                                "condition_source_concept_id\n"
                                + "".join(f"{n},2020-03-02,{'' if n % 20 else n},{c},x,0\n"
                                          for n in numbers for c in (501 + n % 3, 510 + n % 7)),
        "concept": "concept_id,concept_name,vocabulary_id,concept_code\n"
                   + "".join(f"{c},Finding {c},SNOMED,{c}\n" for c in range(500, 520)),
        "concept_ancestor": "ancestor_concept_id,descendant_concept_id\n500,501\n500,502\n",
    }  # fmt: skip
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)


OMOP = """
condition = {name = "findings", codes = ["SET:findings"]}
without_codes = "keep"
[source]
kind = "omop"
database = "omop"
codes = "standard"
concepts = {findings = [500]}
MORE
[[groups]]
column = "race"
[features]
min_count = 0
"""


def test_records_that_match_no_visit_are_told(tmp_path):
    """95% of the records were left out, and `check` said "Ready" and nothing else."""
    omop_folder(tmp_path / "omop")
    file = tmp_path / "study.toml"
    file.write_text(OMOP.replace("MORE", ""))
    said = invoke("check", file)
    assert "95% of the condition records (more than 5%) match no visit" in said.stderr
    assert "condition records not used, as they match no visit: 95%" in said.stdout
    assert "DataWarning" not in said.stderr  # it goes where small counts are hidden


@pytest.mark.parametrize("command", ["check", "run"])
def test_an_error_about_records_that_match_no_visit_says_so(tmp_path, monkeypatch, command):
    """No record named a visit, and the user read "no features remain: check roles"."""
    monkeypatch.chdir(tmp_path)
    omop_folder(tmp_path / "omop")
    records = tmp_path / "omop" / "condition_occurrence.csv"
    records.write_text(re.sub(r",\d*(,\d+,x,0)", r",\1", records.read_text()))
    (tmp_path / "study.toml").write_text(OMOP.replace("MORE", ""))
    ended = relprev(command, "study.toml")
    assert ended.returncode == 2
    *_, warned, failed = ended.stderr.strip().splitlines()
    assert "warning: all of the condition records" in warned
    assert 'match = "date"' in warned
    assert failed.startswith("error: ")


@pytest.mark.parametrize(
    "more", ['match = "date"', 'unit = "person"\nstart = 2020-02-01\nend = "2020-12-01"']
)
def test_records_are_matched_by_date_or_person(tmp_path, more):
    omop_folder(tmp_path / "omop")
    file = tmp_path / "study.toml"
    file.write_text(OMOP.replace("MORE", more))
    seen = inspect_study(Study.from_toml(file))
    assert not seen.problems
    assert seen.codes == {"SET:FINDINGS": 1}
    groups = seen.variables[0].groups.set_index("group")
    assert groups["n"].to_dict() == {"Black or African American": 200, "White": 200}
    assert groups["n_diagnosed"].sum() == sum(n % 3 < 2 for n in range(1, 401))


def test_a_study_of_a_concept_set_runs(tmp_path):
    omop_folder(tmp_path / "omop")
    file = tmp_path / "study.toml"
    more = 'match = "date"\nvisit_concepts = []'
    checks = '[checks]\nrun = []\n[estimate]\nmethods = ["debiased"]\n'
    file.write_text(OMOP.replace("MORE", more) + checks)
    result = Study.from_toml(file).run(tmp_path / "results", verbose=False)
    assert set(result.table("race")["group"]) == {"Black or African American", "White"}
    assert '"concepts"' in (tmp_path / "results" / "manifest.json").read_text()
