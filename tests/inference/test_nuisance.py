"""Out-of-fold nuisances: how many folds choose, and the risk refitted on its own values."""

import numpy as np
import pytest
from simulations.scenarios import Scenario, draw

from relprev.errors import ConvergenceWarning
from relprev.inference import DebiasedPURPLE
from relprev.inference.nuisance import (
    PurpleRisk,
    RidgePropensity,
    cross_fit,
    recalibrated,
    score_data,
)
from relprev.model.likelihood import Problem
from relprev.model.solver import SolverOptions

SCENARIO = Scenario(n=6000, intercept=-1.5)


@pytest.fixture(scope="module")
def drawn():
    return draw(SCENARIO, 4)


def folds_of(n, count=5):
    return [np.arange(k, n, count) for k in range(count)]


def true_risk(drawn):
    return SCENARIO.rates[1] * drawn.p


def refitted(drawn, risk):
    """The risk refitted, and the slope."""
    problem = Problem.from_cohort(drawn.cohort)
    shares = np.tile(problem.group_weight, (problem.n, 1))
    data, found = recalibrated(score_data(problem, folds_of(problem.n), shares, risk, 1))
    return data.in_memory().risk, found.slope


@pytest.mark.parametrize("slope", [0.5, 0.8])
def test_a_flattened_risk_is_made_steep_again(drawn, slope):
    z = np.log(drawn.p / (1 - drawn.p))
    flat = 1 / (1 + np.exp(2.0 - slope * z))
    risk, found = refitted(drawn, flat)
    assert found == pytest.approx(1 / slope, rel=0.15)
    np.testing.assert_allclose(risk.mean(), true_risk(drawn).mean(), rtol=0.1)
    error = np.abs(risk - true_risk(drawn)).mean()
    assert error < 0.3 * np.abs(flat - true_risk(drawn)).mean()


def test_a_right_risk_is_left_as_it_is(drawn):
    risk, slope = refitted(drawn, 0.9 * drawn.p)
    assert slope == pytest.approx(1.0, abs=0.15)
    np.testing.assert_allclose(risk.mean(), true_risk(drawn).mean(), rtol=0.1)


@pytest.mark.parametrize("which", ["constant", "reversed"])
def test_a_risk_that_says_nothing_is_returned(drawn, which):
    risk = np.full(drawn.cohort.n, 0.1) if which == "constant" else 0.5 - 0.4 * drawn.p
    kept, slope = refitted(drawn, risk)
    np.testing.assert_array_equal(kept, risk)
    assert np.isnan(slope) or slope < 0


def test_as_many_folds_choose_as_hold_enough_of_the_scarcer_outcome(drawn, monkeypatch):
    cohort = drawn.cohort
    problem, folds = Problem.from_cohort(cohort), folds_of(cohort.n)
    seen = []
    for learner, strengths in (
        (RidgePropensity(problem, cohort.n), (10.0, 1.0)),
        (PurpleRisk(problem), (1e-2, 1e-3)),
    ):
        scarce = [learner.scarce(rows) for rows in folds]
        expected = int(np.searchsorted(np.cumsum(scarce), 300)) + 1
        monkeypatch.setattr("relprev.inference.nuisance.ENOUGH", 300)
        steps = []
        cross_fit(learner, folds, strengths, tuning_folds=None, advance=steps.append)
        fitted_later = sum(step.startswith("fold") for step in steps)
        again = expected if learner.relaxation > 1 else 0  # at a weaker strength than the best
        assert fitted_later == len(folds) - expected + again
        seen.append(expected)
    assert seen[0] < seen[1] <= 5  # a group's rows are many, diagnosed ones few


def test_the_choice_hardly_depends_on_the_number_of_tuning_folds(drawn):
    one, all_ = (DebiasedPURPLE(tuning_folds=k).fit(drawn.cohort) for k in (1, 5))
    ratios = [fit.relative_prevalence("b").to_frame()["estimate"][0] for fit in (one, all_)]
    error = one.relative_prevalence("b").to_frame()["std_error"][0]
    assert abs(np.log(ratios[0] / ratios[1])) < 0.2 * error


def test_the_slope_is_reported(drawn):
    strong = DebiasedPURPLE(lambdas=3e-3).fit(drawn.cohort)
    assert strong.risk_slope_ > 1.2
    assert np.isnan(DebiasedPURPLE(risk=None).fit(drawn.cohort).risk_slope_)


def test_only_fits_that_are_used_warn(drawn):
    """Weak penalties are tried, and cannot always be solved; the answer does not rest on them."""
    problem, folds = Problem.from_cohort(drawn.cohort), folds_of(drawn.cohort.n)
    stopped = PurpleRisk(problem, SolverOptions(tolerance=1e-9, max_iterations=1))
    found = stopped.fit(stopped.inputs(folds[0]), 1e-4, None)  # does not
    assert not found.certificate.converged
    with pytest.warns(ConvergenceWarning, match="stopped"):
        assert stopped.used(found) is found.parameters
    with pytest.warns(ConvergenceWarning) as said:
        cross_fit(stopped, folds, [1e-3, 1e-4], tuning_folds=5, advance=lambda _: None)
    assert len(said) == len(folds)  # one for each model that is used, none for those tried
