import numpy as np
import pytest

from relprev.errors import InvalidInputError
from relprev.model.likelihood import Problem
from relprev.model.path import PAPER_GRID, fit_best, fit_path, grid, lambda_max, ridge
from relprev.model.solver import null_parameters


@pytest.fixture(scope="module")
def problem(visits):
    return Problem.from_cohort(visits.cohort)


def test_paper_grid_is_the_papers(problem):
    assert grid("paper", problem) == PAPER_GRID == (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0.0)


def test_log_grid_falls_from_lambda_max_to_zero(problem):
    values = grid("log", problem)
    assert values[0] == pytest.approx(lambda_max(problem))
    assert values[-1] == 0.0
    assert list(values) == sorted(values, reverse=True)


def test_given_penalties_are_sorted_and_unique(problem):
    assert grid([0.0, 1e-3, 1e-3, 1e-2], problem) == (1e-2, 1e-3, 0.0)
    assert grid(0.5, problem) == (0.5,)


@pytest.mark.parametrize("bad", ["papr", [-1.0], [np.nan], []])
def test_bad_penalties_are_refused(bad, problem):
    with pytest.raises(InvalidInputError, match="lambdas"):
        grid(bad, problem)


def test_first_fit_of_the_log_grid_has_no_features(problem):
    path = fit_path(problem, grid("log", problem)[:2])
    assert not path[0].parameters.w.any()
    assert path[1].parameters.w.any()


def test_more_features_enter_as_the_penalty_falls(problem):
    counts = [
        np.count_nonzero(point.parameters.w) for point in fit_path(problem, [1e-3, 1e-4, 1e-5, 0.0])
    ]
    assert counts == sorted(counts)
    assert counts[-1] == np.count_nonzero(problem.in_memory().X.rmatvec(np.ones(problem.n)))


def test_ridge_floor_follows_the_scale_of_features_not_the_number_of_rows(problem):
    rows = np.arange(problem.n)
    twice = problem.take(np.concatenate([rows, rows]))
    np.testing.assert_allclose(ridge(twice, 0.0, 1e-5), ridge(problem, 0.0, 1e-5), rtol=1e-9)
    assert ridge(problem, 0.3, 0.0).tolist() == [0.3] * 300


def test_best_of_several_starts_comes_first(problem):
    starts = [null_parameters(problem, rate) for rate in (1.0, 0.5)]
    found = fit_best(problem, 1e-4, starts)
    assert found[0].certificate.objective <= found[1].certificate.objective
