"""How often checks say concern, no concern or cannot tell."""

import numpy as np
import pandas as pd
import pytest
from simulations import verdicts
from simulations.replicates import RESULTS


@pytest.mark.parametrize("violation", ["drift", "meaning"])
def test_a_replicate_of_the_verdicts_holds_every_check(violation, monkeypatch):
    monkeypatch.setattr(verdicts, "KINDS", ("informativeness", "leakage"))
    row = verdicts.replicate((f"{violation}/2/200", 0))[0]
    assert 150 < row["n_diagnosed"] < 300
    found = verdicts.summary(pd.DataFrame([row]))
    assert found["check"].tolist() == ["informativeness", "leakage"]
    assert (found[list(verdicts.STATES)].sum(axis=1) == 1).all()


def test_every_violation_is_drawn_once_for_each_number_of_cases():
    cells = verdicts.scenarios([200, 2_000])
    assert len(cells) == len(set(cells)) == 10
    assert "meaning/1/200" not in cells


def test_stored_verdicts_hold_what_they_promise():
    """No violation is seldom a concern, and one beyond the margin seldom no concern."""
    found = verdicts.summary(pd.read_csv(RESULTS / "verdicts.csv"))
    none = found[found["factor"] == 1]
    assert np.average(none["concern"], weights=none["replicates"]) <= 0.06
    looked_for = {"constant_ratio": "drift", "calibration": "drift", "unconstrained": "meaning"}
    twofold = found[found["factor"] == 2]
    twofold = twofold[twofold["violation"] == twofold["check"].map(looked_for)]
    assert np.average(twofold["no concern"], weights=twofold["replicates"]) <= 0.06
