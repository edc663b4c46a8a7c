"""What every check returns."""

import json

import numpy as np
import pandas as pd
import pytest

from relprev.checks import CheckResult, Verdict
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
    ("p_value", "verdict"),
    [(0.049, Verdict.CONCERN), (0.051, Verdict.NO_CONCERN), (NAN, Verdict.CANNOT_TELL)],
)
def test_a_test_that_could_not_be_made_cannot_tell(p_value, verdict):
    assert Verdict.of_test(p_value, level=0.95) is verdict


def test_verdicts_read_as_their_words():
    assert [f"{verdict}" for verdict in Verdict] == ["concern", "no concern", "cannot tell"]
    assert Verdict.CONCERN == "concern"
