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


def test_small_counts_within_strata_do_not_cost_those_of_whole_groups():
    """Asthma in NHAMCS by race and by race and sex, within three bands of age.

    Cover chosen for one sum was taken to be at most what it is, because a smaller count was shown
    in another sum that it stands in: all counts of diagnosed were hidden in turn.
    """
    bands = {"BF": (119, 37, 9), "BM": (75, 21, 3), "HF": (52, 36, 10), "HM": (32, 15, 6),
             "WF": (155, 61, 38), "WM": (62, 31, 12)}  # fmt: skip
    cells = Cells()
    for group, counts in bands.items():
        for k, n in enumerate(counts):
            cells.add((group, str(k)), n)
        cells.add((group,), sum(counts))
        cells.sums((group,), [(group, str(k)) for k in range(3)])
    for race in "BHW":
        sexes = [race + sex for sex in "FM"]
        for k in (0, 1, 2):
            cells.add((race, str(k)), sum(bands[group][k] for group in sexes), rank=(2,))
            cells.sums((race, str(k)), [(group, str(k)) for group in sexes])
        cells.add((race,), sum(sum(bands[group]) for group in sexes), rank=(2,))
        cells.sums((race,), [(group,) for group in sexes])
        cells.sums((race,), [(race, str(k)) for k in range(3)])
    gone = cells.hidden(Rule())
    assert {("BF", "2"), ("BM", "2"), ("HF", "2"), ("HM", "2")} < gone
    assert all(len(cell) == 2 and len(cell[0]) == 2 for cell in gone)


def test_cover_that_another_table_shows_is_shown_in_both():
    """A group hidden here and printed there covers nothing; what covers is another one."""
    cells = table({"a": 400, "b": 100, "c": 4})
    cells.add(("b in Table 1",), 100, rank=(3,))
    cells.sums(("b in Table 1",), [("b",)])
    assert cells.hidden(Rule()) == {("a",), ("c",)}


def test_visits_of_few_people_are_small():
    cells = table({"a": 400, "b": 300})
    cells.add(("c",), 70, people=3)
    assert ("c",) in cells.hidden(Rule())


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
