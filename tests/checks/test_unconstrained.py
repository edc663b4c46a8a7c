"""A model that gives every group its own symptoms."""

import numpy as np
import pytest

from relprev import PURPLE, as_cohort
from relprev.checks import Verdict, check_unconstrained
from relprev.errors import ConvergenceWarning
from relprev.simulate import ed_visits
from tests.checks.conftest import ONE, make_cohort


@pytest.fixture(scope="module")
def different():
    """p(y|x) is not shared between the groups."""
    return make_cohort(n=20_000, own_symptoms=1.0, rates=(0.5, 0.6))[0]


def test_unconstrained_is_no_better_when_p_is_shared(steady):
    found = check_unconstrained(steady[0], ONE, margin=2.0)
    assert found.verdict is Verdict.NO_CONCERN
    assert found.interval[0] == 1
    assert (found.table.groupby("metric")["difference"].mean() < 0.002).all()


def test_unconstrained_is_better_when_groups_differ(different):
    found = check_unconstrained(different, ONE)
    assert found.verdict is Verdict.CONCERN
    assert found.interval[0] > 2
    assert found.table.groupby("metric")["difference"].mean()["AUC"] > 0.01


def test_few_cases_cannot_exclude_that_groups_differ():
    found = check_unconstrained(make_cohort(n=3000)[0], ONE)
    assert found.verdict is Verdict.CANNOT_TELL
    assert "neither found nor excluded" in str(found.effect)


def test_models_that_predict_the_same_cannot_be_told_apart():
    found = check_unconstrained(make_cohort(n=3000)[0], PURPLE(lambdas=[10.0]))
    assert found.verdict is Verdict.CANNOT_TELL
    assert "predict the same" in str(found.effect)


@pytest.fixture(scope="module")
def separable():
    """2,694 visits: in a third of them, 120 codes separate the diagnosed from the others."""
    cohort = ed_visits(2_694, n_codes=120, prevalence=0.25, seed=3).cohort
    region = np.array(["North", "South", "West"])[np.random.default_rng(0).integers(0, 3, cohort.n)]
    return as_cohort(cohort.X.to_scipy(), cohort.diagnosed, groups=region)


def test_penalties_that_are_not_used_do_not_warn(separable):
    """A small study warned of fits without a penalty, which it had only tried."""
    assert check_unconstrained(separable).verdict is Verdict.CANNOT_TELL


def test_a_fit_that_is_used_warns(separable):
    with pytest.warns(ConvergenceWarning, match="l1 = 0"):
        check_unconstrained(separable, PURPLE(lambdas=[1e-6, 0.0], selection="auc"))
