import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relprev.disclosure import NOT_SHOWN, Rule, shown
from relprev.disclosure.rendering import as_message
from relprev.messages import Count, Message, Number

CELL = ("n_diagnosed", "Group C")


@pytest.mark.parametrize("text", [
    "3 of 40 patients are diagnosed", "diagnosed patients: 3", "a group has only 3 patients",
    "4 folds are used instead of 5",
])  # fmt: skip
def test_plain_text_is_never_shown(text):
    """Rewording a warning used to open a leak."""
    assert shown(text, Rule()) == NOT_SHOWN
    assert shown(text, Rule(hide=False)) == text


@given(st.integers(1, 10))
def test_all_small_counts_have_one_wording(n):
    said = Message("{group} has {n}", group="C", n=Count(n, "diagnosed patient"))
    assert shown(said, Rule()) == "C has fewer than 11 diagnosed patients"


@given(st.lists(st.integers(1, 10), min_size=1, max_size=5))
def test_no_small_count_is_rendered_however_messages_are_nested(counts):
    inner = [Message("x {n} y", n=Count(n)) for n in counts]
    text = shown(Message("{all}; {first}", all=inner, first=Count(counts[0], "visit")), Rule())
    assert not re.search(r"\b([1-9]|10)\b", text)


def test_cover_is_hidden_by_name_or_by_value():
    named = Message("{n}", n=Count(57, "visit", (CELL,)))
    bare = Message("{n}, {share}", n=Count(57, "visit"), share=Number(0.955, ".0%"))
    assert shown(named, Rule(), {CELL}) == "a hidden number of visits"
    assert shown(named, Rule()) == "57 visits"
    assert shown(bare, Rule(), values={57, 0.955}) == "a hidden number of visits, (hidden)"


def test_declared_cells_and_settings_are_not_judged_by_value():
    """Another group of as many people may be hidden; a level of 95% is no share of people."""
    said = Message("{n}, {level}", n=Count(57, "visit", (CELL,)), level=Number(0.95, ".0%"))
    assert shown(said, Rule(), values={57, 0.95}) == "57 visits, 95%"


def test_statistic_is_hidden_with_its_counts():
    said = Message("ratio {r}", r=Number(1.25, ".2f", (CELL,)))
    assert shown(said, Rule()) == "ratio 1.25"
    assert shown(said, Rule(), {CELL}) == "ratio (hidden)"


def test_counts_are_rounded_and_zero_is_shown():
    said = Message("{n}; {none}", n=Count(1203, "visit"), none=Count(0, "case"))
    assert shown(said, Rule(round_to=5)) == "1,205 visits; 0 cases"


def test_shown_text_is_a_message_again():
    assert str(as_message("{a} 'b'")) == "{a} 'b'"
    assert as_message("x").counts() == []
