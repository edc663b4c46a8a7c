"""Analyses beside the estimates tell no count that the estimates hide."""

import numpy as np
import pandas as pd
import pytest

from relprev.disclosure import Rule
from relprev.report import StudyFindings, VariableFindings, disclosed
from relprev.report.analyses import Analysis
from relprev.report.disclosing.counted import study_cells


def absolute(counts, outside):
    """Findings whose absolute rates are exact: rate times prevalence is the recorded rate."""
    table = pd.DataFrame([(g, "complement", 1.0, n, d) for g, (n, d) in counts.items()],
                         columns=["group", "versus", "estimate", "n", "n_diagnosed"])  # fmt: skip
    rate = np.linspace(0.3, 0.6, len(table))
    prevalence = table["n_diagnosed"] / table["n"] / rate
    rates = pd.DataFrame({"group": table["group"], "outside": table["group"] == outside})
    for name, values in (("diagnosis_rate", rate), ("prevalence", prevalence)):
        rates[name], rates[f"{name}_low"], rates[f"{name}_high"] = (
            values,
            values * 0.9,
            values * 1.1,
        )
    steps = pd.DataFrame({"step": ["all"], "visits": [table["n"].sum()],
                          "patients": pd.array([pd.NA], dtype="Int64")})  # fmt: skip
    analysis = Analysis("absolute", outside, rates)
    found = VariableFindings("race", {"debiased": table}, steps, (), pd.DataFrame(),
                             analyses=(analysis,))  # fmt: skip
    report = disclosed(StudyFindings("", "", "", "", (found,), {}), Rule())
    return report.variables[0].analyses[0].table.set_index("group")


COUNTS = {"A": (5000, 400), "B": (4000, 300), "C": (900, 80), "D": (700, 4)}


def test_rates_of_groups_with_hidden_counts_are_hidden():
    table = absolute(COUNTS, "A")
    shown = table["prevalence"].notna()
    assert shown.to_dict() == {"A": True, "B": True, "C": False, "D": False}
    assert table.loc[~shown].drop(columns="outside").isna().all(axis=None)


def test_all_rates_are_hidden_if_the_outside_value_is_of_a_group_with_hidden_counts():
    """They and the estimates would give the recorded rate of that group."""
    table = absolute(COUNTS, "D")
    assert table.drop(columns="outside").isna().all(axis=None)


STRATA = {  # visits and diagnosed: 6 young of B are hidden, with the old of B as cover
    ("young", "A"): (3000, 200), ("old", "A"): (2000, 200), ("young", "B"): (1500, 6),
    ("old", "B"): (2500, 94), ("young", "C"): (800, 60), ("old", "C"): (900, 80),
}  # fmt: skip


def standardised(versus, counts=STRATA, pooled=False):
    """The standardised table of groups A, B and C as shown, with exact ratios."""
    strata = pd.DataFrame([(*key, *pair) for key, pair in counts.items()],
                          columns=["stratum", "group", "n", "n_diagnosed"])  # fmt: skip
    whole = strata.groupby("group", as_index=False)[["n", "n_diagnosed"]].sum()
    crude = (whole["n_diagnosed"] / whole["n"]).set_axis(whole["group"])
    rates = strata["n_diagnosed"] / strata["n"]
    visits = strata.groupby("stratum")["n"].sum()
    share = strata["stratum"].map(visits / visits.sum()) if pooled else 0.5
    rate = (rates * share).groupby(strata["group"]).sum()
    compared = whole if versus == "complement" else whole[whole["group"] != versus]
    groups = compared["group"].to_numpy()
    other = {name: value.get(versus, 0.06) for name, value in (("crude", crude), ("rate", rate))}
    ratios = {
        "estimate": 1.3 * rate[groups].to_numpy() / other["rate"],
        "unadjusted": 1.3 * crude[groups].to_numpy() / other["crude"],
    }
    table = pd.DataFrame({"group": groups, "versus": versus, **ratios})
    table["observed_ratio"] = table["estimate"] / 1.3
    for name, stem in (("estimate", "ci"), ("unadjusted", "unadjusted_ci"),
                       ("observed_ratio", "observed_ci")):  # fmt: skip
        table[f"{stem}_low"], table[f"{stem}_high"] = table[name] / 1.2, table[name] * 1.2
    estimates = compared.assign(versus=versus, estimate=ratios["unadjusted"])
    steps = pd.DataFrame({"step": ["all"], "visits": [whole["n"].sum()],
                          "patients": pd.array([pd.NA], dtype="Int64")})  # fmt: skip
    analyses = (
        Analysis("strata", "age", strata.assign(versus="", note="")),
        Analysis("standardised", "age", table.assign(pooled=pooled)),
    )
    found = VariableFindings("race", {"debiased": estimates}, steps, (), pd.DataFrame(),
                             groups=whole, analyses=analyses)  # fmt: skip
    report = disclosed(StudyFindings("", "", "", "", (found,), {}), Rule())
    shown, ratios = (one.table for one in report.variables[0].analyses)
    hidden = shown[shown["n_diagnosed"].isna()]
    assert set(zip(hidden["stratum"], hidden["group"], strict=True)) == {
        ("young", "B"), ("old", "B")
    }  # fmt: skip
    return ratios.set_index("group")


def test_standardised_ratios_of_groups_with_hidden_strata_are_hidden():
    """The sum of both is known. With the unadjusted ratio, the diagnosis rates cancel:
    standardised / unadjusted is a second equation of the two counts, which gives them away."""
    table = standardised("A")
    ours = ["estimate", "ci_low", "ci_high", "observed_ratio", "observed_ci_low"]
    assert table.loc["B", ours].isna().all()
    assert table.loc["C", ours].notna().all()
    assert table["unadjusted"].notna().all()


FEW_VISITS = {**STRATA, ("young", "B"): (6, 1), ("old", "B"): (3994, 299)}


def test_nothing_is_standardised_to_all_visits_where_visits_of_a_stratum_are_hidden():
    """The ratio of A and C gives the share of the young among all visits away, by one equation in
    one unknown, and so the six young of B. A standard that the study gives does not know them."""
    pooled = standardised("A", FEW_VISITS, pooled=True)
    assert pooled[["estimate", "ci_low", "ci_high", "observed_ratio"]].isna().all(axis=None)
    assert pooled["unadjusted"].notna().all()
    given = standardised("A", FEW_VISITS)
    assert given["estimate"].notna().to_dict() == {"B": False, "C": True}
    assert standardised("A", pooled=True)["estimate"].notna()["C"]  # B's visits are not hidden


def test_standardised_ratios_versus_such_groups_are_hidden():
    assert standardised("B")["estimate"].isna().all()
    assert standardised("complement")["estimate"].isna().all()


PAYERS = {  # visits in strata of age and sex
    "old / M": {"A": 300, "B": 60}, "old / F": {"A": 280, "B": 50},
    "young / M": {"A": 500, "B": 90}, "young / F": {"A": 400, "B": 80},
}  # fmt: skip


@pytest.mark.parametrize("inner", ["stratum", "level"])
def test_levels_of_table_1_are_sums_of_their_strata_and_strata_of_their_levels(inner):
    """A level was compared with one stratum at a time. In NHAMCS, three old men with one kind of
    payer were all old men less those of other payers, one of which, hidden as cover, was the old
    with that payer less its old women."""
    strata = pd.DataFrame(
        [(s, g, n, n // 2) for s, groups in PAYERS.items() for g, n in groups.items()],
        columns=["stratum", "group", "n", "n_diagnosed"],
    )
    wide = strata.assign(level=strata["stratum"].str.split(" / ").str[0], among="group")
    wide = wide.groupby(["level", "among", "group"], as_index=False)[["n", "n_diagnosed"]].sum()
    fine, coarse = strata, wide.drop(columns="among").rename(columns={"level": "stratum"})
    levels = wide if inner == "stratum" else fine.rename(columns={"stratum": "level"})
    table = levels.assign(characteristic="age", among="group", weighted=np.nan)
    table = table.drop(columns="n_diagnosed")
    counts = strata.groupby("group", as_index=False)[["n", "n_diagnosed"]].sum()
    steps = pd.DataFrame({"step": ["all"], "visits": [strata["n"].sum()],
                          "patients": pd.array([pd.NA], dtype="Int64")})  # fmt: skip
    used = fine if inner == "stratum" else coarse
    analysis = Analysis("strata", "by", used.assign(versus="", note=""))
    found = VariableFindings("payer", {}, steps, (), pd.DataFrame(), groups=counts,
                             characteristics=table, analyses=(analysis,))  # fmt: skip
    outer = "level" if inner == "stratum" else "stratum"
    nested = tuple(("payer", "age", "by", inner, s, outer, s.split(" / ")[0]) for s in PAYERS)
    cells, _ = study_cells(StudyFindings("", "", "", "", (found,), {}, levels=nested), Rule())
    level = ("0", "level", "age")
    stratum = ("0", "n", "strata", "by")
    whole, part = (level, stratum) if inner == "stratum" else (stratum, level)
    expected = {(*whole, "old", "B"): -1, (*part, "old / M", "B"): 1, (*part, "old / F", "B"): 1}
    assert expected in cells.equations
