"""A group left out for too few diagnosed patients has none or one: nobody may find out which."""

import pandas as pd
import pytest

from relprev.cohort.grouped import FEW_DIAGNOSED
from relprev.disclosure import Rule
from relprev.report import StudyFindings, VariableFindings, disclosed


def variable(name, counts, total, left_out=(), column=""):
    table = pd.DataFrame([(group, "complement", 1.0, n, d) for group, (n, d) in counts.items()],
                         columns=["group", "versus", "estimate", "n", "n_diagnosed"])  # fmt: skip
    steps = pd.DataFrame({"step": ["files", f"{name} kept"], "visits": [1000, total],
                          "patients": pd.array([pd.NA, pd.NA], dtype="Int64")})  # fmt: skip
    reasons = dict.fromkeys(left_out, FEW_DIAGNOSED)
    return VariableFindings(name, {"debiased": table}, steps, (), pd.DataFrame(), reasons,
                            column=column)  # fmt: skip


def hidden(own, inside=()):
    found = StudyFindings("", "", "", "", own, {}, inside=inside)
    report = disclosed(found, Rule())
    return [one.counts["n_diagnosed"].isna().tolist() for one in report.variables]


@pytest.mark.parametrize("own", [0, 1])
def test_totals_of_two_variables_do_not_tell_the_diagnosed_of_a_group_left_out(own):
    race = variable("race", {"A": (500, 60), "B": (400, 40)}, 900, ["T"])
    sex = variable("sex", {"F": (600, 55), "M": (400, 45 + own)}, 1000)
    by_race, by_sex = hidden((race, sex))
    assert any(by_race) or any(by_sex)


@pytest.mark.parametrize("own", [0, 1])
def test_a_group_around_others_does_not_tell_the_diagnosed_of_one_left_out(own):
    detailed = variable("detailed", {"A": (500, 60), "B": (240, 40), "C": (160, 30)}, 900, ["T"])
    merged = variable("merged", {"A": (500, 60), "other": (500, 70 + own)}, 1000)
    inside = [("detailed", name, "merged", "other") for name in "BC"]
    by_detail, by_merged = hidden((detailed, merged), tuple(inside))
    assert any(by_detail[1:]) or by_merged[1]


def test_counts_stay_where_nothing_was_left_out():
    race = variable("race", {"A": (500, 60), "B": (500, 40)}, 1000)
    sex = variable("sex", {"F": (600, 55), "M": (400, 45)}, 1000)
    assert hidden((race, sex)) == [[False, False], [False, False]]
