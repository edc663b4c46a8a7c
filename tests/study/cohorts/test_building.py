from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable
from relprev.errors import InvalidInputError
from relprev.study import Study
from relprev.study.inspect import inspect_study
from tests.cli.commands import invoke
from tests.study.conftest import TABLES, simulated, write_tables


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


def test_control_characters_in_the_data_s_names_fail_before_anything_is_fitted(tables_study):
    visits = tables_study.parent / "visits.csv"
    visits.write_text(visits.read_text().replace(",N,", ",N\x07,"))
    text = tables_study.read_text()
    tables_study.write_text(text.partition("[groups.recode]")[0] + "[checks]\nrun = []\n")
    with pytest.raises(
        InvalidInputError, match=r"line 21: groups\[1\].column: .*control"
    ) as caught:
        Study.from_toml(tables_study).run(verbose=False)
    assert "recode" in str(caught.value)


def test_a_group_variable_may_have_any_name():
    """Also one that the stages use themselves, or that could not name a file."""
    variables = tuple(
        GroupVariable("group", name=name) for name in ("source", "variables", "../a b/ü")
    )
    cohort = CohortSpec(CodeSet.of("it", ["SIMULATED:CONDITION"]), variables)
    result = simulated(cohort=cohort).run(verbose=False)
    tables = [result.table(variable.name) for variable in variables]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_small_groups_are_left_out_with_a_reason():
    cohort = CohortSpec(
        CodeSet.of("it", ["SIMULATED:CONDITION"]), (GroupVariable("group", minimum_size=1500),)
    )
    result = simulated(cohort=cohort).run(verbose=False)
    left_out = result.report.variables[0].left_out
    assert {group: str(why) for group, why in left_out.items()} == {"Group D": "too few visits"}
    assert any("excluded" in text for text in result.report.warnings)


def test_groups_may_be_bands_and_combinations_and_lie_within_one_another(tmp_path):
    """A combination lies within the groups that it is made of: disclosure must know."""
    file = write_tables(tmp_path)
    more = """
[[groups]]
column = "age"
name = "age group"
edges = [40, 65]

[[groups]]
column = ["ward", "age group"]
"""
    file.write_text(file.read_text() + more)
    seen = inspect_study(Study.from_toml(file))
    counts = {found.name: found.counts.set_index("group")["n"] for found in seen.variables}
    both = counts["ward and age group"]
    assert both["North / under 40"] + both["South / under 40"] == counts["age group"]["under 40"]
    assert ("ward and age group", "North / under 40", "ward", "North") in seen.inside
    assert ("ward and age group", "North / under 40", "age group", "under 40") in seen.inside


def test_a_column_of_a_combination_that_does_not_exist_is_named_with_its_line(tmp_path):
    file = write_tables(tmp_path)
    file.write_text(file.read_text().replace('column = "ward"', 'column = ["ward", "sx"]')
                    .replace('[groups.recode]\nNorth = ["N"]\nSouth = ["S"]\n', ""))  # fmt: skip
    with pytest.raises(InvalidInputError, match=r"line 21: groups\[1\].column: .* 'sx'"):
        inspect_study(Study.from_toml(file))
