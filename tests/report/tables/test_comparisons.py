"""Each comparison once, with its reference, and the reason where a value is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from relprev.disclosure import Rule
from relprev.estimates import COMPLEMENT, withheld
from relprev.report import VariableFindings
from relprev.report.page.layout import lay_out
from relprev.report.tables.comparisons import (
    HIDDEN,
    REFERENCE,
    count_texts,
    estimate_texts,
    once,
    reference_of,
    with_absent,
)
from tests.report.studies import study

SIZES = {"men": 900, "women": 500, "others": 100}


def findings(pairs, sizes=SIZES, **more):
    rows = [
        {"group": group, "versus": versus, "estimate": 2.0, "ci_low": 1.5, "ci_high": 2.5,
         "observed_ratio": 1.0, "diagnosis_ratio": 0.5, "n": sizes[group], "n_diagnosed": 30,
         "p_value": 0.01} for group, versus in pairs
    ]  # fmt: skip
    groups = pd.DataFrame({"group": list(sizes), "n": list(sizes.values()), "n_diagnosed": 30})
    steps = pd.DataFrame({"step": ["all"], "visits": [sum(sizes.values())], "patients": [None]})
    symptoms = pd.DataFrame({"feature": [], "description": [], "weight": [], "visits": []})
    frame = pd.DataFrame(rows)
    return VariableFindings("sex", {"debiased": frame}, steps, (), symptoms, groups=groups, **more)


def pairs(found):
    return list(zip(found.main["group"], found.main["versus"], strict=True))


def test_two_groups_are_compared_once_and_by_name():
    two = {"men": 900, "women": 500}
    both = findings([("men", COMPLEMENT), ("women", COMPLEMENT)], two)
    assert pairs(once(both)) == [("women", "men")]
    pairwise = findings([("men", "women"), ("women", "men")], two)
    assert pairs(once(pairwise)) == [("women", "men")]


def test_of_many_groups_each_pair_is_kept_versus_the_larger():
    every = [(one, two) for one in SIZES for two in SIZES if one != two]
    kept = [("women", "men"), ("others", "men"), ("others", "women")]
    assert pairs(once(findings(every))) == kept


def test_everyone_else_of_several_groups_stays_everyone_else():
    rows = [(group, COMPLEMENT) for group in SIZES]
    assert pairs(once(findings(rows))) == rows


def test_hidden_sizes_keep_the_first_group_as_the_one_compared_with():
    found = findings([("men", "women"), ("women", "men")], {"men": 9, "women": 9})
    hidden = found.groups.assign(n=pd.array([None, None], dtype="Int64"))
    assert pairs(once(VariableFindings(**{**vars(found), "groups": hidden}))) == [("women", "men")]


def test_the_reference_group_leads_the_table_with_its_counts():
    found = findings([("women", "men"), ("others", "men")])
    table = with_absent(found.main.assign(method="debiased"), found)
    assert reference_of(found.main) == "men"
    assert table["group"].tolist() == ["men", "women", "others"]
    assert table["n"].tolist() == [900, 500, 100]
    texts = estimate_texts(table, found, Rule())
    assert texts[0, "estimate"] == texts[0, "observed_ratio"] == REFERENCE
    assert (1, "estimate") not in texts


def test_cells_say_why_they_are_empty():
    found = findings([("women", "men"), ("others", "men")], left_out={"unknown": "too few visits"})
    frame = found.main.astype({"n_diagnosed": "Int64"}).assign(method="debiased", withheld="")
    frame.loc[1, ["estimate", "ci_low", "ci_high", "p_value"]] = np.nan
    frame.loc[1, "withheld"] = withheld({"few diagnosed": ["others"]})
    frame.loc[1, "n_diagnosed"] = None
    table = with_absent(frame, found)
    assert table["group"].tolist() == ["men", "women", "others", "unknown"]
    texts = estimate_texts(table, found, Rule())
    assert texts[2, "estimate"] == "none: too few patients are diagnosed in others"
    assert texts[2, "n_diagnosed"] == HIDDEN
    assert texts[3, "estimate"] == "none: too few visits"
    assert texts[3, "n"] == "left out"
    assert estimate_texts(table, found, Rule(hide=False))[2, "n_diagnosed"] == "not known"


def test_a_method_without_intervals_has_no_test():
    found = findings([("women", "men")])
    frame = found.main.assign(ci_low=np.nan, ci_high=np.nan, p_value=np.nan)
    assert estimate_texts(frame, found, Rule()) == {(0, "p_value"): "no test"}


def test_a_column_that_nobody_knows_is_not_called_hidden():
    frame = pd.DataFrame({"n": [5.0, None], "patients": [None, None]})
    assert count_texts(frame, ["n", "patients", "absent"], Rule()) == {(1, "n"): HIDDEN}
    assert count_texts(frame, ["n"], Rule(hide=False)) == {}


def test_tables_of_a_report_have_the_reference_and_files_of_estimates_have_not():
    found = findings([("women", "men"), ("others", "men")])
    layout = lay_out(study(found))
    for table in (layout.variables[0].estimates, layout.variables[0].decomposition):
        first = table.texts().iloc[0]
        assert first["Group"] == "men"
        assert first.str.contains("reference").any()
    assert "men" not in set(layout.report.variables[0].main["group"])


@pytest.mark.parametrize("name", ["Corrected ratio", "Recorded ratio"])
def test_intervals_are_called_pointwise_in_their_headings(name):
    found = findings([("women", "men")])
    frame = found.main.assign(observed_ci_low=0.5, observed_ci_high=1.5)
    one = VariableFindings(**{**vars(found), "estimates": {"debiased": frame}})
    headings = lay_out(study(one)).variables[0].decomposition.texts().columns
    assert f"{name} (pointwise 95% CI)" in headings
