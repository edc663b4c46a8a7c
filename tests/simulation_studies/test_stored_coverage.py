"""Coverage as summarised and as stored."""

import numpy as np
import pandas as pd
from simulations import coverage
from simulations.replicates import RESULTS
from simulations.scenarios import SCENARIOS, WORLDS


def test_summary_counts_covered_truths():
    rows = pd.DataFrame(
        {
            "scenario": "x", "method": "m", "group": "a", "replicate": [0, 1],
            "estimate": [1.0, 2.0], "ci_low": [0.9, 1.5], "ci_high": [1.1, 2.5],
            "std_error": 0.1, "n_diagnosed": 10, "p_trend": [0.01, 0.5], "p_quintiles": 0.5,
            "own_truth": np.nan,
        }
    )  # fmt: skip
    truths = pd.DataFrame({"scenario": ["x"], "group": ["a"], "truth": [1.0]})
    assert coverage.summary(rows, truths)["coverage"].tolist() == [0.5]
    own = coverage.summary(rows.assign(own_truth=[1.0, 2.0]), truths.iloc[:0])
    assert own["coverage"].tolist() == [1.0]
    withheld = coverage.summary(rows.assign(estimate=[1.0, np.nan]), truths)
    assert withheld[["coverage", "replicates", "withheld"]].to_numpy().tolist() == [[1.0, 1, 1]]
    assert coverage.rejections(rows)["trend"].tolist() == [0.5]


def stored(name):
    table = pd.read_csv(RESULTS / f"{name}.csv")
    found = coverage.summary(table, coverage.true_ratios(RESULTS))
    found = found[found["method"] == "doubly robust"]
    assert set(found["scenario"]) == set(SCENARIOS | WORLDS)
    few = found["scenario"].isin([name for name in SCENARIOS if not SCENARIOS[name].codes])
    return found[few], found[~few]  # with few codes, and with more codes than cases


def test_intervals_of_the_stored_results_cover():
    few, many = stored("coverage")
    for rows, low, high in ((few, 0.935, 0.965), (many, 0.93, 1.0)):
        away = 3 * np.sqrt(0.05 * 0.95 / rows["replicates"])
        assert (rows["coverage"] > low - away).all()
        assert (rows["coverage"] < high + away).all()
    pooled = (few["coverage"] * few["replicates"]).sum() / few["replicates"].sum()
    assert 0.93 < pooled < 0.97
    assert (few["bias"].abs() < 0.005 + 4 * few["sd"] / np.sqrt(few["replicates"])).all()


def test_intervals_of_linear_models_cover():
    few, many = stored("coverage_linear")
    assert (few["replicates"] == 1000).all()
    assert few["coverage"].between(0.935, 0.965).all()
    assert ((few["bias_in_sd"].abs() < 0.1) | (few["bias"].abs() < 0.005)).all()
    assert (many["replicates"] + many["withheld"] >= 200).all()
    assert (many["coverage"] >= 0.93).all()  # rather too long than too short
    assert (many["mean_std_error"] < 1.5 * many["sd"]).all()


def test_adaptive_models_lengthen_intervals_by_no_more_than_a_twentieth():
    (few, _), (before, _) = stored("coverage"), stored("coverage_linear")
    both = few.merge(before, on=["scenario", "group"], suffixes=("", "_linear"))
    assert (both["mean_std_error"] < 1.05 * both["mean_std_error_linear"]).all()
