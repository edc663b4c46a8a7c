"""Table 1: what it shows, and that no small count follows from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from relprev.cohort.characteristics import ALL, DIAGNOSED, GROUP
from relprev.disclosure import Rule
from relprev.report import VariableFindings, disclosed
from relprev.report.analyses import Analysis
from relprev.report.tables.characteristics import standardised_difference, table_one
from tests.report.studies import found, study

FEWEST = 4.0  # largest less smallest value that must be left for a hidden count


def people(seed, n=700):
    """Three wards, one small; a rare level of age; sex; some diagnosed."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "ward": rng.choice(["a", "b", "c"], n, p=[0.6, 0.35, 0.05]),
        "sex": rng.choice(["F", "M"], n, p=[0.7, 0.3]),
        "age": rng.choice(["young", "old", "missing"], n, p=[0.7, 0.28, 0.02]),
        "diagnosed": rng.random(n) < 0.2,
        "w": rng.uniform(1, 5, n),
    })  # fmt: skip


def characteristics(data, variable, weighted):
    rows = []
    for characteristic in {"age", "ward", "sex"} - {variable}:
        parts = {(ALL, ""): data, (DIAGNOSED, ""): data[data["diagnosed"]]}
        parts |= {(GROUP, group): part for group, part in data.groupby(variable)}
        for (among, group), part in parts.items():
            for level, own in part.groupby(characteristic):
                total = own["w"].sum() if weighted else np.nan
                rows.append((characteristic, level, among, group, len(own), total, np.nan))
    columns = ["characteristic", "level", "among", "group", "n", "weighted", "patients"]
    return pd.DataFrame(rows, columns=columns).sort_values("characteristic", kind="stable")


def variable(data, name, weighted=False):
    groups = data.groupby(name).agg(n=("w", "size"), n_diagnosed=("diagnosed", "sum")).reset_index()
    groups = groups.rename(columns={name: "group"})
    frame = groups.assign(versus="complement", estimate=1.0, ci_low=0.5, ci_high=2.0,
                          observed_ratio=1.0, diagnosis_ratio=1.0)  # fmt: skip
    steps = pd.DataFrame({"step": ["all"], "visits": [len(data)], "patients": [None]})
    symptoms = pd.DataFrame({"feature": [], "description": [], "weight": [], "visits": []})
    table = characteristics(data, name, weighted)
    return VariableFindings(name, {"PURPLE": frame}, steps, (), symptoms, groups=groups,
                            characteristics=table)  # fmt: skip


def attack(data, report):
    """The range that is left for every crossed count of few, given all that the tables show.

    Unknown are the people of each ward, sex, age and diagnosis; everything shown is a sum of them.
    """
    keys = ["ward", "sex", "age", "diagnosed"]
    cells = data.groupby(keys, observed=False).size().reset_index()[keys]
    levels = [sorted(data[key].unique()) for key in keys]
    cells = pd.MultiIndex.from_product(levels, names=keys).to_frame(index=False)
    A, b = [np.ones(len(cells))], [len(data)]

    def mask(**where):
        out = np.ones(len(cells), dtype=bool)
        for key, value in where.items():
            out &= (cells[key] == value).to_numpy()
        return out

    hidden = []
    for one in report.variables:
        shown = [({one.name: row["group"]}, row["n"]) for row in one.counts.to_dict("records")]
        shown += [({one.name: row["group"], "diagnosed": True}, row["n_diagnosed"])
                  for row in one.counts.to_dict("records")]  # fmt: skip
        for row in one.characteristics.to_dict("records"):
            where = {row["characteristic"]: row["level"]}
            where |= {one.name: row["group"]} if row["among"] == GROUP else {}
            where |= {"diagnosed": True} if row["among"] == DIAGNOSED else {}
            shown.append((where, row["n"]))
        for where, n in shown:
            if pd.isna(n):
                hidden.append(where)
            else:
                A.append(mask(**where).astype(float))
                b.append(float(n))
    assert hidden
    for where in hidden:
        count = int(
            np.logical_and.reduce([data[key] == value for key, value in where.items()]).sum()
        )
        if not 1 <= count <= 10:
            continue
        ends = [sign * linprog(sign * mask(**where), A_eq=np.array(A), b_eq=b).fun
                for sign in (1, -1)]  # fmt: skip
        yield where, count, ends[1] - ends[0]


@pytest.mark.parametrize("seed", range(4))
def test_no_small_count_follows_from_the_tables_of_two_variables(seed):
    data = people(seed)
    report = disclosed(found(variable(data, "ward"), variable(data, "sex")), Rule())
    for one in report.variables:
        shown = one.characteristics["n"].dropna()
        assert not shown.between(1, 10).any()
    attacked = list(attack(data, report))
    assert attacked
    for where, count, spread in attacked:
        assert spread >= FEWEST, (where, count)


@pytest.mark.parametrize("seed", range(4))
def test_a_level_that_is_a_stratum_is_shown_in_both_tables_or_in_none(seed):
    """Else the one would tell what the other hides."""
    data = people(seed)
    parts = data.groupby(["age", "ward"]).agg(n=("w", "size"), n_diagnosed=("diagnosed", "sum"))
    parts = parts.reset_index().rename(columns={"age": "stratum", "ward": "group"})
    table = parts.assign(versus="complement", estimate=1.0, ci_low=0.5, ci_high=2.0, note="")
    own = replace(variable(data, "ward"), analyses=(Analysis("strata", "age", table),))
    (one,) = disclosed(found(own), Rule()).variables
    levels = one.characteristics
    levels = levels[(levels["characteristic"] == "age") & (levels["among"] == GROUP)]
    both = levels.merge(
        one.analyses[0].table, left_on=["level", "group"], right_on=["stratum", "group"]
    )
    assert len(both) == len(parts)
    assert both["n_x"].isna().any()
    assert (both["n_x"].isna() == both["n_y"].isna()).all()


def test_hidden_counts_hide_weights_shares_and_differences():
    data = people(1)
    report = disclosed(found(variable(data, "ward", weighted=True)), Rule())
    (one,) = report.variables
    gone = one.characteristics["n"].isna()
    assert gone.any()
    assert one.characteristics.loc[gone, ["weighted", "share"]].isna().all(axis=None)
    texts = table_one(report, one, "ward").texts()
    age = texts[texts["Characteristic"].str.startswith("age")]
    assert age["Difference of groups"].iloc[0] == "hidden"
    assert "patients" not in one.characteristics


def test_everything_is_shown_where_nothing_is_small():
    data = people(2, n=20_000)
    report = study(variable(data, "sex", weighted=True))
    (one,) = report.variables
    texts = table_one(report, one, "sex").texts().set_index("Characteristic")
    women = data[(data["sex"] == "F")]
    share = women.loc[women["age"] == "old", "w"].sum() / women["w"].sum()
    n, total = (women["age"] == "old").sum(), women.loc[women["age"] == "old", "w"].sum()
    assert texts.loc["age: old", "F"] == f"{n:,} ({share:.1%}); N {total:,.0f}"
    assert not (texts == "hidden").any(axis=None)


def test_rounded_counts_are_rounded_in_table_one():
    data = people(2, n=20_000)
    report = study(variable(data, "sex"), rule=Rule(threshold=7, round_to=5))
    assert (report.variables[0].characteristics["n"].dropna() % 5 == 0).all()


def test_standardised_differences():
    assert standardised_difference(0.3, 0.3) == 0.0
    assert standardised_difference(0.4, 0.5) == pytest.approx(0.1 / np.sqrt((0.24 + 0.25) / 2))
    assert np.isnan(standardised_difference(0.0, 1.0))
