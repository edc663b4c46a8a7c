"""Rows, words and simultaneous intervals."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relprev.errors import InvalidInputError
from relprev.inference.intervals import holm, infer
from relprev.inference.moments import GroupMoments


def moments(error=0.1, df=10_000, information=1000.0):
    """Three groups whose log rates of recorded cases are independent with the same error."""
    covariance = np.zeros((9, 9))
    covariance[3:6, 3:6] = error**2 * np.eye(3)
    return GroupMoments(
        ("a", "b", "c"), np.log([0.2, 0.3, 0.5]), np.log([0.02, 0.015, 0.05]),
        np.log([1.0, 0.5, 2.0]), covariance, information * np.diag([1.0, 1.0, 1.0]), np.ones(3), df,
    )  # fmt: skip


def result(versus="a", names=("a", "b", "c"), level=0.95, **keywords):
    counts = np.arange(1, len(names) + 1)
    return infer(moments(**keywords), names, counts, counts, np.ones((2, len(names))), versus,
                 level=level)  # fmt: skip


def test_hand_computed_row():
    row = result().to_frame().iloc[0]
    # b: recorded 0.015 / 0.3 over 0.02 / 0.2; diagnosis ratio 0.5.
    assert row["observed_ratio"] == pytest.approx(0.5)
    assert row["diagnosis_ratio"] == pytest.approx(0.5)
    assert row["estimate"] == pytest.approx(1.0)
    assert row["std_error"] == pytest.approx(np.sqrt(2) * 0.1)


def test_interval_is_student_t_on_the_log_scale():
    row = result(df=12).to_frame().iloc[0]
    half = stats.t.ppf(0.975, 12) * row["std_error"]
    assert np.log(row["ci_high"] / row["estimate"]) == pytest.approx(half)
    assert np.log(row["estimate"] / row["ci_low"]) == pytest.approx(half)


def test_p_value_is_the_level_at_which_the_interval_reaches_one():
    same, other = result(df=12, error=1.0).to_frame().to_dict("records")
    assert (same["estimate"], same["p_value"]) == pytest.approx((1.0, 1.0))
    statistic = abs(np.log(other["estimate"])) / other["std_error"]
    assert other["p_value"] == pytest.approx(2 * stats.t.sf(statistic, 12))
    touching = result(df=12, error=1.0, level=1 - other["p_value"]).to_frame().iloc[1]
    ends = np.log([touching["ci_low"], touching["ci_high"]])
    assert np.abs(ends).min() == pytest.approx(0, abs=1e-9)


def test_few_informative_cases_widen_the_interval():
    wide, narrow = result(information=10.0).to_frame(), result().to_frame()
    assert (wide["ci_high"] > narrow["ci_high"]).all()
    # The recorded ratio does not rest on the informative cases.
    np.testing.assert_allclose(wide["observed_ci_high"], narrow["observed_ci_high"])


def test_sentence_says_what_the_row_says():
    sentence = result().sentences[0]
    assert "1.00 times as common in b as in a" in sentence
    assert "95% interval" in sentence
    assert "Recorded diagnoses alone give 0.50" in sentence


def test_groups_without_estimate_keep_their_rows():
    table = result(versus="pairwise", names=("a", "b", "c", "d")).to_frame()
    assert len(table) == 12
    assert table["estimate"].isna().sum() == 6


def test_holm_by_hand():
    np.testing.assert_allclose(holm(np.array([0.02, 0.01, 0.9])), [0.04, 0.03, 0.9])


@pytest.mark.parametrize("method", ["max-t", "holm"])
def test_simultaneous_intervals_are_wider_than_single_ones(method):
    found = result(versus="pairwise")
    both = found.simultaneous(method)
    assert (both["ci_high"] > found.to_frame()["ci_high"]).all()
    assert (both["p_value"] >= found.to_frame()["p_value"] - 0.01).all()


def test_max_t_of_independent_rows_is_sidak():
    """Two uncorrelated statistics: the joint quantile is that of 1 - sqrt(0.95)."""
    found = result()
    independent = type(found)(found.rows, "", {}, 0.95, np.eye(2))
    table = independent.simultaneous("max-t").set_index("group")
    half = np.log(table["ci_high"] / table["estimate"]) / found.to_frame()["std_error"].to_numpy()
    np.testing.assert_allclose(half, stats.norm.ppf(0.5 + np.sqrt(0.95) / 2), rtol=0.01)


def test_simultaneous_intervals_of_one_row_are_the_row():
    found = result()
    single = type(found)(found.rows[:1], "", {}, 0.95, np.eye(1))
    for method in ("max-t", "holm"):
        high = single.simultaneous(method)["ci_high"][0]
        assert high == pytest.approx(found.rows[0]["ci_high"], rel=5e-3)


@pytest.mark.parametrize("method", ["max-t", "holm"])
@pytest.mark.parametrize(
    "lost", [{"estimate": np.nan}, {"std_error": 0.0}, {"std_error": np.nan}, {"p_value": np.nan}]
)
def test_a_row_without_estimate_leaves_the_other_rows_alone(method, lost):
    found = result()
    correlation = np.full((3, 3), np.nan)
    correlation[:2, :2] = found.correlation
    rows = (*found.rows, found.rows[1] | {"group": "d"} | lost)
    table = type(found)(rows, "", {}, 0.95, correlation).simultaneous(method)
    pd.testing.assert_frame_equal(table[:2], found.simultaneous(method))
    assert table.loc[2, ["ci_low", "ci_high", "p_value"]].isna().all()


def test_a_hypothesis_and_its_mirror_count_once():
    """Two groups and versus="complement": a over b and b over a are one question."""
    found = result(df=12, error=0.5)
    row = found.rows[1]
    mirror = row | {"estimate": 1 / row["estimate"]}
    pair = type(found)((row, mirror), "", {}, 0.95, np.array([[1.0, -1.0], [-1.0, 1.0]]))
    table = pair.simultaneous("holm")
    np.testing.assert_allclose(table["p_value"], row["p_value"])
    assert table.loc[0, "ci_high"] == pytest.approx(row["ci_high"])
    one_way, both_ways = result(), result(versus="pairwise")
    assert len(both_ways) == 6
    p = both_ways.simultaneous("holm")["p_value"].to_numpy()
    raw = both_ways.to_frame()["p_value"].to_numpy()
    once = holm(raw[[0, 1, 3]])  # a over b, a over c, b over c
    np.testing.assert_allclose(p, once[[0, 1, 0, 2, 1, 2]])
    np.testing.assert_allclose(one_way.simultaneous("holm")["p_value"], holm(raw[[0, 1]]))


def test_max_t_p_values_are_neither_zero_nor_below_those_of_single_rows():
    strong = result(error=1e-3)
    found = strong.simultaneous("max-t")["p_value"]
    assert (found > 0).all()
    for error in np.linspace(0.2, 2.0, 10):
        one = result(error=error)
        assert (one.simultaneous()["p_value"] >= one.to_frame()["p_value"]).all()
        first = type(one)(one.rows[1:], "", {}, 0.95, np.eye(1))
        assert (first.simultaneous()["p_value"] >= first.to_frame()["p_value"]).all()


def test_wrong_method_and_level_are_refused():
    with pytest.raises(InvalidInputError, match="method"):
        result().simultaneous("sidak")
    with pytest.raises(InvalidInputError, match="level"):
        result(level=95)
