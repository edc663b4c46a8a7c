"""The empirical null on drawn estimates: what a world holds, and what the stored worlds say."""

from __future__ import annotations

import pandas as pd
import pytest
from simulations import null
from simulations.replicates import RESULTS


@pytest.fixture(scope="module")
def stored() -> pd.DataFrame:
    return null.summary(pd.read_csv(RESULTS / "null.csv"))


def test_a_world_has_a_row_for_every_way_to_have_the_share():
    rows = pd.DataFrame(null.replicate(("30 differ, spread 0.1", 0))).set_index("share")
    assert list(rows.index) == list(null.SHARES)
    assert (rows["false"] <= rows["found"]).all()
    assert rows["spread"]["one in twenty"] < rows["spread"]["zero"]
    again = pd.DataFrame(null.replicate(("30 differ, spread 0.1", 0))).set_index("share")
    pd.testing.assert_frame_equal(rows, again)


def test_false_discoveries_are_a_share_of_what_is_found():
    rows = [{"scenario": "a", "replicate": k, "share": "zero", "spread": 0.1, "found": found,
             "false": false, "power": 0.5} for k, (found, false) in enumerate([(4, 1), (0, 0)])
            ]  # fmt: skip
    assert null.summary(pd.DataFrame(rows))["fdr"].iloc[0] == pytest.approx(0.125)


def test_the_estimated_share_holds_the_rate_in_all_stored_worlds(stored):
    own = stored[stored["share"] == "estimated"]
    assert set(own["scenario"]) == set(null.WORLDS)
    assert (own["worlds"] >= 400).all()
    assert (own["fdr"] <= 0.06).all()


def test_where_none_differs_the_stored_spread_is_right(stored):
    found = stored.set_index(["scenario", "share"])["spread"]
    for spread in (0.1, 0.3):
        name = f"none differs, spread {spread}"
        assert found[name, "estimated"] == pytest.approx(spread, rel=0.05)
        assert found[name, "one in twenty"] < 0.95 * spread
