import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from relprev import PURPLE, as_cohort
from relprev.errors import ConvergenceWarning, InvalidInputError


def _ratio(est):
    return est.relative_prevalence("b").to_frame().loc[0, "estimate"]


def test_logistic_learner_agrees_with_the_direct_fit(gauss):
    direct = PURPLE(lambdas=0.0, ridge_floor=0.0).fit(gauss.cohort)
    by_em = PURPLE(lambdas=0.0, learner=LogisticRegression(C=np.inf)).fit(gauss.cohort)
    assert _ratio(by_em) == pytest.approx(_ratio(direct), rel=2e-3)
    assert by_em.diagnosis_ratios_["a"] == pytest.approx(direct.diagnosis_ratios_["a"], rel=5e-3)


def test_likelihood_rises_in_every_step(gauss):
    start = PURPLE(lambdas=0.05, learner=LogisticRegression(C=np.inf)).fit(gauss.cohort)
    losses = np.array(start.losses_)
    assert len(losses) > 3
    assert (np.diff(losses) <= 1e-9).all()


def test_flexible_learner_finds_what_a_logistic_model_cannot():
    """p(y|x) depends on |x_0|, and group b has the wider spread of x_0."""
    rng = np.random.default_rng(0)
    n = 6_000
    g = np.repeat(["a", "b"], n)
    x = rng.normal(size=(2 * n, 2)) * np.where(g == "a", 0.7, 1.6)[:, None]
    p = expit(2.5 * np.abs(x[:, 0]) - 3)
    s = rng.random(2 * n) < p * np.where(g == "a", 0.8, 0.3)
    truth = p[g == "a"].mean() / p[g == "b"].mean()
    cohort = as_cohort(x, s, groups=g)
    tree = DecisionTreeClassifier(max_leaf_nodes=12, min_samples_leaf=150, random_state=0)
    plain = PURPLE(lambdas=0.0).fit(cohort)
    flexible = PURPLE(lambdas=0.0, learner=tree).fit(cohort)
    assert abs(np.log(_ratio(plain) / truth)) > 0.5
    assert abs(np.log(_ratio(flexible) / truth)) < 0.15


def test_sparse_codes_work_with_a_learner(visits):
    learner = LogisticRegression(C=10.0, max_iter=200)
    with pytest.warns(ConvergenceWarning, match="EM did not settle"):
        est = PURPLE(lambdas=1e-4, learner=learner, em_iterations=3).fit(visits.cohort)
    p = est.predict_diagnosis(visits.cohort.X, visits.cohort.group_labels)
    assert ((p > 0) & (p < 1)).all()


def test_learner_without_sample_weights_is_refused(gauss):
    with pytest.raises(InvalidInputError, match="sample_weight"):
        PURPLE(lambdas=0.0, learner=KNeighborsClassifier()).fit(gauss.cohort)


def test_thing_that_is_no_classifier_is_refused(gauss):
    with pytest.raises(InvalidInputError, match="learner must have the method fit"):
        PURPLE(lambdas=0.0, learner=object()).fit(gauss.cohort)
