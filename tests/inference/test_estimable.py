"""Groups with too few cases: what is said about them declares its counts, and tells none."""

import re
import warnings

import numpy as np
import pytest

from relprev import DebiasedPURPLE
from relprev.disclosure import Rule, shown
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.inference.estimable import rows_used
from relprev.messages import Count, Message, message_of
from relprev.model.splits import split
from relprev.simulate import ed_visits


@pytest.fixture(scope="module")
def cohort():
    return ed_visits(6_000, n_codes=60, prevalence=0.4, seed=3).cohort


def with_few(cohort, count):
    """The first group keeps that many diagnosed patients."""
    inside = np.flatnonzero((cohort.groups == 0) & (cohort.diagnosed == 1))
    diagnosed = cohort.diagnosed.copy()
    diagnosed[inside[count:]] = 0
    return cohort.with_values(diagnosed=diagnosed).without("clusters")


def hidden(said: BaseException) -> str:
    """As a study shows it: every count of people in the same words."""
    message = message_of(said)
    assert isinstance(message, Message), f"plain text: {said}"
    return message.render(lambda item: "few" if isinstance(item, Count) else str(item))


def said_by(cohort) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        DebiasedPURPLE(lambdas=1e-3, strengths=[10.0]).fit(cohort)
    return sorted(hidden(w.message) for w in caught)


def test_no_wording_tells_two_to_ten_diagnosed_patients_apart(cohort):
    """ "4 folds are used instead of 5" meant exactly 4, and "fewer folds" 2 to 4."""
    seen = {tuple(said_by(with_few(cohort, count))) for count in (2, 4, 5, 10)}
    assert len(seen) == 1
    assert any("too few diagnosed patients for 5 folds" in words for words in seen.pop())


def test_nobody_and_one_diagnosed_read_alike(cohort):
    """Of one it was said that there were few, of none that there were 0."""
    rule = Rule()
    seen = set()
    for count in (0, 1):
        with pytest.warns(DataWarning) as caught:
            DebiasedPURPLE(risk=None, strengths=[1.0]).fit(with_few(cohort, count))
        seen.add(tuple(shown(message_of(item.message), rule) for item in caught))
    assert len(seen) == 1
    assert "no estimate for Group A: too few diagnosed patients" in seen.pop()[0]


@pytest.mark.parametrize("count", [1, 3])
def test_a_split_with_too_few_patients_does_not_say_how_many(cohort, count):
    few = with_few(cohort, count)
    with pytest.raises(TooFewCasesError) as caught:
        split(few, [1.0] * 5, seed=0)
    assert hidden(caught.value) == (
        "group 'Group A' has too few diagnosed patients (few) for a split; merge the group with "
        "another, or fit without a split (a single lambda)"
    )
    assert re.search(rf"\({count} diagnosed patients?\)", str(caught.value))


def test_the_rows_used_are_those_of_groups_with_an_estimate(cohort):
    few = with_few(cohort, 1)
    with pytest.warns(DataWarning):
        fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(few)
    used = rows_used(fitted, few)
    assert used.group_names == fitted.moments_.names == ("Group B", "Group C", "Group D")
    assert used.n == len(fitted.rows_) == int((few.groups != 0).sum())


def test_another_cohort_is_refused(cohort):
    fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(cohort)
    other = cohort.take(np.arange(cohort.n - 1))
    with pytest.raises(InvalidInputError, match="is not the one that the estimator was fitted to"):
        rows_used(fitted, other)


def test_a_domain_without_rows_is_refused(cohort):
    with pytest.raises(InvalidInputError, match="domain must hold some rows"):
        DebiasedPURPLE(risk=None).fit(cohort, domain=np.zeros(cohort.n, dtype=bool))
