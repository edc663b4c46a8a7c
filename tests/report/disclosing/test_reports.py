"""No count of 1 to 10 people stands in a report, nor can one be worked out from it."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relprev.checks.check import CheckResult, Verdict
from relprev.disclosure import NOT_SHOWN, Rule
from relprev.estimates import sentence
from relprev.messages import Count, Message, Number
from relprev.report import VariableFindings
from relprev.report.figures.plots import NOTHING_DRAWN, plot_check
from relprev.report.sentences import answers
from tests.report.studies import study


def check(kind, table, effect=None, verdict=Verdict.NO_CONCERN, **more):
    return CheckResult(kind, kind, verdict, effect or Message("Nothing."), table, **more)


def variable(name="race", groups=None, attrition=None, checks=(), symptoms=None, **more):
    """Findings of made-up numbers, to see what is hidden of them."""
    groups = {"a": (5000, 400), "b": (3000, 300), "c": (900, 40)} if groups is None else groups
    counts = pd.DataFrame(
        [(group, *pair) for group, pair in groups.items()], columns=["group", "n", "n_diagnosed"]
    )
    frame = counts.assign(
        versus="complement", estimate=1.5, ci_low=1.2, ci_high=1.9, observed_ratio=1.1,
        diagnosis_ratio=0.7, std_error=0.1, p_value=0.02, degrees_of_freedom=30.0,
        effective_cases=30.0, few_cases=False, withheld="",
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
    hidden = study(*variables, **more).variables
    return hidden[0] if len(hidden) == 1 else hidden


FIFTHS = {"a": (5000, 656), "b": (3000, 300), "c": (900, 40)}
SMALL = {"a": (5000, 400), "b": (3000, 300), "c": (900, 4)}


def test_small_group_is_hidden_with_all_that_follows_from_its_count():
    frame = shown(variable(groups=SMALL)).estimates["DebiasedPURPLE"].set_index("group")
    for column in ("n_diagnosed", "observed_ratio", "diagnosis_ratio"):
        assert frame[column].isna().tolist() == [False, True, True], column
    assert frame[["estimate", "ci_low", "ci_high", "n"]].notna().all(axis=None)


def test_effective_cases_follow_from_nothing_that_is_shown():
    """An interval and a standard error tell the degrees of freedom, which are effective cases."""
    frame = shown(variable(groups=SMALL)).estimates["DebiasedPURPLE"]
    joint = ["effective_cases", "degrees_of_freedom", "std_error", "p_value"]
    assert frame[joint].isna().all(axis=None)
    table = pd.DataFrame({"where": ["x"], "group": ["a"], "versus": ["b"], "drift": [1.1],
                          "ci_low": [0.9], "ci_high": [1.3]})  # fmt: skip
    drift = check("constant_ratio", table, statistic=0.6, p_value=0.44, interval=(0.9, 1.3))
    for groups, p_value_shown in ((SMALL, False), (None, True)):
        (seen,) = shown(variable(groups=groups, checks=[drift])).checks
        assert (not np.isnan(seen.p_value), seen.statistic) == (p_value_shown, 0.6)


def test_few_patients_behind_many_undiagnosed_visits_are_hidden():
    """40 visits without a diagnosis, all by 3 patients who are diagnosed in others."""
    found = variable(groups={"a": (5000, 400), "b": (3000, 300), "c": (900, 860)})
    people = found.groups.assign(patients=[4000, 2000, 800], patients_diagnosed=[300, 200, 800])
    assert shown(replace(found, groups=people)).groups["n_diagnosed"].notna().all()
    people = people.assign(patients_undiagnosed=[3900, 1900, 3])
    seen = shown(replace(found, groups=people)).groups
    assert seen.loc[2, ["n", "n_diagnosed"]].isna().any()


def test_group_of_few_patients_is_hidden_however_many_their_visits():
    found = variable()
    people = found.groups.assign(patients=[4000, 2000, 3], patients_diagnosed=[300, 200, 2])
    frame = shown(replace(found, groups=people)).estimates["DebiasedPURPLE"].set_index("group")
    for column in ("n", "n_diagnosed", "observed_ratio"):
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


def test_effective_cases_are_hidden_in_all_rows_of_all_tables_or_in_none():
    """They depend on all groups' diagnosed, and were hidden in one table but not in another."""
    table = pd.DataFrame({"group": ["a", "b", "c"], "n_diagnosed": [400, 300, 4], "mixing": 0.9,
                          "effective_cases": [90.0, 80.0, 2.5]})  # fmt: skip
    seen = shown(variable(groups=SMALL, checks=[check("overlap", table)]))
    assert seen.checks[0].table["effective_cases"].isna().all()
    for column in ("effective_cases", "degrees_of_freedom"):
        assert seen.estimates["DebiasedPURPLE"][column].isna().all()
        assert shown(variable()).estimates["DebiasedPURPLE"][column].notna().all()


def test_hidden_row_still_says_that_few_cases_inform_it():
    found = variable(groups=SMALL)
    frame = found.estimates["DebiasedPURPLE"].assign(few_cases=True)
    report = study(replace(found, estimates={"x": frame}))
    row = report.variables[0].estimates["x"].to_dict("records")[2]
    assert sentence(row).endswith("The recorded ratio is not shown. Few cases inform this.")
    assert answers.short(row).endswith("recorded not shown; few cases inform this")


def test_reason_for_a_withheld_estimate_is_kept():
    found = variable(groups=SMALL)
    frame = found.estimates["DebiasedPURPLE"].copy()
    frame.loc[2, ["estimate", "ci_low", "ci_high"]] = np.nan
    frame.loc[2, "withheld"] = '{"few diagnosed": ["c"]}'
    row = shown(replace(found, estimates={"x": frame})).estimates["x"].to_dict("records")[2]
    assert sentence(row) == (
        "No estimate for c versus everyone else: too few patients are diagnosed in c."
    )


@pytest.mark.parametrize("diagnosed", [0, 1])
def test_group_without_an_estimate_does_not_tell_whether_it_has_none_or_one_diagnosed(diagnosed):
    """The estimator needs two: a dash beside a withheld estimate would mean one."""
    found = variable(groups=SMALL | {"c": (900, diagnosed)})
    frame = found.estimates["DebiasedPURPLE"].assign(withheld='{"few diagnosed": ["c"]}')
    seen = shown(replace(found, estimates={"x": frame})).estimates["x"]
    assert seen["n_diagnosed"].isna().tolist() == [False, True, True]
    assert shown(variable(groups=SMALL | {"c": (900, 0)})).groups["n_diagnosed"].notna().all()


def test_before_anything_is_fitted_a_group_to_be_left_out_does_not_tell_none_from_one():
    found = variable(groups=SMALL | {"c": (900, 0)}, left_out={"c": Message("too few diagnosed")})
    seen = shown(replace(found, estimates={})).groups
    assert seen["n_diagnosed"].isna().tolist() == [False, True, True]


def test_everything_is_shown_when_asked_for():
    found = shown(variable(groups=SMALL), rule=Rule(hide=False))
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


# -- checks --------------------------------------------------------------------------------


def test_fifths_with_few_diagnosed_are_hidden_with_cover():
    table = pd.DataFrame({
        "group": "a", "fifth": range(1, 6), "predicted": 0.1, "predicted_sd": 0.01,
        "recorded": [0.01, 0.05, 0.1, 0.2, 0.3], "recorded_sd": 0.01, "n": 1000,
        "n_diagnosed": [6, 50, 100, 200, 300], "drawn": True,
    })  # fmt: skip
    seen = shown(variable(groups=FIFTHS, checks=[check("calibration", table)])).checks[0].table
    assert seen["recorded"].isna().tolist() == [True, True, False, False, False]
    assert seen["n_diagnosed"].isna().tolist() == [True, True, False, False, False]
    assert seen["n"].notna().all()


def test_hidden_fifth_does_not_hide_its_group_in_words():
    """A fifth of group a is hidden, its 656 diagnosed are not."""
    table = pd.DataFrame({
        "group": "a", "fifth": range(1, 6), "predicted": 0.1, "recorded": 0.1, "n": 1000,
        "n_diagnosed": [6, 50, 100, 200, 300], "drawn": True,
    })  # fmt: skip
    effect = Message("a: {n}", n=Count(656, cells=(("n_diagnosed", "a"),)))
    seen = shown(variable(groups=FIFTHS, checks=[check("calibration", table, effect)]))
    assert seen.checks[0].table["n_diagnosed"].isna().any()
    assert str(seen.checks[0].effect) == "a: 656"


def test_fifths_of_few_patients_are_hidden_however_many_their_visits():
    table = pd.DataFrame({
        "group": "a", "fifth": range(1, 6), "predicted": 0.1, "recorded": 0.1, "n": 1000,
        "n_diagnosed": [60, 136, 140, 160, 160], "patients": 800,
        "patients_diagnosed": [3, 60, 70, 80, 90], "drawn": True,
    })  # fmt: skip
    seen = shown(variable(groups=FIFTHS, checks=[check("calibration", table)])).checks[0].table
    assert seen["n_diagnosed"].isna().tolist() == [True, True, False, False, False]
    assert pd.isna(seen["patients_diagnosed"][0])


def test_shares_that_stand_for_few_people_are_hidden():
    table = pd.DataFrame({
        "group": ["a", "b"], "n_diagnosed": [400, 300], "effective_cases": 90.0, "mixing": 0.9,
        "sure_share": [0.01, 0.5], "exclusive_codes": [3, 0],
        "diagnosed_with_exclusive_codes": [0.99, 0.0],
    })  # fmt: skip
    effect = Message(
        "Least in {group}: {share}.",
        group="a",
        share=Number(0.99, ".0%", (("diagnosed_with_exclusive_codes", "a"),)),
    )
    seen = shown(variable(checks=[check("overlap", table, effect)])).checks[0]
    assert seen.table["sure_share"].isna().tolist() == [True, False]
    assert seen.table["diagnosed_with_exclusive_codes"].isna().tolist() == [True, False]
    assert str(seen.effect) == "Least in a: (hidden)."


def test_row_of_a_hidden_group_keeps_only_what_does_not_count_people():
    table = pd.DataFrame({
        "group": ["a", "c"], "n_diagnosed": [400, 4], "effective_cases": [90.0, 2.5],
        "mixing": 0.9, "sure_share": 0.0, "something_new": [1.0, 2.0],
    })  # fmt: skip
    effect = Message("{group}: {n} of {all}.", group="c", n=Count(4), all=Count(4))
    seen = shown(variable(groups=SMALL, checks=[check("overlap", table, effect)])).checks[0]
    row = seen.table.set_index("group").loc["c"]
    assert row[["n_diagnosed", "effective_cases"]].isna().all()
    assert row["mixing"] == 0.9
    assert "something_new" not in seen.table
    assert str(seen.effect) == "c: fewer than 11 of fewer than 11."


def test_words_go_with_a_column_hidden_in_all_rows():
    table = pd.DataFrame({
        "group": ["a", "b", "c"], "n_diagnosed": [400, 300, 4], "sure_share": 0.0,
        "effective_cases": [15.2, 60.0, 2.5], "mixing": [0.1, 0.5, 0.9],
    })  # fmt: skip
    effect = Message("Least in a: {n} of {all}.", n=Count(15, "effective case"),
                     all=Count(400, "diagnosed visit"))  # fmt: skip
    seen = shown(variable(groups=SMALL, checks=[check("overlap", table, effect)])).checks[0]
    assert seen.table["effective_cases"].isna().all()
    assert str(seen.effect) == (
        "Least in a: a hidden number of effective cases of 400 diagnosed visits."
    )


def test_words_about_ratios_only_are_kept():
    table = pd.DataFrame({
        "group": ["a", "c"], "versus": "complement", "purple": 1.4, "debiased": 1.5, "ci_low": 1.2,
        "ci_high": 1.9, "std_error": 0.1, "z": 0.7, "p_value": 0.5,
    })  # fmt: skip
    effect = Message("Furthest apart for c: {a} and {b}.", a=Number(1.4, ".2f"), b=Number(1.5))
    found = check("agreement", table, effect, statistic=0.7, p_value=0.5)
    seen = shown(variable(groups=SMALL, checks=[found])).checks[0]
    assert str(seen.effect) == "Furthest apart for c: 1.40 and 1.5."
    assert np.isnan(seen.statistic)
    assert np.isnan(seen.p_value)
    assert seen.table.set_index("group").loc["c", ["std_error", "z", "p_value"]].isna().all()


def test_check_that_speaks_in_plain_text_is_not_heard():
    """It fails closed: a count that was not declared cannot be printed."""
    table = pd.DataFrame({"group": ["a"], "versus": "b", "where": "all", "drift": 1.2})
    found = check("constant_ratio", table, "3 of 40 patients are diagnosed")
    assert str(shown(variable(checks=[found])).checks[0].effect) == NOT_SHOWN


def test_features_of_few_people_keep_only_their_name():
    table = pd.DataFrame({
        "feature": ["S00", "S01", "S02", "S03"], "n": [100, 10, 50, 50],
        "n_diagnosed": [30, 5, 3, 45], "predictive_value": [0.3, 0.5, 0.06, 0.9],
        "reach": 0.1, "suspicious": [False, False, False, True],
    })  # fmt: skip
    cells = (("n", "S03"), ("n_diagnosed", "S03"))
    effect = Message("the highest is {share} (S03)", share=Number(0.9, ".0%", cells))
    seen = shown(variable(checks=[check("leakage", table, effect)])).checks[0]
    assert seen.table["n"].isna().tolist() == [False, True, True, True]
    assert seen.table["predictive_value"].isna().tolist() == [False, True, True, True]
    assert seen.table["suspicious"].tolist() == [False, False, False, True]
    assert str(seen.effect) == "the highest is (hidden) (S03)"


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
        "n": [7, 90, 100, 101, 102], "n_diagnosed": [0, 40, 50, 50, 50], "drawn": False,
    })  # fmt: skip
    groups = FIFTHS | {"a": (400, 190)}
    seen = shown(variable(groups=groups, checks=[check("calibration", table)])).checks[0].table
    for column in ("n", "recorded"):
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


@pytest.mark.parametrize("versus", ["complement", "b"])
def test_tipping_points_do_not_give_the_recorded_ratio_away(versus):
    """With the estimate, r / estimate is the recorded ratio, and so a hidden group's count."""
    head = {"group": ["a"], "versus": versus}
    bands = pd.DataFrame(head | {"assumption": "as estimated", "size": np.nan, "estimate_low": 1.5,
                                 "estimate_high": 1.5, "ci_low": 1.2, "ci_high": 1.9,
                                 "recorded_right": 0.73})  # fmt: skip
    blocks = pd.DataFrame(head | {"block": "injuries", "features": 3, "movement": 1.2,
                                  "without": 1.25, "tip": 1.7})  # fmt: skip
    made = [check("sensitivity", bands, statistic=0.73), check("benchmarks", blocks, statistic=1.7)]
    for found, column in zip(made, ("recorded_right", "tip"), strict=True):
        seen = shown(variable(groups=SMALL, checks=[found])).checks[0]
        assert seen.table[column].isna().all()
        assert np.isnan(seen.statistic)
        assert (
            seen.table.drop(columns=column)
            .notna()
            .drop(columns="size", errors="ignore")
            .all(axis=None)
        )
        assert shown(variable(checks=[found])).checks[0].statistic == found.statistic


def test_check_without_counts_is_left_alone():
    table = pd.DataFrame({"group": ["a", "c"], "versus": "b", "where": "all", "drift": 1.2,
                          "ci_low": 1.0, "ci_high": 1.4})  # fmt: skip
    effect = Message("The diagnosis rate of c changes by {drift}.", drift=Number(1.2, ".2f"))
    found = check("constant_ratio", table, effect)
    seen = shown(variable(groups=SMALL, checks=[found])).checks[0]
    assert str(seen.effect) == str(effect)
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


# -- order ---------------------------------------------------------------------------------


def test_hidden_features_come_last_by_name_without_weight():
    """Rows sorted by hidden counts gave 9 of 15 of them away."""
    table = pd.DataFrame({
        "feature": ["z", "m", "b", "a"], "n": [60, 500, 20, 400], "n_diagnosed": [9, 60, 3, 20],
        "predictive_value": [0.15, 0.12, 0.15, 0.05], "ci_low": [0.08, 0.07, 0.05, 0.03],
        "ci_high": 0.5, "reach": 0.1, "suspicious": False,
    })  # fmt: skip
    symptoms = pd.DataFrame({"feature": ["z", "m", "a"], "weight": [3.0, 2.0, 1.0],
                             "visits": [7, 500, 400]})  # fmt: skip
    seen = shown(variable(checks=[check("leakage", table)], symptoms=symptoms))
    assert seen.checks[0].table["feature"].tolist() == ["m", "a", "b", "z"]
    assert seen.symptoms["feature"].tolist() == ["m", "a", "z"]
    assert seen.symptoms["weight"].isna().tolist() == [False, False, True]


# -- words ---------------------------------------------------------------------------------


def test_warnings_and_reasons_lose_their_small_counts():
    found = variable(left_out={"d": Message("only {n}", n=Count(3, "visit"))})
    said = (Message("only {n}", n=Count(4, "patient")), "3 of 40 patients are diagnosed",
            "diagnosed patients: 3")  # fmt: skip
    report = study(found, warnings=said)
    assert list(report.warnings) == ["only fewer than 11 patients", NOT_SHOWN]
    assert str(report.variables[0].left_out["d"]) == "only fewer than 11 visits"


def test_counts_that_cover_others_are_hidden_in_words_too():
    """The next smallest group is hidden with the small one: a warning must not print it."""
    said = tuple(
        Message("{group} has {n}", group="b", n=Count(300, "diagnosed patient", cells))
        for cells in ((("n_diagnosed", "b"),), ())
    )
    report = study(variable(groups=SMALL), warnings=said)
    assert [str(text) for text in report.warnings] == [
        "b has a hidden number of diagnosed patients"
    ]


# -- rounding ------------------------------------------------------------------------------


def test_rounded_intervals_hold_their_rounded_middle():
    """The share of a feature fell outside its interval, which could then not be drawn."""
    leakage = check(
        "leakage",
        pd.DataFrame({
            "feature": ["x"], "n": [48], "n_diagnosed": [12], "predictive_value": [0.25],
            "ci_low": [0.15], "ci_high": [0.39], "reach": [0.02], "suspicious": [False],
        }),
    )  # fmt: skip
    (seen,) = shown(variable(checks=[leakage]), rule=Rule(threshold=7, round_to=5)).checks
    row = seen.table.iloc[0]
    assert row["ci_low"] <= row["predictive_value"] <= row["ci_high"]
    plot_check(seen)


def test_a_row_of_all_groups_is_rounded_by_the_cases_of_all():
    """It has no count of its own, which stopped every study that rounds."""
    table = pd.DataFrame({
        "group": ["all groups", "c"], "auc": 0.7654, "ci_low": 0.7, "ci_high": 0.8, "lift": 3.21,
        "verdict": "no concern",
    })  # fmt: skip
    found = variable(checks=[check("informativeness", table)])  # 740 cases, 40 of them in c
    (seen,) = shown(found, rule=Rule(threshold=7, round_to=5)).checks
    assert seen.table["auc"].tolist() == [0.77, 0.8]


def test_a_check_says_no_more_digits_than_its_table():
    """checks.csv and the sentence had 0.7654, and the table 0.8."""
    table = pd.DataFrame({
        "group": ["all groups", "c"], "auc": [0.7123, 0.7654], "ci_low": 0.7, "ci_high": 0.7923,
        "lift": 3.21, "verdict": "no concern",
    })  # fmt: skip
    words = Message("{auc} in c, {other} elsewhere; the margin is {margin}", margin=Number(1.5),
                    auc=Number(0.7654, ".4f"), other=Number(0.654321, ".4f"))  # fmt: skip
    full = replace(check("informativeness", table), statistic=0.7654, p_value=0.012345,
                   interval=(0.7, 0.7923), effect=words)  # fmt: skip
    (seen,) = shown(variable(checks=[full]), rule=Rule(threshold=7, round_to=5)).checks
    assert (seen.statistic, seen.p_value, seen.interval) == (0.8, 0.01, (0.7, 0.79))
    assert str(seen.effect) == "0.8000 in c, 0.7000 elsewhere; the margin is 1.5"
    (exact,) = shown(variable(checks=[full]), rule=Rule(threshold=7)).checks
    assert (exact.statistic, exact.interval) == (0.7654, (0.7, 0.7923))


def test_rounded_counts_are_not_given_back_by_statistics():
    frame = shown(variable(), rule=Rule(threshold=7, round_to=5)).estimates["DebiasedPURPLE"]
    assert frame["n_diagnosed"].tolist() == [400, 300, 40]
    found = variable(groups={"a": (5003, 402), "b": (3001, 299), "c": (902, 38)})
    seen = shown(found, rule=Rule(round_to=5))
    assert seen.groups["n"].tolist() == [5005, 3000, 900]
    assert seen.groups["n_diagnosed"].tolist() == [400, 300, 40]
    assert (seen.attrition["visits"].dropna() % 5 == 0).all()
    ratio = seen.estimates["DebiasedPURPLE"]["observed_ratio"].tolist()
    assert ratio == [1.1, 1.1, 1.0]
