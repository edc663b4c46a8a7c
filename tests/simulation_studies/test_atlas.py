"""Worlds of 300 conditions: the summary of what was found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from simulations import atlas


def row(replicate: int, **values: float) -> dict[str, object]:
    found = {
        f"{kind}_{what}": 0.0
        for kind in atlas.KINDS
        for what in ("found", "false", "power_1.5", "power_2")
    }
    head = {"scenario": "spread 0.1", "replicate": replicate, "covered": 0.95, "centre": 0.1,
            "spread": 0.1, "effective_cases": 90.0}  # fmt: skip
    return head | found | values


def test_a_world_without_discoveries_has_no_false_ones():
    rows = [row(0, null_found=10, null_false=1, plain_found=80, plain_false=60), row(1)]
    found = atlas.summary(pd.DataFrame(rows)).iloc[0]
    assert found["worlds"] == 2
    assert found["null_fdr"] == pytest.approx(0.05)
    assert (found["null_false"], found["null_found_in_all"]) == (1, 10)
    assert found["plain_fdr"] == pytest.approx(0.375)


def test_thirty_of_the_conditions_differ_by_one_and_a_half_and_two():
    assert sorted(set(atlas.FACTORS)) == [1.5, 2.0]
    assert len(atlas.FACTORS) == 30
    assert [len(factors) for _, factors in atlas.SCENARIOS.values()] == [30, 30, 30, 30, 0]
    assert np.isclose(max(spread for spread, _ in atlas.SCENARIOS.values()), 0.3)
