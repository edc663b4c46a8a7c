"""A model that gives every group its own symptoms."""

import pytest

from relprev.checks import Verdict, check_unconstrained
from tests.checks.conftest import ONE, make_cohort


@pytest.fixture(scope="module")
def different():
    """p(y|x) is not shared between the groups."""
    return make_cohort(n=20_000, own_symptoms=1.0, rates=(0.5, 0.6))[0]


def test_unconstrained_is_no_better_when_p_is_shared(steady):
    found = check_unconstrained(steady[0], ONE)
    assert found.verdict is Verdict.NO_CONCERN
    assert found.interval[0] < 0


def test_unconstrained_is_better_when_groups_differ(different):
    found = check_unconstrained(different, ONE)
    assert found.verdict is Verdict.CONCERN
    assert found.statistic > 0.01
