"""Counts of several conditions, published together, tell no small one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from relprev.disclosure import Cells, Rule
from relprev.report.disclosing.together import hidden_together

GROUPS = [str(k) for k in range(5)]
FEWEST = 5  # values that a small count must still have


def system(n, diagnosed):
    """Groups of one variable, as a study has them."""
    cells = Cells()
    whole = [("visits", str(sum(n))), ("diagnosed", str(sum(n)), str(sum(diagnosed)))]
    for total, column, counts in zip(whole, ("n", "n_diagnosed"), (n, diagnosed), strict=True):
        cells.add(total, sum(counts), rank=(3,))
        own = [cells.add(("0", column, g), c) for g, c in zip(GROUPS, counts, strict=True)]
        cells.sums(total, own)
    return cells


def test_one_condition_is_hidden_as_it_is_alone():
    cells = system([500, 400, 300, 200, 100], [50, 40, 30, 20, 4])
    assert hidden_together([cells], Rule()) == [cells.hidden(Rule())]


def test_what_no_condition_changes_is_hidden_in_all_or_none():
    n = [500, 400, 300, 200, 6]
    both = [system(n, [50, 40, 30, 20, 3]), system(n, [90, 80, 70, 60, 2])]
    one, two = hidden_together(both, Rule())
    of_all = {cell for cell in one if cell[1] == "n"}
    assert of_all == {cell for cell in two if cell[1] == "n"}
    assert len(of_all) >= 2


def test_a_group_that_left_one_cohort_is_not_told_by_the_totals():
    """Of totals that are apart by four, one is hidden, in whichever condition."""
    whole, without = system([500, 400, 300, 200, 14], [50, 40, 30, 20, 12]), Cells()
    without.add(("visits", "1410"), 1410)
    hidden = hidden_together([whole, without], Rule())
    assert ("visits", "1414") in hidden[0] or ("visits", "1410") in hidden[1]


@pytest.mark.parametrize("seed", range(12))
def test_parts_of_a_condition_cannot_be_worked_out(seed):
    """An adversary who knows that one condition is a part of the other, by linear programs."""
    rng = np.random.default_rng(seed)
    n = rng.integers(300, 900, 5).tolist()
    narrow = rng.integers(2, 60, 5)
    wide = narrow + rng.integers(0, 9, 5)
    both = [system(n, narrow.tolist()), system(n, wide.tolist())]
    hidden = hidden_together(both, Rule(), [(0, 1)])
    A, b = [], []
    for k, counts in enumerate((narrow, wide)):
        shown = {g for g in GROUPS if ("0", "n_diagnosed", g) not in hidden[k]}
        row = np.zeros((6, 10))
        for g in range(5):
            row[g, 5 * k + g] = str(g) in shown
        row[5, 5 * k : 5 * k + 5] = ("diagnosed", str(sum(n)), str(counts.sum())) not in hidden[k]
        A += list(row)
        b += [counts[g] if str(g) in shown else 0 for g in range(5)]
        b += [counts.sum() if row[5].any() else 0]
    part = np.hstack([np.eye(5), -np.eye(5)])  # narrow <= wide
    for g in range(5):
        for small, direction in (
            (narrow[g], np.eye(10)[g]), (wide[g] - narrow[g], -part[g]),
        ):  # fmt: skip
            if not 1 <= small <= 10:
                continue
            ends = [
                sign * linprog(sign * direction, part, np.zeros(5), A, b, (0, None)).fun
                for sign in (1, -1)
            ]
            assert ends[1] - ends[0] >= FEWEST - 1e-6, (seed, g, small, ends)


def test_conditions_without_a_common_code_may_be_apart_by_few():
    n = [500, 400, 300, 200, 100]
    both = [system(n, [50, 40, 30, 20, 14]), system(n, [52, 41, 33, 25, 15])]
    assert hidden_together(both, Rule()) == [set(), set()]
    assert any(hidden_together(both, Rule(), [(0, 1)]))
