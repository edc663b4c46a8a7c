"""The precision to expect before a study."""

import numpy as np
import pytest
from simulations.scenarios import SCENARIOS, draw

from relprev.checks import check_overlap
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE, plan


@pytest.mark.parametrize("name", ["two_groups", "few_cases", "strong_shift"])
def test_plan_predicts_the_standard_error_of_a_simulated_study(name):
    cohort = draw(SCENARIOS[name], 3).cohort
    fitted = DebiasedPURPLE().fit(cohort)
    row = fitted.relative_prevalence("b").to_frame().iloc[0]
    n = np.bincount(cohort.groups)
    rates = np.bincount(cohort.groups, cohort.diagnosed) / n
    mixing = check_overlap(fitted, cohort).table["mixing"].iloc[0]
    expected = plan(cohort.n, tuple(rates), mixing, shares=tuple(n / n.sum()))
    assert expected.n_diagnosed == pytest.approx(tuple(n * rates))
    assert expected.effective_cases == pytest.approx(row["effective_cases"], rel=0.02)
    assert expected.std_error == pytest.approx(row["std_error"], rel=0.08)
    assert expected.factor == pytest.approx(row["ci_high"] / row["estimate"], rel=0.02)


def test_four_times_the_visits_halve_the_error():
    one, four = plan(10_000, (0.01, 0.02), 0.6), plan(40_000, (0.01, 0.02), 0.6)
    assert one.std_error == pytest.approx(2 * four.std_error)


def test_only_the_ratio_of_the_shares_counts():
    one = plan(10_000, (0.01, 0.02), 0.6, shares=(0.2, 0.8))
    assert one == plan(10_000, (0.01, 0.02), 0.6, shares=(1, 4))


@pytest.mark.parametrize(
    ("name", "value"),
    [("n", 0), ("recorded_rates", (0.0, 0.1)), ("recorded_rates", (0.1,)), ("mixing", 0.0),
     ("mixing", 1.5), ("shares", (1, 0)), ("design_effect", 0), ("level", 1)],
)  # fmt: skip
def test_impossible_plans_are_refused_by_name(name, value):
    arguments = {"n": 1000, "recorded_rates": (0.01, 0.02), "mixing": 0.5} | {name: value}
    with pytest.raises(InvalidInputError, match=f"^{name} must be"):
        plan(**arguments)
