import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from relprev.errors import ConvergenceWarning
from relprev.model.likelihood import Parameters, Problem, evaluate
from relprev.model.path import ridge
from relprev.model.quadratic import Penalty
from relprev.model.solver import (
    SolverOptions,
    gradient_scale,
    kkt_residual,
    null_parameters,
    solve,
)
from relprev.parallel.threads import use_threads
from relprev.simulate import gauss_synth
from tests.conftest import LASSO, design_of

STRICT = SolverOptions(tolerance=1e-8, ratio_tolerance=1e-8)
KINDS = ("dense", "float", "binary")


def _binary_problem(kind, n=4000, p=30, seed=0, groups=2):
    rng = np.random.default_rng(seed)
    matrix = (rng.random((n, p)) < 0.2).astype(float)
    w = np.where(np.arange(p) < 8, rng.normal(size=p), 0.0)
    g = rng.integers(0, groups, n).astype(np.uint8)
    c = np.linspace(0.3, 0.8, groups)
    s = (rng.random(n) < c[g] * expit(matrix @ w - 0.5)).astype(np.uint8)
    return Problem.of(design_of(matrix, kind), s, g, np.full(n, 1 / n), groups)


def _independent_kkt(problem, solution):
    """Optimality residual from dense formulas that share no code with the solver."""
    rows = problem.in_memory()
    X = rows.X.to_scipy()
    X = X if isinstance(X, np.ndarray) else X.toarray()
    at, penalty = solution.parameters, solution.penalty
    sick = expit(X @ at.w + at.b)
    p = at.c[rows.g] * sick
    slope_p = np.where(rows.s == 1, -1 / p, 1 / (1 - p)) * rows.omega
    grad_z = slope_p * p * (1 - sick)
    grad_w = X.T @ grad_z + penalty.l2 * at.w
    on_w = np.where(
        at.w != 0,
        np.abs(grad_w + penalty.l1 * np.sign(at.w)),
        np.maximum(abs(grad_w) - penalty.l1, 0),
    )
    on_theta = np.bincount(rows.g, slope_p * p, minlength=problem.n_groups)
    on_theta = np.where(at.theta < 0, np.abs(on_theta), np.maximum(on_theta, 0))
    return max(on_w.max(), abs(grad_z.sum()), on_theta.max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l1", [3e-3, 1e-3, 0.0])
def test_solution_meets_optimality_conditions_computed_independently(kind, l1):
    problem = _binary_problem(kind)
    solution = solve(problem, Penalty(l1, np.full(30, 1e-6)), options=STRICT)
    assert solution.certificate.converged
    assert _independent_kkt(problem, solution) <= 2e-8 * gradient_scale(problem)
    assert solution.certificate.kkt <= 1e-8


@pytest.mark.parametrize("l1", [1e-2, 1e-3])
def test_one_group_always_diagnosed_equals_l1_logistic_regression(l1):
    problem = _binary_problem("binary", groups=1)
    X = problem.in_memory().X.to_scipy()
    start = Parameters(np.zeros(30), 0.0, np.zeros(1))
    ours = solve(problem, Penalty(l1, np.zeros(30)), start, fit_rates=False, options=STRICT)
    saga = LogisticRegression(
        **LASSO, C=1 / (l1 * 4000), solver="saga", tol=1e-10, max_iter=20_000
    ).fit(X, problem.in_memory().s)
    np.testing.assert_allclose(ours.parameters.w, saga.coef_[0], atol=1e-5)
    assert ours.parameters.b == pytest.approx(saga.intercept_[0], abs=1e-5)
    assert ours.parameters.theta[0] == 0.0


@pytest.mark.parametrize("l1", [1e-3, 0.0])
def test_all_kinds_of_design_give_the_same_solution(l1):
    ridge_ = np.full(30, 1e-6)
    found = [solve(_binary_problem(kind), Penalty(l1, ridge_), options=STRICT) for kind in KINDS]
    for other in found[1:]:
        np.testing.assert_allclose(other.parameters.w, found[0].parameters.w, atol=1e-5)
        np.testing.assert_allclose(other.parameters.theta, found[0].parameters.theta, atol=1e-5)


@pytest.mark.parametrize("largest_rate", [1.0, 0.7, 0.5])
def test_every_start_ends_at_the_same_optimum(largest_rate):
    problem = Problem.from_cohort(gauss_synth((0.5, 0.3), n=(2000, 4000), seed=1).cohort)
    penalty = Penalty(1e-3, np.full(5, 1e-8))
    start = null_parameters(problem, largest_rate)
    found = solve(problem, penalty, start, options=STRICT)
    reference = solve(problem, penalty, options=STRICT)
    np.testing.assert_allclose(found.parameters.w, reference.parameters.w, atol=1e-5)
    assert found.certificate.objective == pytest.approx(reference.certificate.objective, rel=1e-9)


def test_sampled_curvature_leads_to_the_same_optimum(visits):
    problem = Problem.from_cohort(visits.cohort)
    penalty = Penalty(1e-4, ridge(problem, 0.0, 1e-5))
    whole = solve(problem, penalty, options=SolverOptions(1e-7, 1e-7, curvature_rows=10**9))
    sampled = solve(problem, penalty, options=SolverOptions(1e-7, 1e-7, curvature_rows=3000))
    assert sampled.certificate.objective == pytest.approx(whole.certificate.objective, rel=1e-10)
    np.testing.assert_allclose(sampled.parameters.w, whole.parameters.w, atol=1e-3)


def test_solution_is_reproducible_to_the_bit(visits, monkeypatch):
    problem = Problem.from_cohort(visits.cohort)
    penalty = Penalty(1e-4, ridge(problem, 0.0, 1e-5))
    seen = set()
    for threads in (1, 2):
        with use_threads(threads):
            seen.add(solve(problem, penalty).parameters.w.tobytes())
    assert len(seen) == 1


def test_penalty_at_the_gradient_scale_removes_all_features():
    problem = _binary_problem("binary")
    top = gradient_scale(problem)
    above = solve(problem, Penalty(top * 1.0001, np.zeros(30)), options=STRICT)
    below = solve(problem, Penalty(top * 0.98, np.zeros(30)), options=STRICT)
    assert not above.parameters.w.any()
    assert below.parameters.w.any()


def test_diagnosis_rate_stops_at_one_when_the_data_want_more():
    """Every sick row of group 1 is diagnosed, so its rate belongs at the bound."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 2))
    g = rng.integers(0, 2, 3000).astype(np.uint8)
    y = rng.random(3000) < expit(1.5 * x[:, 0])
    s = (y & (rng.random(3000) < np.where(g == 1, 1.0, 0.4))).astype(np.uint8)
    problem = Problem.of(design_of(x, "dense"), s, g, np.full(3000, 1 / 3000), 2)
    solution = solve(problem, Penalty(0.02, np.zeros(2)), options=STRICT)
    assert solution.parameters.theta[1] == 0.0
    assert solution.evaluation.grad_theta[1] < 0  # it would rise if it could
    assert _independent_kkt(problem, solution) <= 2e-8 * gradient_scale(problem)


def test_group_without_cases_gets_rate_zero_and_leaves_the_others_alone():
    problem = _binary_problem("binary", groups=3)
    rows = problem.in_memory()
    s = np.where(rows.g == 2, 0, rows.s).astype(np.uint8)
    silent = Problem.of(rows.X, s, rows.g, rows.omega, 3)
    rest = problem.take(np.flatnonzero(rows.g < 2)).in_memory()
    rest = Problem.of(rest.X, rest.s, rest.g, rest.omega, 2)
    share = silent.group_weight[:2].sum()
    a = solve(silent, Penalty(1e-3 * share, np.zeros(30)), options=STRICT)
    b = solve(rest, Penalty(1e-3, np.zeros(30)), options=STRICT)
    assert a.parameters.c[2] == 0.0
    np.testing.assert_allclose(a.parameters.w, b.parameters.w, atol=1e-5)


def test_codes_never_seen_with_a_diagnosis_get_finite_coefficients():
    rng = np.random.default_rng(5)
    matrix = (rng.random((5000, 200)) < 0.01).astype(float)
    g = rng.integers(0, 2, 5000).astype(np.uint8)
    s = ((rng.random(5000) < 0.05) & (matrix[:, :150].sum(axis=1) == 0)).astype(np.uint8)
    problem = Problem.of(design_of(matrix, "binary"), s, g, np.full(5000, 1 / 5000), 2)
    solution = solve(problem, Penalty(0.0, ridge(problem, 0.0, 1e-5)))
    assert solution.certificate.reason == "kkt"
    assert solution.certificate.iterations < 60
    assert solution.certificate.ratio_change < 1e-4
    assert np.abs(solution.parameters.w).max() < 30


def test_stopping_early_warns_with_the_residual_and_the_remedy():
    problem = _binary_problem("binary")
    with pytest.warns(ConvergenceWarning, match=r"residual .* above the tolerance.*max_iterations"):
        found = solve(problem, Penalty(1e-4, np.zeros(30)), options=SolverOptions(max_iterations=1))
    assert not found.certificate.converged
    assert found.certificate.reason == "max_iterations"


@pytest.mark.parametrize("seed", range(8))
def test_features_that_say_nothing_are_not_measured_by_their_rounding(seed):
    """Every group has one value of x, so the gradient in w is zero but for rounding (1e-17).

    The residual was measured in units of that rounding, and never small.
    """
    rng = np.random.default_rng(seed)
    g = (np.arange(60) % 2).astype(np.uint8)
    s = (rng.random(60) < 0.3).astype(np.uint8)
    s[:4] = [1, 1, 0, 0]
    omega = rng.random(60)
    problem = Problem.of(design_of((1.0 - g)[:, None], "dense"), s, g, omega / omega.sum(), 2)
    assert gradient_scale(problem) > 1e-3
    assert solve(problem, Penalty(0.01, np.zeros(1))).certificate.reason == "kkt"


def test_objective_falls_as_the_penalty_falls():
    problem = _binary_problem("binary")
    values = [
        solve(problem, Penalty(l1, np.zeros(30))).certificate.objective for l1 in (1e-2, 1e-3, 1e-4)
    ]
    assert values == sorted(values, reverse=True)


def test_certificate_repeats_the_residual_of_its_parameters():
    problem = _binary_problem("float")
    found = solve(problem, Penalty(1e-3, np.zeros(30)))
    again = evaluate(problem, found.parameters)
    residual = kkt_residual(found.parameters, again, found.penalty, np.ones(2, bool))
    assert residual / gradient_scale(problem) == pytest.approx(found.certificate.kkt, rel=1e-6)
