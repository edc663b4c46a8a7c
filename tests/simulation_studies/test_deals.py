import pandas as pd
import pytest
from simulations.deals import summary


def test_spread_over_deals_is_in_standard_errors():
    rows = [
        {"scenario": "few_cases", "replicate": k, "rule": rule, "seed": seed, "deals": deals,
         "n_diagnosed": 200, "group": "a", "estimate": 1 + seed * step, "std_error": 0.1}
        for k in range(2) for rule, deals, step in (("default", 5, 0.0), ("one deal", 1, 0.1))
        for seed in range(2)
    ]  # fmt: skip
    found = summary(pd.DataFrame(rows)).set_index("rule")
    assert found["cohorts"].tolist() == [2, 2]
    assert found["deals"].tolist() == [5, 1]
    assert found.loc["default", "spread"] == 0
    assert found.loc["one deal", "spread"] == pytest.approx(0.0953 / 2**0.5 / 0.1, rel=1e-3)
    assert found.loc["one deal", "largest"] == pytest.approx(found.loc["one deal", "spread"])
