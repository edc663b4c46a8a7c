"""What checks are given."""

import numpy as np
import pytest

from relprev.checks.inputs import CheckInputs, sample_patients, well_diagnosed
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.simulate import ed_visits


@pytest.fixture(scope="module")
def visits():
    return ed_visits(20_000, n_codes=50, seed=0).cohort


def test_estimators_are_fitted_once_and_only_if_asked_for(visits):
    fits = []

    def fit():
        fits.append("purple")
        return "fitted"

    inputs = CheckInputs(visits, fit, pytest.fail)
    assert not fits
    assert (inputs.purple, inputs.purple) == ("fitted", "fitted")
    assert fits == ["purple"]


def test_sample_holds_whole_patients_and_the_seed_decides_which(visits):
    sample = sample_patients(visits, 5_000, 0)
    assert 4_000 < sample.n <= 5_000
    drawn = set(sample.clusters)
    assert np.isin(visits.clusters, list(drawn)).sum() == sample.n
    assert drawn == set(sample_patients(visits, 5_000, 0).clusters)
    assert drawn != set(sample_patients(visits, 5_000, 1).clusters)


def test_sample_of_visits_where_patients_are_not_known(visits):
    assert sample_patients(visits.without("clusters"), 5_000, 0).n == 5_000


def test_few_visits_are_all_taken(visits):
    sample = sample_patients(visits, 20_000, 0)
    np.testing.assert_array_equal(sample.clusters, visits.clusters)
    np.testing.assert_array_equal(sample.diagnosed, visits.diagnosed)


def with_diagnosed(cohort, count):
    """The cohort without patients' numbers, whose first group has that many diagnosed."""
    hit = np.flatnonzero((cohort.groups == 0) & (cohort.diagnosed == 1))
    diagnosed = cohort.diagnosed.copy()
    diagnosed[hit[count:]] = 0
    return cohort.without("clusters").with_values(diagnosed=diagnosed)


@pytest.mark.parametrize("count", [0, 1, 4, 5, 10])
def test_groups_of_up_to_ten_diagnosed_are_left_out_alike(visits, count):
    """Up to 4 a check was refused, from 5 on it was made: its absence told the two apart."""
    kept, few = well_diagnosed(with_diagnosed(visits, count))
    assert few == [visits.group_names[0]]
    assert kept.group_names == visits.group_names[1:]
    assert kept.n == (visits.groups != 0).sum()


def test_groups_with_enough_diagnosed_are_all_kept(visits):
    cohort = with_diagnosed(visits, 11)
    assert well_diagnosed(cohort) == (cohort, [])


def test_two_groups_must_be_left(visits):
    two = with_diagnosed(visits, 3)
    two = two.take(np.flatnonzero(two.groups < 2)).with_groups(np.array([0, 1]))
    with pytest.raises(TooFewCasesError, match="fewer than two groups"):
        well_diagnosed(two)


@pytest.mark.parametrize("margin", [1.0, 0.5, float("inf"), float("nan")])
def test_margin_must_leave_something_out(visits, margin):
    with pytest.raises(InvalidInputError, match=f"margin.*{margin}"):
        CheckInputs(visits, pytest.fail, pytest.fail, margin=margin)
