"""False positives in few passes, against solving and linearising again."""

from dataclasses import replace

import numpy as np
import pytest

from relprev.checks.false_positives import with_false_positives
from relprev.inference import DebiasedPURPLE
from relprev.inference.moments import group_moments
from relprev.inference.score import solve_score
from relprev.simulate import ed_visits
from tests.checks.conftest import FAST, make_cohort

SHARES = [
    {"Group A": 0.05}, {"Group A": 0.2, "Group B": 0.2}, {"Group B": 0.3}, {"Group C": 0.1},
]  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    cohort = ed_visits(20_000, n_codes=60, prevalence=0.2, seed=1).cohort
    return DebiasedPURPLE(**FAST, n_repeats=1).fit(cohort)


def cleaned(data, eps):
    """The rows without expected false positives."""
    risk = np.maximum(data.risk - eps[data.reference], 0.0)
    return replace(data, s=data.s - eps[data.g], risk=risk)


def solved_again(fitted, shares):
    """The long way: rows without false positives, solved and linearised afresh."""
    moments, data = fitted.moments_, fitted.score_data_
    rate = np.exp(moments.log_cases - moments.log_share)
    eps = np.array([shares.get(name, 0.0) for name in moments.names]) * rate
    rows = data.holding(data.derive(cleaned, eps))
    return group_moments(rows, solve_score(rows), moments.names, fitted.design_)


@pytest.mark.parametrize("number", range(4))
def test_moments_are_those_of_solving_again(fitted, number):
    found = with_false_positives(fitted, SHARES)[number]
    again = solved_again(fitted, SHARES[number])
    np.testing.assert_allclose(found.theta, again.theta, atol=1e-6)
    np.testing.assert_allclose(found.log_cases, again.log_cases, atol=1e-9)
    for group in (0, 2):
        one, two = (m.contrast(group, np.array([1])) for m in (found, again))
        errors = [
            np.sqrt(c.gradient[0] @ m.covariance @ c.gradient[0])
            for c, m in ((one, found), (two, again))
        ]
        assert errors[0] == pytest.approx(errors[1], rel=0.12)


def test_several_deals_of_folds_move_by_what_the_first_one_moves(fitted):
    cohort = ed_visits(20_000, n_codes=60, prevalence=0.2, seed=1).cohort
    several = DebiasedPURPLE(**FAST, n_repeats=3).fit(cohort)
    one, three = (with_false_positives(model, SHARES[:1])[0] for model in (fitted, several))
    moved = three.theta - several.moments_.theta
    np.testing.assert_allclose(moved, one.theta - fitted.moments_.theta, atol=1e-8)
    assert abs(moved).max() > 0.01
    assert abs(several.moments_.theta - fitted.moments_.theta).max() > 1e-4


def test_no_false_positives_change_nothing(fitted):
    (found,) = with_false_positives(fitted, [{}])
    np.testing.assert_allclose(found.theta, fitted.moments_.theta, atol=1e-8)
    np.testing.assert_allclose(found.covariance, fitted.moments_.covariance, rtol=1e-6, atol=1e-12)


def test_false_positives_are_corrected_for():
    """Three tenths of a's recorded cases false at random: only the corrected estimate is right."""
    cohort, truth = make_cohort(n=120_000, false_share=(0.3, 0.0), shift=0.25)
    fitted = DebiasedPURPLE(**(FAST | {"risk": None})).fit(cohort)
    (moments,) = with_false_positives(fitted, [{"a": 0.3}])
    plain, corrected = (
        abs(m.contrast(0, np.array([1])).values[0] - np.log(truth))
        for m in (fitted.moments_, moments)
    )
    assert corrected < 0.5 * plain
