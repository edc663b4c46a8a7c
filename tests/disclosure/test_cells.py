"""What is hidden leaves no small count to be worked out."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relprev.disclosure import Cells, Rule
from relprev.disclosure.suppression import MIN_VALUES

ALL = ("all",)


def table(counts, **more):
    """Groups with a known total."""
    cells = Cells()
    for name, n in counts.items():
        cells.add((name,), n, **more)
    cells.add(ALL, sum(counts.values()), rank=(3,))
    cells.sums(ALL, [(name,) for name in counts])
    return cells


def hidden(counts, rule=None):
    return "".join(sorted(cell[0] for cell in table(counts).hidden(rule or Rule())))


@pytest.mark.parametrize(("counts", "expected"), [
    ({"a": 400, "b": 100, "c": 50}, ""),
    ({"a": 400, "b": 100, "c": 4}, "bc"),  # the next smallest, or the total tells
    ({"a": 400, "b": 90, "c": 6, "d": 5}, "cd"),
    ({"a": 400, "b": 90, "c": 1, "d": 1}, "bcd"),  # two of one person each
    ({"a": 400, "b": 90, "c": 10, "d": 10}, "bcd"),  # a sum of 20 is 10 and 10
    ({"a": 400, "b": 90, "c": 3, "d": 4}, "bcd"),  # the sum of 7 is a count of people too
    ({"a": 400, "b": 50, "c": 0, "d": 5}, "bd"),  # none is shown, and is no cover
    ({"a": 12, "b": 10, "c": 12, "d": 50}, "abc"),  # sum 22, cover at most 12: one would be 10
])  # fmt: skip
def test_cover_for_small_groups(counts, expected):
    assert hidden(counts) == expected


def test_threshold_and_switch_are_the_rules():
    counts = {"a": 400, "b": 100, "c": 8}
    assert hidden(counts, Rule(threshold=7)) == ""
    assert hidden(counts, Rule(hide=False)) == ""


def test_national_totals_are_as_safe_as_small_ones():
    """Linear programs work in floating point; 30 million visits must not blur 3."""
    cells = Cells()
    counts = {"a": 20_000_000, "b": 10_000_000, "c": 40_000}
    diagnosed = {"a": 9_000, "b": 8_000, "c": 3}
    for kind, by_group in (("n", counts), ("d", diagnosed)):
        for name, n in by_group.items():
            cells.add((kind, name), n)
        cells.add((kind,), sum(by_group.values()), rank=(3,))
        cells.sums((kind,), [(kind, name) for name in by_group])
    for name in counts:
        cells.rest(("n", name), [("d", name)], ("u", name))
    cells.add(("level",), 30_040_004)
    cells.apart(("level",), ("n",), Rule())
    assert cells.hidden(Rule()) == {("d", "b"), ("d", "c"), ("level",)}


def test_what_is_secret_could_be_none():
    """With a cover of at most 50 a sum of 51 left it 1 or more: of none or one, exactly one."""
    cells = Cells()
    for name, n in {"a": 50, "b": 50, "d": 700}.items():
        cells.add((name,), n)
    cells.add(("c",), 1, secret=True)
    cells.add(ALL, 801, rank=(3,))
    cells.sums(ALL, [(name,) for name in "abcd"])
    assert cells.hidden(Rule()) == {("a",), ("b",), ("c",)}


def test_what_is_known_to_be_two_or_more_needs_more_cover():
    """Of 1 to 5 five values are left, of 2 to 5 only four."""
    gone = {}
    for least in (1, 2):
        cells = Cells()
        cells.add(("few",), 4, least=least)
        cells.add(("cover",), 12)
        cells.add(("more",), 300)
        cells.add(ALL, 316, rank=(3,))
        cells.sums(ALL, [("few",), ("cover",), ("more",)])
        gone[least] = cells.hidden(Rule())
    assert gone[1] == {("few",), ("cover",)}
    assert gone[2] == {("few",), ("cover",), ("more",)}


def test_few_undiagnosed_are_people_too():
    """60 visits of which 57 are diagnosed: 3 are not."""
    cells = Cells()
    cells.add(("n",), 60)
    cells.add(("d",), 57)
    cells.rest(("n",), [("d",)], ("undiagnosed",))
    assert cells.hidden(Rule()) == {("d",)}


def test_visits_of_few_people_are_small():
    cells = table({"a": 400, "b": 300})
    cells.add(("c",), 70, people=3)
    assert ("c",) in cells.hidden(Rule())


def test_count_entered_twice_keeps_the_fewest_people():
    cells = Cells()
    cells.add(("a",), 70, people=60)
    cells.add(("a",), 70, people=3)
    assert cells.hidden(Rule()) == {("a",)}


def possible(counts, gone, total):
    """Values that each hidden count can have, of all whole numbers that add up, by brute force."""
    names = sorted(gone)
    left = total - sum(n for name, n in counts.items() if name not in gone)
    ranges = [range(1, 11) if 1 <= counts[name] <= 10 else range(11, left + 1) for name in names]
    fits = [values for values in itertools.product(*ranges) if sum(values) == left]
    return {name: {values[k] for values in fits} for k, name in enumerate(names)}


@given(st.lists(st.integers(0, 40), min_size=2, max_size=6))
@settings(deadline=None, max_examples=200)
def test_hidden_counts_have_several_values_left(numbers):
    """Even for a reader who knows which of them are small."""
    counts = dict(zip("abcdef", numbers, strict=False))
    gone = table(counts).hidden(Rule())
    small = {name for name, n in counts.items() if 1 <= n <= 10}
    assert {(name,) for name in small} <= gone
    if ALL in gone or len(gone) > 4:
        return
    names = {cell[0] for cell in gone}
    left = possible(counts, names, sum(counts.values()))
    positive = {name for name, n in counts.items() if n > 0}
    if names != positive:
        assert all(len(left[name]) >= MIN_VALUES for name in small)


def test_a_thousand_groups_take_seconds():
    rng = np.random.default_rng(0)
    n = rng.integers(20, 400, 1000)
    d = rng.binomial(n, 0.05)
    cells = Cells()
    for k in range(len(n)):
        cells.add(("n", str(k)), n[k])
        cells.add(("d", str(k)), d[k])
        cells.rest(("n", str(k)), [("d", str(k))], ("u", str(k)))
    for kind, counts in (("n", n), ("d", d)):
        cells.add((kind,), counts.sum(), rank=(3,))
        cells.sums((kind,), [(kind, str(k)) for k in range(len(n))])
    began = time.perf_counter()
    found = cells.hidden(Rule())
    assert time.perf_counter() - began < 30
    small = {("d", str(k)) for k in np.flatnonzero((d >= 1) & (d <= 10))}
    assert small <= found
    assert len(found) < len(small) + 10
