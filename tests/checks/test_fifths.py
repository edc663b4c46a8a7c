"""Fifths of each group by predicted risk."""

import numpy as np
import pandas as pd
import pytest

from relprev import as_cohort
from relprev.checks.fifths import logit_range, rates_by_fifth
from relprev.checks.held_out import N_SPLITS, HeldOut
from relprev.rows import Rows
from relprev.rows.memory import InMemory


def held_out(p, s, g, pieces=1, weight=None):
    """Rows with predictions, dealt to the splits in turn, in one part or several."""
    n = len(p)
    weight = np.ones(n) if weight is None else weight
    columns = (p, s.astype(np.uint8), g, weight, (np.arange(n) % N_SPLITS).astype(np.uint8))
    cut = [np.array_split(column, pieces) for column in columns]
    parts = [HeldOut(*piece) for piece in zip(*cut, strict=True)]
    return Rows(InMemory(parts), tuple(len(part.p) for part in parts))


def made_up(n=5_000, seed=0, **more):
    rng = np.random.default_rng(seed)
    g = (rng.random(n) < 0.5).astype(np.uint8)
    p = rng.uniform(0.05, 0.6, n)
    s = rng.random(n) < p
    names = np.array(["a", "b"])[g]
    return p, s, g, as_cohort(np.ones((n, 1)), s.astype(int), groups=names, **more)


def test_fifths_hold_a_fifth_of_the_rows_and_their_rates():
    p, s, g, cohort = made_up()
    table = rates_by_fifth(held_out(p, s, g), cohort)
    for k, name in enumerate("ab"):
        own = table[table["group"] == name]
        assert own["fifth"].tolist() == [1, 2, 3, 4, 5]
        assert own["n"].sum() == (g == k).sum()
        assert own["n_diagnosed"].sum() == s[g == k].sum()
        assert np.abs(own["n"] / (g == k).sum() - 0.2).max() < 0.01
        cut = np.array_split(np.sort(p[g == k]), 5)
        assert own["predicted"].to_numpy() == pytest.approx([one.mean() for one in cut], rel=0.02)


def test_rows_may_be_kept_in_parts():
    p, s, g, cohort = made_up(clusters=np.arange(5_000) % 700)
    one, three = (rates_by_fifth(held_out(p, s, g, pieces), cohort) for pieces in (1, 3))
    pd.testing.assert_frame_equal(one, three, rtol=1e-12)


def test_equal_predictions_stay_together():
    _, s, g, cohort = made_up()
    p = np.where(np.arange(5_000) % 10 < 7, 0.2, 0.4)
    table = rates_by_fifth(held_out(p, s, g), cohort)
    assert table.groupby("group").size().tolist() == [2, 2]
    assert table["predicted"].tolist() == pytest.approx([0.2, 0.4, 0.2, 0.4])


def test_a_patient_counts_once_in_a_fifth_and_in_every_fifth_where_it_has_rows():
    p, s, g, cohort = made_up(clusters=np.arange(5_000) // 2500)
    table = rates_by_fifth(held_out(p, s, g), cohort)
    assert (table[["patients", "patients_diagnosed"]] == 2).all(axis=None)


def test_groups_with_few_rows_in_a_split_are_not_drawn():
    p, s, _, cohort = made_up(10_000)
    g = (np.arange(10_000) >= 7_000).astype(np.uint8)
    drawn = rates_by_fifth(held_out(p, s, g), cohort).groupby("group")["drawn"].first()
    assert drawn.to_dict() == {"a": True, "b": True}
    g = (np.arange(10_000) >= 7_600).astype(np.uint8)
    drawn = rates_by_fifth(held_out(p, s, g), cohort).groupby("group")["drawn"].first()
    assert drawn.to_dict() == {"a": True, "b": False}


def test_range_is_that_of_every_group_and_split():
    p, s, g, _ = made_up()
    low, high = logit_range(held_out(p, s, g, 3), 2)
    z, split = np.log(p / (1 - p)), np.arange(5_000) % N_SPLITS
    for k in range(2):
        for number in range(N_SPLITS):
            own = z[(g == k) & (split == number)]
            assert (low[k, number], high[k, number]) == pytest.approx((own.min(), own.max()))
