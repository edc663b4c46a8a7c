"""Power and the visits it takes."""

import numpy as np
import pytest
from scipy import stats

from relprev.errors import InvalidInputError
from relprev.inference import plan, power, visits_needed

RATES, MIXING = (0.004, 0.005), 0.7


@pytest.mark.parametrize("ratio", [1.1, 1.3, 0.7])
def test_power_is_that_of_the_noncentral_t_distribution(ratio):
    expected = plan(60_000, RATES, MIXING)
    df = expected.effective_cases
    away, edge = abs(np.log(ratio)) / expected.std_error, stats.t.ppf(0.975, df)
    exact = stats.nct.sf(edge, df, away) + stats.nct.cdf(-edge, df, away)
    assert power(expected, ratio) == pytest.approx(exact, abs=0.015)


def test_a_ratio_and_its_inverse_are_found_as_often():
    expected = plan(60_000, RATES, MIXING)
    assert power(expected, 1.25) == pytest.approx(power(expected, 0.8))


@pytest.mark.parametrize("chance", [0.5, 0.8, 0.95])
def test_the_visits_needed_are_the_fewest_with_that_power(chance):
    more = {"shares": (0.2, 0.8), "design_effect": 1.7}
    n = visits_needed(RATES, MIXING, ratio=1.3, chance=chance, **more)
    assert power(plan(n, RATES, MIXING, **more), 1.3) >= chance
    assert power(plan(n - 1, RATES, MIXING, **more), 1.3) < chance


def test_the_visits_needed_give_the_interval_asked_for():
    n = visits_needed(RATES, MIXING, factor=1.1)
    assert plan(n, RATES, MIXING).factor <= 1.1 < plan(n - 1, RATES, MIXING).factor


def test_groups_alike_in_symptoms_leave_nothing_uncertain():
    assert power(plan(1000, RATES, 1.0), 1.01) == 1.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "either ratio or factor"),
        ({"ratio": 1.2, "factor": 1.2}, "either ratio or factor"),
        ({"ratio": 1.0}, "^ratio must be"),
        ({"ratio": -1.0}, "^ratio must be"),
        ({"ratio": 1.2, "chance": 1.0}, "^chance must be"),
        ({"factor": 1.0}, "^factor must be"),
        ({"ratio": 1.2, "mixing": 0.0}, "^mixing must be"),
        ({"factor": 1.0000001}, "no number of visits is enough"),
    ],
)
def test_impossible_questions_are_refused_by_name(changes, words):
    with pytest.raises(InvalidInputError, match=words):
        visits_needed(**{"recorded_rates": RATES, "mixing": MIXING} | changes)
