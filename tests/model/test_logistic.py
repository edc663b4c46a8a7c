from dataclasses import replace

import numpy as np
import pytest

from relprev import PURPLE
from relprev.errors import DataWarning
from relprev.model import logistic
from relprev.model.logistic import starting_points
from relprev.model.solver import null_parameters
from tests.conftest import random_problem


def test_starts_lie_between_the_diagnosed_share_and_one():
    problem = random_problem(np.random.default_rng(0))
    share = problem.diagnosed_rate.max()
    highest = [start.c.max() for start in starting_points(problem, None, 4)]
    np.testing.assert_allclose(highest, share ** (np.arange(4) / 4))


def test_a_warm_start_takes_the_place_of_the_first():
    problem = random_problem(np.random.default_rng(0))
    warm = replace(null_parameters(problem), b=0.5)
    starts = starting_points(problem, warm, 3)
    assert starts[0] is warm
    assert [start.b for start in starts[1:]] == [
        start.b for start in starting_points(problem, None, 3)[1:]
    ]


@pytest.mark.parametrize(("factor", "told"), [(1.5, True), (1.005, False)])
def test_optima_with_different_answers_are_told_where_fit_was_called(
    small, monkeypatch, recwarn, factor, told
):
    """Another optimum, as good as the best, whose first group has another mean of p(y=1|x)."""
    best_of = logistic.fit_best

    def two_optima(*arguments, **options):
        best = best_of(*arguments, **options)[0]
        moved = best.evaluation.condition * np.array([factor, 1.0])
        return [best, replace(best, evaluation=replace(best.evaluation, condition=moved))]

    monkeypatch.setattr(logistic, "fit_best", two_optima)
    X, s, groups = small
    PURPLE(lambdas=0.01).fit(X, s, groups=groups)
    said = [warning for warning in recwarn if "two starts fit equally well" in str(warning.message)]
    assert bool(said) == told
    for warning in said:
        assert issubclass(warning.category, DataWarning)
        assert "differ by up to 50.0%" in str(warning.message)
        assert warning.filename == __file__
