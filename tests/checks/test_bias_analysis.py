"""Violations drawn from stated distributions."""

import numpy as np
import pytest

from relprev import DebiasedPURPLE
from relprev.checks import Verdict, check_bias_analysis
from relprev.errors import InvalidInputError
from tests.checks.conftest import FAST, make_cohort


@pytest.fixture(scope="module")
def large():
    return DebiasedPURPLE(**FAST).fit(make_cohort(shift=0.3)[0])


def test_without_violations_the_interval_is_that_of_chance(large):
    found = check_bias_analysis(large, "b", alpha=(0.0, 0.0), gamma=1.0, false_positives=0.0)
    row = large.relative_prevalence("b").rows[0]
    for _, step in found.table.iterrows():
        assert step["median"] == pytest.approx(row["estimate"], rel=0.01)
        assert step["ci_low"] == pytest.approx(row["ci_low"], rel=0.02)
        assert step["ci_high"] == pytest.approx(row["ci_high"], rel=0.02)


def test_normal_errors_add_up_as_their_variances_do(large):
    found = check_bias_analysis(large, "b", alpha=(0.2, 0.3), gamma=1.0, false_positives=0.0)
    row = large.relative_prevalence("b").rows[0]
    last = found.table.iloc[-1]
    half = 1.96 * np.hypot(row["std_error"], 0.3)
    assert np.log(last["median"]) == pytest.approx(np.log(row["estimate"]) + 0.2, abs=0.02)
    assert np.log(last["ci_high"] / last["ci_low"]) / 2 == pytest.approx(half, rel=0.03)


def test_each_source_widens_the_interval(large):
    table = check_bias_analysis(large, "b").table
    assert (table["ci_high"] / table["ci_low"]).is_monotonic_increasing
    assert table["source"].iloc[0] == "chance"


def test_the_same_seed_draws_the_same(large):
    one, two, other = (check_bias_analysis(large, "b", random_state=k).table for k in (0, 0, 1))
    assert one.equals(two)
    assert not one.equals(other)


def test_a_difference_must_outlast_the_violations(large):
    firm = check_bias_analysis(large, "b", alpha=(0.0, 0.05), gamma=1.0, false_positives=0.0)
    assert firm.verdict is Verdict.NO_CONCERN
    lost = check_bias_analysis(large, "b", alpha=(0.0, 2.0))
    assert lost.verdict is Verdict.CONCERN
    assert lost.interval[0] < 1 < lost.interval[1]
    other = lost.table["other_side"].iloc[-1]
    assert 0.2 < other < 0.5
    assert f"{other:.0%} of draws lie on the other side of 1" in str(lost.effect)


def test_controls_may_speak_of_each_comparison(large):
    common = {"gamma": 1.0, "false_positives": 0.0}
    given = {("a", "b"): (0.5, 0.0)}
    table = check_bias_analysis(large, "b", alpha=given, **common).table
    assert table["median"].iloc[-1] == pytest.approx(table["median"].iloc[0] * np.exp(0.5))
    inverse = check_bias_analysis(large, "a", alpha=given, **common).table
    assert inverse["median"].iloc[-1] == pytest.approx(inverse["median"].iloc[0] * np.exp(-0.5))


@pytest.mark.parametrize(
    ("keywords", "name"),
    [({"alpha": (0.0, -1.0)}, "alpha"), ({"alpha": {("a", "b"): (np.nan, 1.0)}}, "alpha"),
     ({"gamma": 0.5}, "gamma"), ({"false_positives": 1.0}, "false_positives"),
     ({"draws": 3}, "draws")],
)  # fmt: skip
def test_wrong_parameters_are_named(large, keywords, name):
    with pytest.raises(InvalidInputError, match=name):
        check_bias_analysis(large, "b", **keywords)
