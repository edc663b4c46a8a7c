import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from relprev import PURPLE
from relprev.errors import InvalidInputError
from relprev.model.likelihood import Parameters, Problem
from relprev.model.solver import SolverOptions
from relprev.model.splits import split
from relprev.model.tuning import auc, tune
from relprev.simulate import ed_visits


def test_auc_score_is_that_of_the_predicted_diagnosis(visits):
    problem = Problem.from_cohort(visits.cohort)
    at = Parameters(
        np.random.default_rng(0).normal(size=300) / 5, -2.0, np.log([0.2, 0.4, 0.3, 0.1])
    )
    z = visits.cohort.X.matvec(at.w) + at.b
    p = at.c[visits.cohort.groups] / (1 + np.exp(-z))
    assert auc(problem, at) == pytest.approx(roc_auc_score(visits.cohort.diagnosed, p), abs=1e-12)


@pytest.mark.parametrize("method", ["likelihood", "auc"])
def test_the_log_likelihood_is_that_of_the_rows_held_out(visits, method):
    cohort = visits.cohort
    train, held_out = (cohort.take(rows) for rows in split(cohort, (0.7, 0.3), 0))
    found = tune(
        train, Problem.from_cohort(train), [1e-3, 1e-4], method=method,
        validation=Problem.from_cohort(held_out), l2=0.0, ridge_floor=1e-6, options=SolverOptions(),
    )  # fmt: skip
    at = found.path[1].parameters
    p = at.c[held_out.groups] / (1 + np.exp(-(held_out.X.matvec(at.w) + at.b)))
    logs = np.where(held_out.diagnosed == 1, np.log(p), np.log1p(-p))
    assert found.log_likelihood[1, 0] == pytest.approx(logs.sum(), rel=1e-10)


@pytest.mark.parametrize("method", ["likelihood", "auc", "cv"])
def test_every_method_picks_the_penalty_with_the_best_score(visits, method):
    est = PURPLE(selection=method, folds=3, lambdas=[1e-2, 1e-4, 1e-5]).fit(visits.cohort)
    table = est.selection_
    assert table["score"].idxmax() == table.index[table["chosen"]][0]
    assert est.lambda_ == table.loc[table["chosen"], "lambda"].item()


def test_given_validation_rows_are_used_and_there_is_no_refit(visits):
    cohort = visits.cohort
    train, validation, _ = (cohort.take(rows) for rows in split(cohort, (0.6, 0.2, 0.2), 0))
    est = PURPLE().fit(train, validation=validation)
    fixed = PURPLE(lambdas=est.lambda_).fit(train)
    np.testing.assert_allclose(est.coef_, fixed.coef_, atol=2e-3)


def test_likelihood_keeps_features_on_a_rare_condition():
    rare = ed_visits(40_000, n_codes=300, prevalence=0.02, seed=8)
    est = PURPLE(lambdas="log").fit(rare.cohort)
    assert np.count_nonzero(est.coef_) > 0


def test_unknown_method_is_refused(visits):
    with pytest.raises(InvalidInputError, match="selection must be one of"):
        PURPLE(selection="aic").fit(visits.cohort)
