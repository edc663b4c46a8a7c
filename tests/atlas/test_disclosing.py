"""Counts of an atlas that may be shown."""

import numpy as np
import pandas as pd

from relprev.atlas import Atlas
from relprev.atlas.disclosing import TABLE, VariableAtlas, disclosed_atlas
from relprev.disclosure import Rule


def variable(counts, name="race", versus="w", patients=None, sizes=5_000, **more):
    """An atlas with these visits by condition and group."""
    rows, tables = [], []
    groups = list(next(iter(counts.values())))
    for condition, own in counts.items():
        for group, n in own.items():
            people = n if patients is None else patients
            tables.append({"condition": condition, "group": group, "visits": n, "patients": people})
            if group == versus:
                continue
            rows.append({
                "condition": condition, "block": "b", "group": group, "versus": versus,
                "n_recorded": n, "n_recorded_versus": own.get(versus, 0), "method": "case-only",
                "withheld": "", "estimate": 1.5, "observed_ratio": 1.2345678, "p_value": 0.1,
                "diagnosis_ratio": 0.8, "diagnosis_ci_low": 0.7, "diagnosis_ci_high": 0.9,
                "effective_cases": 12.0, "secret": n,
            } | more)  # fmt: skip
    sizes = pd.DataFrame({"group": groups, "n": sizes})
    return VariableAtlas(name, Atlas(pd.DataFrame(rows)), sizes, pd.DataFrame(tables))


def shown(*variables, rule=None, **more):
    found = disclosed_atlas(variables, rule or Rule(), **more)
    return [one.atlas.table.set_index(["condition", "group"]) for one in found]


def test_small_counts_are_hidden_with_all_numbers_of_their_row():
    (table,) = shown(variable({"flu": {"w": 400, "b": 300, "c": 7}}))
    assert table.loc[("flu", "b"), "n_recorded"] == 300
    assert table.loc[("flu", "b"), "estimate"] == 1.5
    assert pd.isna(table.loc[("flu", "c"), "n_recorded"])
    numbers = ["estimate", "observed_ratio", "diagnosis_ratio", "p_value", "effective_cases"]
    assert table.loc[("flu", "c"), numbers].isna().all()


def test_effective_cases_are_hidden_in_all_rows_of_a_condition_with_a_hidden_count():
    (table,) = shown(
        variable({"flu": {"w": 400, "b": 300, "c": 7}, "gout": {"w": 90, "b": 80, "c": 70}})
    )
    assert table.loc["flu", "effective_cases"].isna().all()
    assert table.loc["gout", "effective_cases"].notna().all()


def test_a_total_that_follows_from_another_variable_needs_cover():
    race = variable({"flu": {"w": 400, "b": 300, "c": 7}})
    sex = variable({"flu": {"m": 350, "f": 357}}, name="sex", versus="m")
    alone, both = shown(race)[0], shown(race, sex)
    assert alone["n_recorded"].notna().sum() == 1
    left = both[0]["n_recorded"].notna().sum() + both[1]["n_recorded"].notna().sum()
    covered = both[0].loc[("flu", "b")].isna()["n_recorded"] or pd.isna(
        both[1].loc[("flu", "f"), "n_recorded"]
    )
    assert covered or pd.isna(both[0].loc[("flu", "b"), "n_recorded_versus"])
    assert left <= 2


def test_nested_code_sets_that_differ_by_few_are_not_both_shown():
    counts = {"sepsis": {"w": 400, "b": 300}, "severe sepsis": {"w": 395, "b": 120}}
    (apart,) = shown(variable(counts))
    (nested,) = shown(variable(counts), within=[("severe sepsis", "sepsis")])
    versus = "n_recorded_versus"
    assert apart[versus].notna().all()
    assert nested[versus].isna().sum() == 1


def test_a_group_within_a_group_of_another_variable_leaves_a_rest():
    county = variable({"flu": {"Kent": 203, "York": 400}}, name="county", versus="York")
    state = variable({"flu": {"S": 207, "N": 500}}, name="state", versus="N")
    inside = [("county", "Kent", "state", "S")]
    tables = shown(county, state, inside=inside)
    both = [tables[0].loc[("flu", "Kent"), "n_recorded"], tables[1].loc[("flu", "S"), "n_recorded"]]
    assert sum(pd.isna(value) for value in both) == 1
    assert not any(table["n_recorded"].isna().any() for table in shown(county, state))


def test_nearly_everybody_has_it_means_that_few_have_not():
    (table,) = shown(variable({"flu": {"w": 400, "b": 4_995}}))
    assert pd.isna(table.loc[("flu", "b"), "n_recorded"])


def test_visits_of_few_patients_are_few():
    (table,) = shown(variable({"flu": {"w": 400, "b": 300}}, patients=8))
    assert table["n_recorded"].isna().all()


def test_the_other_side_of_a_complement_is_never_shown():
    (table,) = shown(variable({"flu": {"w": 400, "b": 300}}, versus="complement"))
    assert table["n_recorded"].notna().all()
    assert table["n_recorded_versus"].isna().all()


def test_counts_are_rounded_and_ratios_with_them():
    (table,) = shown(variable({"flu": {"w": 402, "b": 303}}), rule=Rule(round_to=5))
    row = table.loc[("flu", "b")]
    assert row["n_recorded"] == 305
    assert row["observed_ratio"] == 1.2


def test_columns_that_are_not_declared_are_gone():
    found = disclosed_atlas([variable({"flu": {"w": 400, "b": 300}})], Rule())
    assert set(found[0].atlas.table) <= set(TABLE)
    assert found[0].counts.empty


def test_without_hiding_everything_is_shown():
    (table,) = shown(variable({"flu": {"w": 400, "b": 3}}), rule=Rule(hide=False))
    assert table.loc[("flu", "b"), "n_recorded"] == 3
    assert not np.isnan(table.loc[("flu", "b"), "estimate"])
