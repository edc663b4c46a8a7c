"""Two variables of one study do not give away what each of them hides."""

from dataclasses import replace

import pandas as pd
import pytest

from relprev.messages import Count, Message
from tests.report.disclosing.test_reports import check, shown, variable

RACE = {"a": (3000, 300), "b": (2000, 200), "c": (966, 97)}


MADE = Message(
    "Made on {used} out of {all}.", used=Count(40, "visit"), all=Count(5973, "visit", (("n",),))
)


def total(found, column):
    """What the groups add up to, if all are shown."""
    return found.groups[column].sum(skipna=False)


def flow(name, last, patients=None):
    people = last if patients is None else patients
    return [("files", 9000, 9000), (f"{name} known", last, people)]


def race(**more):
    return variable("race", RACE, flow("race", 5966), **more)


def test_total_that_differs_little_from_an_earlier_one_is_hidden():
    """5,973 insured less 5,966 of known race are 7 people of a group that was left out."""
    ins = variable("ins", {"x": (4000, 450), "y": (1973, 150)}, flow("ins", 5973))
    first, second = shown(race(), ins)
    assert first.attrition["visits"].notna().all()
    assert first.groups.notna().all(axis=None)
    assert second.attrition["visits"].isna().tolist() == [False, True]
    assert pd.isna(total(second, "n"))
    assert pd.isna(total(second, "n_diagnosed"))
    frame = second.estimates["DebiasedPURPLE"]
    assert frame["observed_ratio"].isna().all()
    assert frame[["estimate", "ci_low", "ci_high"]].notna().all(axis=None)


def test_total_of_few_patients_more_is_hidden():
    ins = variable("ins", {"x": (4000, 450), "y": (2066, 247)}, flow("ins", 6066, 5970))
    _, second = shown(race(), ins)
    assert second.attrition["visits"].isna().tolist() == [False, True]
    assert pd.isna(total(second, "n"))
    assert total(second, "n_diagnosed") == 697


def test_equal_and_distant_totals_are_shown():
    for groups in ({"x": (4000, 450), "y": (1966, 147)}, {"x": (4000, 450), "y": (900, 50)}):
        last = sum(n for n, _ in groups.values())
        _, second = shown(race(), variable("ins", groups, flow("ins", last)))
        assert second.groups.notna().all(axis=None)
        assert second.attrition.notna().all(axis=None)
        assert second.estimates["DebiasedPURPLE"].notna().all(axis=None)


def test_level_a_few_people_from_another_variables_total_is_hidden():
    steps = [("files", 9000, 9000), ("ins known", 5970, 5970), ("ins large", 4900, 4900)]
    ins = variable("ins", {"x": (4000, 450), "y": (900, 50)}, steps)
    _, second = shown(race(), ins)
    assert second.attrition["visits"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize("column", ["race", ""])
def test_recodes_of_one_column_do_not_give_a_merged_group_away(column):
    merged = {"a": (3007, 304), "b": (1993, 196), "c": (966, 97)}
    again = variable("again", merged, flow("again", 5966), column=column)
    _, second = shown(race(column="race"), again)
    assert second.groups["n"].isna().all() == bool(column)
    assert second.groups["n_diagnosed"].isna().all() == bool(column)


def test_features_whose_counts_differ_little_are_hidden_in_the_later_variable():
    def with_features(found, visits, diagnosed):
        symptoms = pd.DataFrame({"feature": ["S00", "S01"], "weight": 1.0, "visits": visits})
        table = pd.DataFrame(
            {"feature": ["S00", "S01"], "n": visits, "n_diagnosed": diagnosed, "reach": 0.1}
        )
        return replace(found, symptoms=symptoms, checks=(check("leakage", table),))

    ins = variable("ins", {"x": (4000, 450), "y": (900, 50)}, flow("ins", 4900))
    first, second = shown(
        with_features(race(), [500, 400], [100, 100]), with_features(ins, [450, 397], [80, 80])
    )
    assert first.symptoms["visits"].notna().all()
    assert second.symptoms["visits"].isna().tolist() == [False, True]
    assert second.checks[0].table["n"].isna().tolist() == [False, True]


def test_share_of_all_diagnosed_goes_with_their_total():
    table = pd.DataFrame(
        {"feature": ["S00"], "n": [500], "n_diagnosed": [100], "predictive_value": 0.2,
         "reach": 100 / 600}
    )  # fmt: skip
    ins = variable(
        "ins", {"x": (4000, 450), "y": (900, 150)}, flow("ins", 4900),
        checks=[check("leakage", table)],
    )  # fmt: skip
    seen = shown(race(), ins)[1].checks[0]
    assert seen.table["reach"].isna().all()
    assert seen.table["n"].notna().all()
    near = variable("ins", {"x": (4000, 450), "y": (1973, 250)}, flow("ins", 5973),
                    checks=[check("leakage", table, MADE)])  # fmt: skip
    effect = shown(race(), near)[1].checks[0].effect
    assert str(effect) == "Made on 40 visits out of a hidden number of visits."


# -- attacks that once succeeded -----------------------------------------------------------


def known(found, *groups):
    """Whether the counts of all these groups are shown."""
    return found.groups.set_index("group").loc[list(groups), "n"].notna().all()


def test_county_beside_its_state():
    """203 of the state less 200 of its only county that is large enough: 3 people."""
    state = variable("state", {"north": (203, 40), "south": (700, 80)}, flow("state", 903))
    county = variable("county", {"Kent": (200, 38), "Bath": (700, 80)}, flow("county", 900))
    inside = (("county", "Kent", "state", "north"), ("county", "Bath", "state", "south"))
    first, second = shown(state, county, inside=inside)
    assert not (known(first, "north") and known(second, "Kent"))
    assert pd.isna(total(first, "n")) or pd.isna(total(second, "n"))


def test_recode_beside_its_parts():
    """605 of a merged group less 200 and 400 of its parts: 5 people of one that was left out."""
    parts = variable("parts", {"a": (200, 30), "b": (400, 60), "c": (900, 90)}, flow("x", 1500))
    merged = variable("merged", {"ab": (605, 95), "c": (900, 90)}, flow("y", 1505))
    inside = tuple(("parts", g, "merged", w) for g, w in (("a", "ab"), ("b", "ab"), ("c", "c")))
    first, second = shown(parts, merged, inside=inside)
    assert not (known(first, "a", "b") and known(second, "ab"))


def test_reference_bin_of_a_measurement():
    """Bins of age are counted but for one of 6 people: the total less the others."""
    bins = ("age:[0,30)", "age:[30,60)")
    symptoms = pd.DataFrame({"feature": bins, "weight": 1.0, "visits": [5000, 3894]})
    seen = shown(variable(symptoms=symptoms), exclusive=(bins,)).symptoms
    assert seen["visits"].isna().any()
    assert shown(variable(symptoms=symptoms)).symptoms["visits"].notna().all()


def test_few_undiagnosed():
    """60 visits of a group, 57 of them diagnosed."""
    groups = {"a": (5000, 400), "b": (3000, 300), "c": (60, 57)}
    seen = shown(variable(groups=groups)).groups.set_index("group")
    assert pd.isna(seen.loc["c", "n_diagnosed"])


def test_leakage_counts_patients_where_they_are_known():
    table = pd.DataFrame({
        "feature": ["S00", "S01"], "n": [500, 60], "n_diagnosed": [100, 30], "reach": 0.1,
        "patients": [400, 50], "patients_diagnosed": [90, 2], "predictive_value": [0.2, 0.5],
        "ci_low": 0.1, "ci_high": 0.6, "suspicious": False,
    })  # fmt: skip
    seen = shown(variable(checks=[check("leakage", table)])).checks[0].table
    for column in ("n_diagnosed", "patients_diagnosed", "predictive_value", "ci_low", "reach"):
        assert seen[column].isna().tolist() == [False, True], column
