"""The same fit in memory, out of core and on a Dask cluster of separate processes."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from relprev import PURPLE, DebiasedPURPLE, as_cohort
from relprev.cohort import Cohort, write_parts
from relprev.errors import InvalidInputError
from relprev.model.likelihood import Parameters, Problem, evaluate, linear_predictor
from relprev.model.splits import split
from relprev.model.tuning import auc
from relprev.simulate import ed_visits
from tests.parts import cut

SAME = 1e-10


@pytest.fixture(scope="module")
def cohort():
    visits = ed_visits(30_000, n_codes=120, prevalence=0.1, seed=5).cohort
    weights = np.random.default_rng(1).uniform(0.5, 2.0, visits.n)
    return as_cohort(
        visits.X, visits.diagnosed, groups=visits.group_labels, sample_weight=weights,
        clusters=visits.clusters,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(cohort, tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "visits"
    write_parts(cut(cohort, 7_001), path)
    return path


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(scope="module", params=["out of core", "cluster"])
def parts(request, folder):
    client = request.getfixturevalue("client") if request.param == "cluster" else None
    return Cohort.open(folder, client)


def some_parameters(problem):
    rng = np.random.default_rng(2)
    rates = np.log(rng.uniform(0.2, 0.9, problem.n_groups))
    return Parameters(0.5 * rng.normal(size=problem.n_cols), -3.0, rates)


def test_loss_and_gradient_are_sums_over_parts(cohort, parts):
    whole, cut_up = Problem.from_cohort(cohort), Problem.from_cohort(parts)
    at = some_parameters(whole)
    one, other = evaluate(whole, at), evaluate(cut_up, at)
    for name in ("loss", "grad_w", "grad_b", "grad_theta", "condition", "curvature"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(cut_up.group_weight, whole.group_weight, rtol=1e-13)
    np.testing.assert_allclose(cut_up.feature_size, whole.feature_size)


def test_some_rows_of_parts_are_those_of_the_whole(cohort, parts):
    rows = np.sort(np.random.default_rng(0).choice(cohort.n, 9_000, replace=False))
    rows = rows[(rows < 7_001) | (rows > 15_000)]  # one part keeps no row
    whole, cut_up = Problem.from_cohort(cohort).take(rows), Problem.from_cohort(parts).take(rows)
    assert cut_up.n == whole.n
    at = some_parameters(whole)
    assert evaluate(cut_up, at).loss == pytest.approx(evaluate(whole, at).loss, rel=1e-12)
    together = cut_up.collected()
    np.testing.assert_array_equal(together.in_memory().s, whole.in_memory().s)
    np.testing.assert_allclose(together.in_memory().omega, whole.in_memory().omega, rtol=1e-12)


def test_auc_is_scikit_learns(cohort, parts):
    whole = Problem.from_cohort(cohort)
    at = some_parameters(whole)
    at = Parameters(np.round(at.w), at.b, at.theta)  # many ties
    p = at.c[whole.in_memory().g] / (1 + np.exp(-linear_predictor(whole.in_memory(), at)))
    expected = roc_auc_score(whole.in_memory().s, p, sample_weight=whole.in_memory().omega)
    assert auc(whole, at) == pytest.approx(expected, rel=1e-12)
    assert auc(Problem.from_cohort(parts), at) == pytest.approx(expected, rel=1e-12)


def test_splits_are_the_same_and_patients_stay_together(cohort, parts):
    in_memory, in_parts = split(cohort, [0.7, 0.3], 3), split(parts, [0.7, 0.3], 3)
    for one, other in zip(in_memory, in_parts, strict=True):
        np.testing.assert_array_equal(one, other)
    patients = parts.clusters
    assert not set(patients[in_parts[0]]) & set(patients[in_parts[1]])


@pytest.mark.parametrize("selection", ["likelihood", "auc"])
def test_fit_gives_the_same_numbers(selection, cohort, parts):
    lambdas = [1e-3, 1e-4, 1e-5]
    one = PURPLE(lambdas, selection=selection).fit(cohort)
    other = PURPLE(lambdas, selection=selection).fit(parts)
    assert one.lambda_ == other.lambda_
    expected, found = (fit.relative_prevalence().to_frame() for fit in (one, other))
    columns = ["estimate", "observed_ratio", "diagnosis_ratio", "n", "n_diagnosed"]
    np.testing.assert_allclose(
        found[columns].to_numpy(float), expected[columns].to_numpy(float), rtol=SAME
    )
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=0, atol=1e-8)


def test_small_problems_are_collected(cohort, tmp_path):
    few = cohort.take(np.arange(12_000))
    write_parts(cut(few, 3_200), tmp_path / "few")
    parts = Cohort.open(tmp_path / "few")
    one, other = PURPLE(1e-3).fit(few), PURPLE(1e-3).fit(parts)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=0, atol=1e-10)


def test_leakage_is_found_in_parts(cohort, tmp_path):
    values = np.column_stack([cohort.diagnosed, cohort.diagnosed[::-1]]).astype(float)
    leaky = as_cohort(values, cohort.diagnosed, groups=cohort.group_labels)
    write_parts(cut(leaky, 11_000), tmp_path / "leaky")
    with pytest.raises(InvalidInputError, match="column 0 equals s"):
        PURPLE().fit(Cohort.open(tmp_path / "leaky"))


def test_what_needs_memory_says_so(parts):
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(InvalidInputError, match="needs a cohort in memory"):
        PURPLE(1e-3, learner=LogisticRegression()).fit(parts)
    for name in ("propensity", "risk"):
        with pytest.raises(InvalidInputError, match=f"a classifier as {name} needs a cohort in"):
            DebiasedPURPLE(strengths=[10.0], lambdas=1e-3).set_params(
                **{name: LogisticRegression()}
            ).fit(parts)
    with pytest.raises(
        InvalidInputError,
        match=r"Cohort\.X needs a cohort in memory, but this one is kept in parts",
    ):
        as_cohort(parts).X  # noqa: B018
    with pytest.raises(InvalidInputError, match=r"X is a Cohort.*leave out"):
        PURPLE().fit(parts, [0, 1])


def test_a_lost_worker_does_not_change_the_answer(cohort, folder, client):
    parts = Cohort.open(folder, client)
    problem = Problem.from_cohort(parts)
    at = some_parameters(problem)
    before = evaluate(problem, at)
    victim = next(iter(client.scheduler_info()["workers"]))
    client.restart_workers([victim])
    after = evaluate(problem, at)
    assert after.loss == before.loss
    np.testing.assert_array_equal(after.grad_w, before.grad_w)
