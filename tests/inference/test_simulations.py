"""The coverage simulations: seeded, resumable, with the truth they claim."""

import json

import numpy as np
import pandas as pd
import pytest
from simulations import bias, coverage, informed, power, scenarios, verdicts
from simulations.page import PAGE, write_page
from simulations.replicates import RESULTS, run_all, seed_of
from simulations.scenarios import DRIFTS, SCENARIOS, WORLDS, Scenario, draw

SMALL = Scenario(n=3000, intercept=-2.0)


def fake_run(job):
    return [{"scenario": job[0], "replicate": job[1], "value": float(job[1])}]


def test_a_replicate_has_its_own_seed():
    one, two = draw(SMALL, seed_of(("x", 1))), draw(SMALL, seed_of(("x", 1)))
    other = draw(SMALL, seed_of(("x", 2)))
    np.testing.assert_array_equal(one.cohort.diagnosed, two.cohort.diagnosed)
    assert (one.cohort.diagnosed != other.cohort.diagnosed).any()


@pytest.mark.parametrize("name", SCENARIOS | DRIFTS)
def test_every_scenario_draws_what_it_says(name):
    scenario = (SCENARIOS | DRIFTS)[name]
    cohort = draw(scenario, 0).cohort
    assert cohort.group_names == scenario.names
    assert (cohort.clusters is not None) == (scenario.visits_per_patient > 1)
    assert (cohort.psus is not None) == (scenario.strata > 0)
    assert 150 < cohort.diagnosed.sum() < 3000


def test_truth_is_the_ratio_of_mean_probabilities(monkeypatch, tmp_path):
    monkeypatch.setattr(scenarios, "TRUTH_ROWS", 100_000)
    monkeypatch.setattr(scenarios, "TRUTH_DRAWS", 2)
    monkeypatch.setattr(coverage, "SCENARIOS", {"small": SMALL})
    found = coverage.true_ratios(tmp_path / "truth.csv")
    drawn = draw(SMALL, 3)
    means = [drawn.p[drawn.cohort.groups == k].mean() for k in (0, 1)]
    assert found["group"].tolist() == ["a", "b"]
    np.testing.assert_allclose(found["truth"], [means[0] / means[1], 1.0], rtol=0.1)
    monkeypatch.setattr(coverage, "truth", None)  # kept in the file: not computed again
    pd.testing.assert_frame_equal(coverage.true_ratios(tmp_path / "truth.csv"), found)


def test_a_file_is_continued_not_run_again(tmp_path):
    out = tmp_path / "rows.csv"
    run_all(fake_run, [("a", 0), ("a", 1)], out, processes=1, command="first")
    kept = pd.read_csv(out).assign(value=100.0)
    kept.to_csv(out, index=False)
    table = run_all(fake_run, [("a", 0), ("a", 1), ("b", 0)], out, 1, "second")
    assert table["value"].tolist() == [100.0, 100.0, 0.0]
    assert len(pd.read_csv(out)) == 3
    assert json.loads(out.with_suffix(".json").read_text())["command"] == "second"


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


def test_a_replicate_of_the_power_study_holds_every_check(monkeypatch):
    small = {"drift_3": Scenario(n=3000, intercept=-2.0, drift=float(np.log(3.0)))}
    monkeypatch.setattr(power, "DRIFTS", small)
    row = power.replicate(("drift_3", 0), paper_checks=1)[0]
    assert all(row[check] in (0.0, 1.0) for check in power.CHECKS)
    without = power.replicate(("drift_3", 0), paper_checks=0)[0]
    table = power.summary(pd.DataFrame([row, without]))
    assert table["drift"].tolist() == [pytest.approx(3.0)]
    assert table["replicates_trend"].tolist() == [2]
    assert table["replicates_calibration"].tolist() == [1]


def test_noise_is_withheld_and_symptoms_are_not(monkeypatch):
    monkeypatch.setattr(informed, "SCENARIOS", {"small": SMALL})
    monkeypatch.setattr(informed, "N_VISITS", 4_000)
    rows = [informed.replicate((name, 0))[0] for name in (informed.NOISE, "small")]
    assert [row["withheld"] for row in rows] == [1, 0]
    found = informed.summary(pd.DataFrame(rows)).set_index("scenario")
    assert found["withheld"].to_dict() == {informed.NOISE: 1.0, "small": 0.0}
    assert found.loc["small", "no concern"] == 1.0


@pytest.mark.parametrize("violation", ["drift", "meaning"])
def test_a_replicate_of_the_verdicts_holds_every_check(violation, monkeypatch):
    monkeypatch.setattr(verdicts, "KINDS", ("informativeness", "leakage"))
    row = verdicts.replicate((f"{violation}/2/200", 0))[0]
    assert 150 < row["n_diagnosed"] < 300
    found = verdicts.summary(pd.DataFrame([row]))
    assert found["check"].tolist() == ["informativeness", "leakage"]
    assert (found[list(verdicts.STATES)].sum(axis=1) == 1).all()


def test_every_violation_is_drawn_once_for_each_number_of_cases():
    cells = [name for name, _ in verdicts.jobs(1, [200, 2_000])]
    assert len(cells) == len(set(cells)) == 10
    assert "meaning/1/200" not in cells


def test_bias_is_judged_by_the_number_diagnosed():
    rows = pd.DataFrame(
        {
            "scenario": ["x", "y"], "replicate": 0, "n_diagnosed": [2999, 3000], "truth": 2.0,
            "debiased": 2.05, "purple": 2.0, "recorded": 1.0, "std_error": 0.1,
        }
    )  # fmt: skip
    found = bias.summary(rows)
    assert found["debiased"].tolist() == [1.025, 1.025]
    assert found["within"].tolist() == [True, False]


def test_the_page_is_what_the_results_say(tmp_path):
    write_page(RESULTS, tmp_path / "page.md")
    assert PAGE.read_text() == (tmp_path / "page.md").read_text()


def test_intervals_of_the_stored_results_cover():
    table = pd.read_csv(RESULTS / "coverage.csv")
    found = coverage.summary(table, coverage.true_ratios(RESULTS / "truth.csv"))
    found = found[found["method"] == "doubly robust"]
    assert set(found["scenario"]) == set(SCENARIOS | WORLDS)
    few = found[found["scenario"].isin([name for name in SCENARIOS if not SCENARIOS[name].codes])]
    assert (few["replicates"] == 1000).all()
    assert few["coverage"].between(0.935, 0.965).all()
    small = (few["bias_in_sd"].abs() < 0.1) | (few["bias"].abs() < 0.005)
    assert small.all()
    many = found.drop(few.index)  # more codes than cases: rather too long than too short
    assert (many["replicates"] + many["withheld"] >= 200).all()
    assert (many["coverage"] >= 0.93).all()
    assert (many["mean_std_error"] < 1.5 * many["sd"]).all()


def test_the_stored_size_and_power_are_as_promised():
    size = coverage.rejections(pd.read_csv(RESULTS / "coverage.csv")).set_index("scenario")
    assert size.loc[["two_groups", "repeat_patients"], "trend"].between(0.04, 0.065).all()
    found = power.summary(pd.read_csv(RESULTS / "power.csv")).set_index("scenario")
    assert found.loc["drift_2", "trend"] >= 0.75
    assert found.loc["drift_1.5", "trend"] < found.loc["drift_2", "trend"]
    assert found.loc["drift_3", "trend"] > 0.9


def test_stored_estimates_are_withheld_where_symptoms_say_nothing_and_only_there():
    found = informed.summary(pd.read_csv(RESULTS / "informed.csv")).set_index("scenario")
    assert found.loc[informed.NOISE, "replicates"] >= 100
    assert found.loc[informed.NOISE, "withheld"] >= 0.95
    assert found.loc[list(informed.INFORMED), "replicates"].sum() >= 200
    assert (found.loc[list(informed.INFORMED), "withheld"] <= 0.02).all()


def test_stored_verdicts_hold_what_they_promise():
    """No violation is seldom a concern, and one beyond the margin seldom no concern."""
    found = verdicts.summary(pd.read_csv(RESULTS / "verdicts.csv"))
    none = found[found["factor"] == 1]
    assert np.average(none["concern"], weights=none["replicates"]) <= 0.06
    looked_for = {"constant_ratio": "drift", "calibration": "drift", "unconstrained": "meaning"}
    twofold = found[found["factor"] == 2]
    twofold = twofold[twofold["violation"] == twofold["check"].map(looked_for)]
    assert np.average(twofold["no concern"], weights=twofold["replicates"]) <= 0.06


def test_the_stored_bias_is_small_in_every_cell():
    found = bias.summary(pd.read_csv(RESULTS / "bias.csv"))
    assert found["within"].all()
