import pandas as pd

from relprev.disclosure import Rule
from relprev.estimates import RelativePrevalence, withheld
from relprev.report import disclosed_estimates, render_text


def test_text_table_says_which_values_are_hidden(frame):
    text = render_text(disclosed_estimates(frame, frame, Rule()), "Title", rule=Rule())
    assert "everyone else" in text
    assert "hidden" in text
    assert "–" not in text
    assert " 5 " not in text


def test_text_table_says_why_there_is_no_estimate(frame):
    frame = frame.assign(estimate=float("nan"), withheld=withheld({"few diagnosed": ["Ward C"]}))
    text = render_text(frame, "Title", rule=Rule())
    assert "none" in text
    assert " ".join(text.replace("│", " ").split()).count("too few patients are") == len(frame)


def test_interval_is_shown_when_there_is_one(frame):
    frame.loc[0, ["ci_low", "ci_high"]] = [1.2, 1.9]
    assert "1.50 (1.20 to 1.90)" in render_text(frame, "Title")


def test_markup_in_group_names_is_printed_as_it_is(frame):
    frame.loc[0, "group"] = "[bold]x[/bold]"
    assert "[bold]x[/bold]" in render_text(frame, "Title")


def test_result_in_a_notebook_is_escaped_and_readable(frame):
    frame = frame.assign(group="<b>", ci_low=1.0, ci_high=2.0, estimate=1.5)
    html = RelativePrevalence(tuple(frame.to_dict("records")), "x")._repr_html_()
    assert "&lt;b&gt;" in html
    assert "1.50 (1.00 to 2.00)" in html
    assert "Corrected ratio" in html
    assert "everyone else" in html


def test_a_note_leaves_room_for_the_groups():
    note = "the symptoms do not predict the condition, so these data cannot tell"
    frame = pd.DataFrame({"group": ["Black", "White"], "versus": "complement", "estimate": 1.0,
                          "ci_low": 0.99, "ci_high": 1.01, "observed_ratio": 1.9,
                          "diagnosis_ratio": 1.9, "n": 5_000, "n_diagnosed": 400,
                          "note": note})  # fmt: skip
    lines = render_text(frame, "By race")
    for words in ("Black", "everyone", "1.00 (0.99 to 1.01)", "Recorded ratio", "cannot tell"):
        assert words in lines
