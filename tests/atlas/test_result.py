"""The atlas: truth found, q-values, what is withheld, files, bad input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relprev import Atlas, as_cohort, scan_conditions
from relprev.atlas.result import FEW, SILENT, atlas_of
from relprev.errors import InvalidInputError
from tests.atlas.worlds import CONDITIONS, world


@pytest.fixture(scope="module")
def atlas():
    return scan_conditions(world().cohort, conditions=CONDITIONS, versus="Group B")


def test_conditions_recorded_at_different_rates_are_found(atlas):
    found = set(atlas.found()["condition"])
    assert set(world().names[:2]) <= found
    assert len(found) <= 3  # of 40, of which 38 do not differ


def test_diagnosis_ratios_are_near_what_was_simulated(atlas):
    table = atlas.table.set_index("condition").loc[list(world().names)]
    truth = (world().log_diagnosis_ratio + world().log_alpha)[:, 0]
    low, high = np.log(table["diagnosis_ci_low"]), np.log(table["diagnosis_ci_high"])
    assert ((low <= truth) & (truth <= high)).mean() >= 0.85  # of 40, about 95% are expected


def test_recorded_ratio_is_diagnosis_ratio_times_estimate(atlas):
    table = atlas.table
    np.testing.assert_allclose(
        table["observed_ratio"], table["diagnosis_ratio"] * table["estimate"], rtol=1e-6
    )


def test_q_values_are_those_of_benjamini_and_hochberg(atlas):
    for p, q in (("p_value", "q_value"), ("null_p_value", "null_q_value")):
        expected = stats.false_discovery_control(atlas.table[p])
        np.testing.assert_allclose(atlas.table[q], expected)


def test_calibrated_intervals_add_the_spread_of_the_null(atlas):
    table, null = atlas.table, atlas.nulls.iloc[0]
    np.testing.assert_allclose(
        np.log(table["calibrated"] / table["estimate"]), null["centre"], atol=1e-9
    )
    plain = np.log(table["ci_high"] / table["ci_low"])
    wider = np.log(table["calibrated_ci_high"] / table["calibrated_ci_low"])
    assert (wider > plain).all()
    assert (wider > 2 * 1.95 * null["spread"]).all()


def test_several_contrasts_have_a_null_each():
    found = scan_conditions(world().cohort, conditions=CONDITIONS)
    assert found.nulls[["group", "versus"]].values.tolist() == [
        ["Group A", "complement"], ["Group B", "complement"],
    ]  # fmt: skip
    one, two = found.nulls["centre"]
    assert one == pytest.approx(-two, abs=1e-6)


def test_few_conditions_have_no_null_but_p_values(atlas):
    some = scan_conditions(world().cohort, conditions=["CONDITION1:*"], versus="Group B")
    assert some.table["q_value"].notna().all()
    assert some.table[["null_p_value", "null_q_value", "calibrated"]].isna().all(axis=None)
    assert some.found().empty


def test_conditions_that_features_do_not_predict_have_no_answer():
    rng = np.random.default_rng(0)
    X = (rng.random((6_000, 30)) < 0.1).astype(int)
    names = [*(f"C{k % 3}:{k}" for k in range(10)), *(f"f:{k}" for k in range(20))]
    cohort = as_cohort(X, X[:, 0], groups=rng.choice(["a", "b"], 6_000), feature_names=names)
    table = scan_conditions(cohort, conditions=["C*"], versus="b").table
    assert (table["withheld"] == SILENT).mean() >= 0.8
    silent = table[table["withheld"] == SILENT]
    assert silent[["estimate", "diagnosis_ratio", "p_value", "q_value"]].isna().all(axis=None)
    assert silent["observed_ratio"].notna().all()


def scanned_row(condition, group="a", **values):
    row = {
        "condition": condition, "block": "b", "group": group, "versus": "z", "n_recorded": 40,
        "n_recorded_versus": 50, "observed_ratio": 1.0, "diagnosis_ratio": 1.1,
        "log_diagnosis_error": 0.1, "estimate": 0.9, "std_error": 0.1, "effective_cases": 20.0,
        "degrees_of_freedom": 20.0, "auc": 0.7, "auc_low": 0.65, "auc_high": 0.75,
    }  # fmt: skip
    return row | values


def test_conditions_without_any_answer_for_lack_of_cases_are_left_out():
    nothing = dict.fromkeys(["observed_ratio", "diagnosis_ratio", "estimate"], np.nan)
    rows = [scanned_row("one"), scanned_row("one", "b", **nothing), scanned_row("two", **nothing)]
    table = atlas_of([pd.DataFrame(rows)]).table
    assert table["condition"].unique().tolist() == ["one"]
    assert table["withheld"].tolist() == ["", FEW]


def test_saved_and_loaded_atlases_are_the_same(atlas, tmp_path):
    atlas.save(tmp_path)
    again = Atlas.load(tmp_path)
    pd.testing.assert_frame_equal(again.table, atlas.table)
    pd.testing.assert_frame_equal(again.nulls, atlas.nulls)
    assert again.level == atlas.level
    csv = pd.read_csv(tmp_path / "atlas.csv")
    np.testing.assert_allclose(csv["estimate"], atlas.table["estimate"])


def test_a_condition_that_reads_like_a_formula_is_written_safely(atlas, tmp_path):
    replace(atlas, table=atlas.table.assign(description="=1+1")).save(tmp_path)
    assert set(pd.read_csv(tmp_path / "atlas.csv")["description"]) == {"'=1+1"}
    assert set(Atlas.load(tmp_path).table["description"]) == {"=1+1"}


def test_a_folder_without_an_atlas(tmp_path):
    with pytest.raises(InvalidInputError, match=r"no file atlas\.parquet"):
        Atlas.load(tmp_path)


def test_level_outside_its_range():
    with pytest.raises(InvalidInputError, match=r"level must be between 0 and 1, got 1\.5"):
        scan_conditions(world().cohort, conditions=CONDITIONS, level=1.5)


def test_features_without_names():
    cohort = as_cohort(np.eye(4), [1, 0, 0, 1], groups=["a", "a", "b", "b"])
    with pytest.raises(InvalidInputError, match="feature_names"):
        scan_conditions(cohort)
