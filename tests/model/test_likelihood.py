import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss

from relprev.model.likelihood import Parameters, Problem, evaluate
from relprev.parallel.threads import use_threads
from tests.conftest import design_of, random_problem

KINDS = ("dense", "float", "binary")


def _parameters(rng, problem, largest=0.9):
    c = rng.uniform(0.2, largest, problem.n_groups)
    return Parameters(rng.normal(size=problem.n_cols), 0.3, np.log(c))


def _naive_loss(problem, at):
    rows = problem.in_memory()
    p = at.c[rows.g] * expit(rows.X.to_scipy() @ at.w + at.b)
    return -rows.omega @ np.where(rows.s == 1, np.log(p), np.log1p(-p))


def test_loss_of_two_rows_by_hand():
    problem = Problem.of(
        design_of(np.array([[1.0], [0.0]]), "dense"), np.array([1, 0], np.uint8),
        np.array([0, 1], np.uint8), np.array([0.25, 0.75]), 2,
    )  # fmt: skip
    at = Parameters(np.array([np.log(3.0)]), 0.0, np.log([0.4, 0.5]))
    # row 1: p = 0.4 * 3/4 = 0.3, diagnosed; row 2: p = 0.5 * 1/2 = 0.25, not diagnosed
    found = evaluate(problem, at)
    assert found.loss == pytest.approx(-0.25 * np.log(0.3) - 0.75 * np.log(0.75), rel=1e-14)
    assert found.grad_w[0] == pytest.approx(0.25 * (0.75 - 1), rel=1e-14)
    assert found.grad_b == pytest.approx(0.25 * -0.25 + 0.75 * 0.25 * 0.5 / 0.75, rel=1e-14)
    np.testing.assert_allclose(found.grad_theta, [-0.25, 0.75 * 0.25 / 0.75], rtol=1e-14)
    np.testing.assert_allclose(found.condition, [0.25 * 0.75, 0.75 * 0.5], rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("groups", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_agrees_with_finite_differences(kind, groups, weighted):
    rng = np.random.default_rng(groups)
    problem = random_problem(rng, kind, groups=groups, weighted=weighted)
    at = _parameters(rng, problem)
    found = evaluate(problem, at)
    assert found.loss == pytest.approx(_naive_loss(problem, at), rel=1e-12)
    p = problem.n_cols
    x0 = np.concatenate([at.w, [at.b], at.theta])

    def loss(x):
        return evaluate(problem, Parameters(x[:p], float(x[p]), x[p + 1 :])).loss

    numeric = [(loss(x0 + h) - loss(x0 - h)) / 2e-6 for h in 1e-6 * np.eye(len(x0))]
    exact = np.concatenate([found.grad_w, [found.grad_b], found.grad_theta])
    np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-9)


def test_one_group_always_diagnosed_is_logistic_regression():
    rng = np.random.default_rng(4)
    problem = random_problem(rng, groups=1, weighted=True)
    at = Parameters(rng.normal(size=5), -0.2, np.zeros(1))
    rows = problem.in_memory()
    p = expit(rows.X.to_scipy() @ at.w + at.b)
    expected = log_loss(rows.s, p, sample_weight=rows.omega)
    assert evaluate(problem, at).loss == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("z", [-600.0, -40.0, 40.0, 600.0])
@pytest.mark.parametrize("c", [0.3, 1.0])
def test_extreme_scores_give_finite_and_exact_values(z, c):
    problem = Problem.of(
        design_of(np.array([[1.0], [1.0]]), "dense"), np.array([1, 0], np.uint8),
        np.zeros(2, np.uint8), np.array([0.5, 0.5]), 1,
    )  # fmt: skip
    found = evaluate(problem, Parameters(np.array([z]), 0.0, np.log([c])))
    softplus = np.logaddexp(0, z)
    undiagnosed = softplus - (np.logaddexp(0, z + np.log1p(-c)) if c < 1 else 0.0)
    assert found.loss == pytest.approx(
        0.5 * (softplus - z - np.log(c)) + 0.5 * undiagnosed, rel=1e-12
    )
    assert np.isfinite(found.grad_w).all()


def test_weight_two_equals_a_duplicated_row():
    rng = np.random.default_rng(1)
    problem = random_problem(rng, "binary", weighted=False)
    at = _parameters(rng, problem)
    weights = np.ones(60)
    weights[:20] = 2.0
    rows = np.concatenate([np.arange(60), np.arange(20)])
    doubled = problem.take(rows)
    own = problem.in_memory()
    weighted = Problem.of(own.X, own.s, own.g, weights / 80, problem.n_groups)
    a, b = evaluate(doubled, at), evaluate(weighted, at)
    assert a.loss == pytest.approx(b.loss, rel=1e-13)
    np.testing.assert_allclose(a.grad_w, b.grad_w, rtol=1e-11)


def test_order_of_rows_does_not_matter():
    rng = np.random.default_rng(2)
    problem = random_problem(rng, "float")
    at = _parameters(rng, problem)
    shuffled = problem.take(rng.permutation(60))
    assert evaluate(problem, at).loss == pytest.approx(evaluate(shuffled, at).loss, rel=1e-13)


def test_curvature_is_the_expected_squared_slope():
    """Fisher information: E[(d loss / dz)^2] over s, given x and g."""
    z, c = 0.7, 0.6
    p = c * expit(z)
    slopes = np.array([-expit(-z), p * expit(-z) / (1 - p)])
    expected = p * slopes[0] ** 2 + (1 - p) * slopes[1] ** 2
    problem = Problem.of(
        design_of(np.array([[1.0]]), "dense"), np.array([0], np.uint8), np.zeros(1, np.uint8),
        np.ones(1), 1,
    )  # fmt: skip
    found = evaluate(problem, Parameters(np.array([z]), 0.0, np.log([c])))
    assert found.curvature == pytest.approx(expected, rel=1e-13)


def test_results_are_the_same_bits_for_any_number_of_threads(visits):
    problem = Problem.from_cohort(visits.cohort)
    at = Parameters(np.random.default_rng(0).normal(size=300), -2.0, np.log(np.full(4, 0.3)))
    seen = set()
    for threads in (1, 2, 3):
        with use_threads(threads):
            found = evaluate(problem, at)
        seen.add(found.grad_w.tobytes() + np.float64(found.loss).tobytes())
    assert len(seen) == 1
