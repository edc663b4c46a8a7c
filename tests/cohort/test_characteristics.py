from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Features, GroupVariable, build_cohorts
from relprev.cohort.characteristics import characteristics_table, levels_read
from relprev.sources import read_tables

N = 300


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(3)
    ages = rng.integers(1, 95, N).astype(float)
    ages[:12] = np.nan
    return pd.DataFrame({
        "id": range(N), "who": np.arange(N) // 2, "years": ages, "w": rng.uniform(1, 3, N),
        "gender": rng.choice(["F", "M"], N), "ward": rng.choice(["north", "south", "east"], N),
        "dx": np.where(rng.random(N) < 0.3, "N801", "R51"),
    })  # fmt: skip


@pytest.fixture(scope="module")
def tables(visits):
    groups = (GroupVariable("ward"), GroupVariable("sex"))
    spec = CohortSpec(CodeSet.of("it", ["ICD10:N80*"]), groups, features=Features(min_count=0))
    names = {"visit_id": "id", "patient": "who", "age": "years", "sex": "gender", "weight": "w"}
    with read_tables(visits, code=["dx"], version="ICD10", attributes=["ward"], **names) as source:
        built = build_cohorts(spec, source)
        return {name: characteristics_table(name, built, levels_read(source)) for name in built}


def of(table, characteristic, level, among="all", group=""):
    (row,) = table[
        (table["characteristic"] == characteristic) & (table["level"] == level)
        & (table["among"] == among) & (table["group"] == group)
    ].to_dict("records")  # fmt: skip
    return row


def test_counts_weights_and_patients_are_those_of_pandas(visits, tables):
    middle = visits[visits["years"].between(18, 44) & (visits["ward"] == "south")]
    row = of(tables["ward"], "age", "18 to 44", "group", "south")
    assert (row["n"], row["patients"]) == (len(middle), middle["who"].nunique())
    assert row["weighted"] == pytest.approx(middle["w"].sum())
    sick = visits[(visits["dx"] == "N801") & (visits["gender"] == "F")]
    assert of(tables["ward"], "sex", "F", "diagnosed")["n"] == len(sick)


def test_visits_without_a_value_are_a_level(tables):
    assert of(tables["ward"], "age", "missing")["n"] == 12


def test_other_group_variables_are_characteristics_and_a_variable_is_none_of_its_own(tables):
    assert set(tables["ward"]["characteristic"]) == {"age", "sex"}
    assert set(tables["sex"]["characteristic"]) == {"age", "ward"}
    one = of(tables["ward"], "sex", "F", "group", "east")
    two = of(tables["sex"], "ward", "east", "group", "F")
    assert one["n"] == two["n"]


def test_levels_add_up_to_everybody(tables):
    for table in tables.values():
        sums = table[table["among"] == "all"].groupby("characteristic")["n"].sum()
        assert (sums == N).all()
