"""What every check returns."""

import json

import numpy as np
import pandas as pd
import pytest

from relprev.checks import CheckResult, Verdict
from relprev.checks.check import decisive, margin_words
from relprev.messages import Count, Message

NAN = float("nan")


def result(**changes):
    given = {
        "kind": "overlap", "name": "Overlap of the groups", "verdict": Verdict.CONCERN,
        "effect": Message("{n} in {group}", n=Count(np.int64(3), "visit"), group="a {b}"),
        "table": pd.DataFrame({"group": ["a"], "mixing": [0.4]}),
    }  # fmt: skip
    return CheckResult(**given | changes)


def test_values_survive_json_where_they_are_missing_too():
    found = result(p_value=np.float64(0.25), interval=(NAN, 2.0))
    text = json.dumps(found.plain(), allow_nan=False)
    back = CheckResult.from_plain(json.loads(text), found.table)
    assert back.effect == found.effect
    assert (back.kind, back.name, back.verdict) == (found.kind, found.name, found.verdict)
    assert isinstance(back.verdict, Verdict)
    np.testing.assert_array_equal(
        [back.statistic, back.p_value, *back.interval], [NAN, 0.25, NAN, 2.0]
    )


def test_words_hold_verdict_effect_and_p_value():
    assert str(result()) == "Overlap of the groups: concern. 3 visits in a {b}"
    assert "concern (p = 0.25)." in str(result(p_value=0.25))


def test_plot_draws_on_given_axes_and_says_the_verdict():
    from matplotlib import pyplot as plt

    ax = plt.subplots()[1]
    assert result().plot(ax) is ax
    assert ax.get_title() == "Overlap of the groups: concern"
    assert [bar.get_width() for bar in ax.patches] == [0.4]


def test_frame_is_a_copy():
    found = result()
    copied = found.to_frame()
    copied.loc[0, "mixing"] = 0.0
    assert found.table["mixing"][0] == 0.4


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.9, 1.2, Verdict.NO_CONCERN),
        (1 / 1.5, 1.5, Verdict.NO_CONCERN),
        (1.1, 1.4, Verdict.NO_CONCERN),  # detectable but small
        (0.6, 0.8, Verdict.CONCERN),
        (1.01, 9.0, Verdict.CONCERN),
        (0.9, 1.6, Verdict.CANNOT_TELL),
        (4e-7, 96_647.0, Verdict.CANNOT_TELL),  # was "no concern"
        (NAN, NAN, Verdict.CANNOT_TELL),
    ],
)
def test_verdicts_are_those_of_equivalence(low, high, verdict):
    assert Verdict.of_interval(low, high) is verdict


def test_several_comparisons_say_whether_something_was_found():
    assert Verdict.of_interval(1.01, 9.0, found=False) is Verdict.CANNOT_TELL
    assert Verdict.of_interval(0.9, 1.2, found=True) is Verdict.NO_CONCERN


def test_a_wider_margin_excludes_less():
    assert Verdict.of_interval(0.6, 1.8, 2.0) is Verdict.NO_CONCERN
    assert Verdict.of_interval(0.9, 1.2, 1.1) is Verdict.CANNOT_TELL


def test_what_cannot_be_1_is_judged_by_its_limit():
    ends = [(1.0, 1.4), (1.2, 1.8), (1.6, 1.8)]
    expected = [Verdict.NO_CONCERN, Verdict.CANNOT_TELL, Verdict.CONCERN]
    assert [Verdict.of_excess(*one) for one in ends] == expected


def test_the_worst_of_several_verdicts_counts():
    fine, unsure, bad = Verdict.NO_CONCERN, Verdict.CANNOT_TELL, Verdict.CONCERN
    assert Verdict.worst([fine, unsure, bad]) is bad
    assert Verdict.worst([fine, unsure]) is unsure
    assert Verdict.worst([fine, fine]) is fine
    assert Verdict.worst([]) is unsure
    assert decisive([fine, bad, bad], [9.0, 1.0, -2.0]) == (bad, 2)


def test_words_say_what_was_not_excluded_and_what_is_too_small():
    said = [
        " ".join(map(str, margin_words(Verdict.of_interval(*ends), *ends, 1.5)))
        for ends in ((0.9, 1.2), (1.1, 1.2), (0.5, 2.0), (1.2, 3.0), (NAN, NAN))
    ]
    assert "too small to matter" in said[1]
    assert "neither found nor excluded" in said[2]
    assert said[0] == said[3] == said[4] == ""


def test_a_reason_to_withhold_survives_json():
    found = result(withhold=Message("nothing to go on"))
    back = CheckResult.from_plain(json.loads(json.dumps(found.plain())), found.table)
    assert back.withhold == found.withhold
    assert CheckResult.from_plain(result().plain(), found.table).withhold is None


def test_verdicts_read_as_their_words():
    assert [f"{verdict}" for verdict in Verdict] == ["concern", "no concern", "cannot tell"]
    assert Verdict.CONCERN == "concern"
