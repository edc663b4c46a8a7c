"""No count of 1 to 10 people stands in a report, nor can one be worked out from it."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relprev.checks.check import CheckResult, Verdict
from relprev.inference.intervals import _sentence, headline
from relprev.messages import Message
from relprev.report import words
from relprev.report.content import VariableFindings
from relprev.report.figures import NOTHING_DRAWN, plot_check
from relprev.report.hiding import hide_small_counts
from relprev.report.suppression import hidden_cells, redact, suppress
from tests.report.studies import study


def check(kind, table, effect="Nothing."):
    return CheckResult(kind, kind, Verdict.NO_CONCERN, said(effect), table)


def said(text):
    return Message("{text}", text=text)


def variable(name="race", groups=None, attrition=None, checks=(), symptoms=None, **more):
    """Findings of made-up numbers, to see what is hidden of them."""
    groups = {"a": (5000, 400), "b": (3000, 300), "c": (900, 40)} if groups is None else groups
    counts = pd.DataFrame(
        [(group, *pair) for group, pair in groups.items()], columns=["group", "n", "n_diagnosed"]
    )
    frame = counts.assign(
        versus="complement", estimate=1.5, ci_low=1.2, ci_high=1.9, observed_ratio=1.1,
        diagnosis_ratio=0.7, std_error=0.1, p_value=0.02, degrees_of_freedom=30.0,
        effective_cases=30.0, sentence="Recorded diagnoses alone give 1.10.",
    )  # fmt: skip
    if attrition is None:
        total = int(counts["n"].sum())
        attrition = [("files", total + 500, 9000), ("adults", total, 8000)]
    return VariableFindings(
        name, {"DebiasedPURPLE": frame},
        pd.DataFrame(attrition, columns=["step", "visits", "patients"]), tuple(checks),
        pd.DataFrame({"feature": ["S00"], "weight": [1.0], "visits": [100]})
        if symptoms is None else symptoms,
        groups=counts, **more,
    )  # fmt: skip


def shown(*variables, **more):
    hidden = hide_small_counts(study(*variables, **more)).variables
    return hidden[0] if len(hidden) == 1 else hidden


SMALL = {"a": (5000, 400), "b": (3000, 300), "c": (900, 4)}


def test_small_group_is_hidden_with_all_that_follows_from_its_count():
    frame = shown(variable(groups=SMALL)).estimates["DebiasedPURPLE"].set_index("group")
    for column in (
        "n_diagnosed", "observed_ratio", "diagnosis_ratio", "std_error", "p_value",
        "degrees_of_freedom", "effective_cases", "sentence",
    ):  # fmt: skip
        assert frame[column].isna().tolist() == [False, True, True], column
    assert frame[["estimate", "ci_low", "ci_high", "n"]].notna().all(axis=None)


def test_group_of_few_patients_is_hidden_however_many_their_visits():
    found = variable()
    people = found.groups.assign(patients=[4000, 2000, 3], patients_diagnosed=[300, 200, 2])
    frame = shown(replace(found, groups=people)).estimates["DebiasedPURPLE"].set_index("group")
    for column in ("n", "n_diagnosed", "observed_ratio", "p_value"):
        assert frame[column].isna().tolist() == [False, True, True], column


def test_few_diagnosed_patients_are_hidden_however_many_their_visits():
    found = variable()
    people = found.groups.assign(patients=[4000, 2000, 800], patients_diagnosed=[300, 200, 2])
    seen = shown(replace(found, groups=people))
    frame = seen.estimates["DebiasedPURPLE"].set_index("group")
    assert frame["n_diagnosed"].isna().tolist() == [False, True, True]
    assert frame["n"].notna().all()
    assert list(seen.groups) == ["group", "n", "n_diagnosed"]


def test_reference_group_without_a_row_of_its_own_is_covered():
    """Its count follows from another group's recorded ratio against it."""
    found = variable(groups=SMALL)
    frame = found.estimates["DebiasedPURPLE"]
    against = frame[frame["group"] != "c"].assign(versus="c")
    frame = shown(replace(found, estimates={"x": against})).estimates["x"]
    assert frame["observed_ratio"].isna().all()


def test_hidden_row_still_says_that_few_cases_inform_it():
    found = variable(groups=SMALL)
    said = (
        "The condition is estimated to be 1.50 times as common in c (or d) as among everybody "
        "else (95% interval 1.20 to 1.90)."
    )
    more = (
        " Recorded diagnoses alone give 1.10; a case in c is 0.70 times as likely to be diagnosed."
    )
    few = " Few cases inform this: about 3, because few are diagnosed."
    frame = found.estimates["DebiasedPURPLE"].assign(sentence=said + more + few)
    report = hide_small_counts(study(replace(found, estimates={"x": frame})))
    frame = report.variables[0].estimates["x"]
    assert frame["sentence"].tolist() == [
        said + more + few, *[said + " Few cases inform this."] * 2
    ]  # fmt: skip
    row = frame.to_dict("records")[2]
    assert words.sentence(report, row).endswith("Few cases inform this.")
    assert words.short(row).endswith("recorded not shown; few cases inform this")


def test_sentence_of_an_estimator_keeps_estimate_and_interval_when_its_counts_are_hidden():
    row = {"group": "a", "versus": "complement", "estimate": 2.0, "ci_low": 1.0, "ci_high": 12.5,
           "observed_ratio": 1.25, "diagnosis_ratio": 0.75, "effective_cases": 7.4}  # fmt: skip
    sentence = _sentence(row, 0.95)
    frame = pd.DataFrame([row | {"n": 300, "n_diagnosed": 7, "sentence": sentence}])
    seen = suppress(frame)["sentence"][0]
    assert seen == f"{headline(row, 0.95)} Few cases inform this."


def test_reason_for_a_withheld_estimate_is_kept():
    found = variable(groups=SMALL)
    frame = found.estimates["DebiasedPURPLE"].copy()
    frame.loc[2, ["estimate", "ci_low", "ci_high"]] = np.nan
    frame.loc[2, "sentence"] = "No estimate for c: too few patients are diagnosed in c."
    frame = shown(replace(found, estimates={"x": frame})).estimates["x"]
    assert frame["sentence"][2].startswith("No estimate for c")
    assert pd.isna(frame["sentence"][1])


def test_everything_is_shown_when_asked_for():
    found = shown(variable(groups=SMALL), hide_small_counts=False)
    assert found.estimates["DebiasedPURPLE"]["n_diagnosed"].tolist() == [400, 300, 4]


# -- attrition -----------------------------------------------------------------------------


def test_level_a_few_people_above_the_next_is_hidden():
    steps = [("files", 9500, 9000), ("adults", 8904, 8000), ("group known", 8900, 7996)]
    visits = shown(variable(attrition=steps)).attrition["visits"]
    assert visits.isna().tolist() == [False, True, False]


def test_level_is_hidden_if_many_visits_of_few_patients_were_dropped():
    steps = [("files", 9500, 9000), ("adults", 8940, 8000), ("group known", 8900, 7996)]
    table = shown(variable(attrition=steps)).attrition
    assert table["visits"].isna().tolist() == [False, True, False]
    assert table["patients"].isna().tolist() == [False, True, False]


def test_steps_that_drop_nobody_are_shown():
    steps = [("files", 8900, 9000), ("adults", 8900, 8000), ("group known", 8900, 8000)]
    assert shown(variable(attrition=steps)).attrition.notna().all(axis=None)


def test_level_hidden_for_one_variable_is_hidden_for_all():
    """The other variable's table would give it away."""
    race = variable("race", attrition=[("adults", 8904, 8000), ("race known", 8900, 7996)])
    pay = variable("pay", attrition=[("adults", 8904, 8000), ("pay known", 8000, 7000)])
    first, second = shown(race, pay)
    assert pd.isna(first.attrition["visits"][0])
    assert pd.isna(second.attrition["visits"][0])


@given(st.lists(st.integers(0, 30), min_size=1, max_size=7), st.integers(0, 40))
@settings(deadline=None, max_examples=150)
def test_no_difference_of_levels_shown_is_small(drops, last):
    levels = list(itertools.accumulate(reversed(drops), initial=last))[::-1]
    steps = [(f"step {k}", value, value) for k, value in enumerate(levels)]
    table = shown(variable(attrition=steps)).attrition
    for column in ("visits", "patients"):
        kept = [0, *(int(v) for v in table[column].dropna())]
        gaps = [abs(one - two) for one, two in itertools.combinations(kept, 2)]
        assert not any(1 <= gap <= 10 for gap in gaps)


# -- cells whose total is known ------------------------------------------------------------


@given(st.lists(st.integers(0, 60), min_size=1, max_size=8))
def test_hidden_cells_cannot_be_worked_out_from_the_total(counts):
    series = pd.Series(counts)
    hidden = series[hidden_cells(series)]
    assert set(series[(series >= 1) & (series <= 10)].index) <= set(hidden.index)
    positive = series[series > 0]
    if len(hidden) and len(hidden) < len(positive):  # else all are hidden, the total with them
        assert len(hidden) >= 2
        assert hidden.sum() >= 11


# -- checks --------------------------------------------------------------------------------


def test_fifths_with_few_diagnosed_are_hidden_with_cover():
    table = pd.DataFrame({
        "group": "a", "fifth": range(1, 6), "predicted": 0.1, "predicted_sd": 0.01,
        "recorded": [0.01, 0.05, 0.1, 0.2, 0.3], "recorded_sd": 0.01, "n": 1000,
        "n_diagnosed": [6, 50, 100, 200, 300], "drawn": True,
    })  # fmt: skip
    seen = shown(variable(checks=[check("calibration", table)])).checks[0].table
    assert seen["recorded"].isna().tolist() == [True, True, False, False, False]
    assert seen["n_diagnosed"].isna().tolist() == [True, True, False, False, False]


def test_shares_that_stand_for_few_people_are_hidden():
    table = pd.DataFrame({
        "group": ["a", "b"], "n_diagnosed": [400, 300], "effective_cases": 90.0, "mixing": 0.9,
        "sure_share": [0.01, 0.5], "exclusive_codes": [3, 0],
        "diagnosed_with_exclusive_codes": [0.99, 0.0],
    })  # fmt: skip
    seen = shown(variable(checks=[check("overlap", table, "Least in a: 99%.")])).checks[0]
    assert seen.table["sure_share"].isna().tolist() == [True, False]
    assert seen.table["diagnosed_with_exclusive_codes"].isna().tolist() == [True, False]
    assert "99%" not in str(seen.effect)
    assert "a" in str(seen.effect)


def test_row_of_a_hidden_group_keeps_only_what_does_not_count_people():
    table = pd.DataFrame({
        "group": ["a", "c"], "n_diagnosed": [400, 4], "effective_cases": [90.0, 2.5],
        "mixing": 0.9, "sure_share": 0.0, "something_new": [1.0, 2.0],
    })  # fmt: skip
    seen = shown(variable(groups=SMALL, checks=[check("overlap", table, "c: 4 of 4.")])).checks[0]
    row = seen.table.set_index("group").loc["c"]
    assert row[["n_diagnosed", "effective_cases", "something_new"]].isna().all()
    assert row["mixing"] == 0.9
    assert "4" not in str(seen.effect)


def test_sentence_goes_with_a_column_hidden_in_all_rows():
    table = pd.DataFrame({
        "group": ["a", "b", "c"], "n_diagnosed": [400, 300, 4], "sure_share": 0.0,
        "effective_cases": [15.0, 60.0, 2.5], "mixing": [0.1, 0.5, 0.9],
    })  # fmt: skip
    found = check("overlap", table, "Least overlap in a: 15 effective informative cases of 400.")
    seen = shown(variable(groups=SMALL, checks=[found])).checks[0]
    assert seen.table["effective_cases"].isna().all()
    assert not re.search(r"15|400", str(seen.effect))
    assert str(seen.effect).startswith(
        "Least overlap in a: few informative cases, symptoms that set it apart; the numbers"
    )


def test_leakage_of_few_people_is_still_said():
    table = pd.DataFrame({
        "feature": ["S00", "S01"], "n": [50, 60], "n_diagnosed": [45, 20],
        "predictive_value": [0.9, 0.3], "reach": 0.1, "suspicious": [True, False],
    })  # fmt: skip
    found = replace(check("leakage", table, "1 features imply it, first S00."), verdict="concern")
    seen = shown(variable(checks=[found])).checks[0]
    assert str(seen.effect).startswith(
        "Some features all but imply the diagnosis, first S00; the num"
    )


def test_sentence_that_speaks_of_ratios_only_is_kept():
    table = pd.DataFrame({
        "group": ["a", "c"], "versus": "complement", "purple": 1.4, "debiased": 1.5, "ci_low": 1.2,
        "ci_high": 1.9, "std_error": 0.1, "z": 0.7, "p_value": 0.5,
    })  # fmt: skip
    found = replace(
        check("agreement", table, "Furthest apart for c: 1.40 and 1.50."),
        statistic=0.7, p_value=0.5,
    )  # fmt: skip
    seen = shown(variable(groups=SMALL, checks=[found])).checks[0]
    assert seen.effect == found.effect
    assert np.isnan(seen.statistic)
    assert np.isnan(seen.p_value)
    assert seen.table.set_index("group").loc["c", ["std_error", "z", "p_value"]].isna().all()


def test_features_of_few_people_keep_only_their_name():
    table = pd.DataFrame({
        "feature": ["S00", "S01", "S02", "S03"], "n": [100, 10, 50, 50],
        "n_diagnosed": [30, 5, 3, 45], "predictive_value": [0.3, 0.5, 0.06, 0.9],
        "reach": 0.1, "suspicious": [False, False, False, True],
    })  # fmt: skip
    effect = "the highest predictive value is 90% (S03)"
    seen = shown(variable(checks=[check("leakage", table, effect)])).checks[0]
    assert seen.table["n"].isna().tolist() == [False, True, True, True]
    assert seen.table["predictive_value"].isna().tolist() == [False, True, True, True]
    assert seen.table["suspicious"].tolist() == [False, False, False, True]
    assert "90%" not in str(seen.effect)


def test_features_that_few_lack_are_hidden_too():
    """Of 8,900 visits 740 are diagnosed: 737 of them with S01, all visits but 4 have S02."""
    table = pd.DataFrame({
        "feature": ["S00", "S01", "S02", "S03"], "n": [100, 2000, 8896, 8800],
        "n_diagnosed": [30, 737, 700, 645], "predictive_value": 0.3, "reach": 0.1,
    })  # fmt: skip
    seen = shown(variable(checks=[check("leakage", table)])).checks[0].table
    assert seen["n"].isna().tolist() == [False, True, True, True]
    assert seen["reach"].isna().tolist() == [False, True, True, True]
    symptoms = pd.DataFrame({"feature": ["S02"], "weight": 1.0, "visits": [8896]})
    assert shown(variable(symptoms=symptoms)).symptoms["visits"].isna().all()


def test_fifths_of_few_visits_lose_their_size():
    table = pd.DataFrame({
        "group": "a", "fifth": range(1, 6), "predicted": 0.1, "recorded": 0.2,
        "n": [7, 90, 100, 100, 100], "n_diagnosed": [0, 40, 50, 50, 50], "drawn": False,
    })  # fmt: skip
    seen = shown(variable(checks=[check("calibration", table)])).checks[0].table
    for column in ("n", "recorded", "n_diagnosed"):
        assert seen[column].isna().tolist() == [True, True, False, False, False], column


def test_figure_of_hidden_points_says_so_and_names_no_group():
    table = pd.DataFrame({
        "group": "a", "fifth": range(1, 6), "predicted": 0.1, "predicted_sd": 0.01, "recorded": 0.2,
        "recorded_sd": 0.01, "n": 100, "n_diagnosed": 5, "drawn": True,
    })  # fmt: skip
    seen = shown(variable(checks=[check("calibration", table)])).checks[0]
    ax = plot_check(seen)
    assert [text.get_text() for text in ax.texts] == [NOTHING_DRAWN]
    assert ax.get_legend() is None
    both = pd.concat([table, table.assign(group="b", n_diagnosed=20)], ignore_index=True)
    seen = shown(variable(checks=[check("calibration", both)])).checks[0]
    legend = plot_check(seen).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["b"]


def test_check_without_counts_is_left_alone():
    table = pd.DataFrame({"group": ["a", "c"], "versus": "b", "where": "all", "drift": 1.2,
                          "ci_low": 1.0, "ci_high": 1.4})  # fmt: skip
    found = check("constant_ratio", table, "The diagnosis rate of c changes by 1.20.")
    seen = shown(variable(groups=SMALL, checks=[found])).checks[0]
    assert seen.effect == found.effect
    pd.testing.assert_frame_equal(seen.table, table)


def test_symptoms_of_few_visits_lose_their_number():
    symptoms = pd.DataFrame({"feature": ["S00", "S01"], "weight": 1.0, "visits": [100, 7]})
    assert shown(variable(symptoms=symptoms)).symptoms["visits"].isna().tolist() == [False, True]


def test_symptoms_of_few_patients_lose_their_numbers():
    symptoms = pd.DataFrame(
        {"feature": ["S00", "S01"], "weight": 1.0, "visits": [100, 70], "patients": [90, 2]}
    )
    seen = shown(variable(symptoms=symptoms)).symptoms
    assert seen["visits"].isna().tolist() == [False, True]
    assert seen["patients"].isna().tolist() == [False, True]


# -- words ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "a group has only 3 patients with a recorded diagnosis",
    "fewer than 2 diagnosed patients", "10 visits", "left out: 1 person", "7 women",
])  # fmt: skip
def test_small_counts_in_words_are_replaced(text):
    assert not re.search(r"\b([1-9]|10)\b", redact(text))


@pytest.mark.parametrize("text", [
    "1,003 visits", "11 patients", "fewer than 100 visits", "age 18 or more", "0.5 of all cases",
    "3 of the checks", "ICD-10 codes", "2.3 cases",
])  # fmt: skip
def test_other_numbers_in_words_are_kept(text):
    assert redact(text) == text


@pytest.mark.parametrize(("text", "seen"), [
    ("group 'x' has one patient with a recorded diagnosis, too few to split into 2 parts that "
     "each hold one",
     "group 'x' has fewer than 11 patients with a recorded diagnosis, too few to split into 2 "
     "parts that each hold one"),
    ("3 folds are used instead of 5: a group has only 3 patients with a recorded diagnosis",
     "fewer folds are used than 5: a group has fewer than 11 patients with a recorded diagnosis"),
    ("very few informative cases: White (6.9), Black, non-Hispanic (3.3) (effective cases); merge",
     "very few informative cases: White, Black, non-Hispanic; merge"),
    ("fewer than two groups have 2 diagnosed patients or more (too few in b)",
     "fewer than two groups have 2 diagnosed patients or more (too few in b)"),
])  # fmt: skip
def test_what_warnings_say_is_true_without_its_counts(text, seen):
    assert redact(text) == seen


def test_warnings_and_reasons_are_redacted():
    found = variable(left_out={"d": "only 3 visits"})
    report = hide_small_counts(study(found, warnings=("only 4 patients",)))
    assert report.warnings == ("fewer than 11 patients",)
    assert report.variables[0].left_out["d"] == "fewer than 11 visits"
