import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relprev.cohort import as_cohort
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.model.splits import split


def _cohort(rng, n, groups=3, patients=None):
    g = rng.integers(0, groups, n)
    s = (rng.random(n) < 0.3).astype(int)
    for group in range(groups):  # at least eight cases in every group
        s[np.flatnonzero(g == group)[:8]] = 1
    clusters = None if patients is None else rng.integers(0, patients, n)
    return as_cohort(rng.normal(size=(n, 1)), s, groups=g, clusters=clusters)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(150, 400),
    shares=st.sampled_from([(0.6, 0.2, 0.2), (3, 1), (1,) * 5]),
)
def test_parts_cover_all_rows_once_and_hold_cases_of_every_group(seed, n, shares):
    cohort = _cohort(np.random.default_rng(seed), n)
    parts = split(cohort, shares, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    for part in parts:
        assert set(cohort.groups[part][cohort.diagnosed[part] == 1]) == {0, 1, 2}


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_patient_is_in_two_parts(seed):
    cohort = _cohort(np.random.default_rng(seed), 600, patients=200)
    parts = split(cohort, (0.6, 0.2, 0.2), seed)
    patients = [set(cohort.clusters[part]) for part in parts]
    assert not patients[0] & patients[1]
    assert not patients[0] & patients[2]
    assert not patients[1] & patients[2]


def test_sizes_follow_the_shares(visits):
    parts = split(visits.cohort, (0.6, 0.2, 0.2), 0)
    np.testing.assert_allclose(
        [len(part) / visits.cohort.n for part in parts], [0.6, 0.2, 0.2], atol=0.01
    )


def test_same_seed_same_parts_other_seed_other_parts(visits):
    one, again, other = (split(visits.cohort, (3, 1), seed)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_too_few_cases_are_named():
    g = np.repeat(["a", "b"], 50)
    s = np.zeros(100, int)
    s[[0, 1, 2, 60]] = 1
    cohort = as_cohort(np.ones((100, 1)), s, groups=g)
    with pytest.raises(
        TooFewCasesError,
        match=r"group 'b' has too few .*\(1 diagnosed patient\).*merge",
    ):
        split(cohort, (3, 1), 0)


def test_group_without_any_case_does_not_stop_a_split():
    g = np.repeat(["a", "b"], 50)
    cohort = as_cohort(np.ones((100, 1)), np.arange(100) < 10, groups=g)
    assert len(split(cohort, (3, 1), 0)) == 2


@pytest.mark.parametrize("shares", [(1.0,), (0.5, 0.0), (1, -1)])
def test_bad_shares_are_refused(visits, shares):
    with pytest.raises(InvalidInputError, match="shares"):
        split(visits.cohort, shares, 0)


def test_clusters_with_large_numbers_are_kept_together():
    clusters = np.repeat(np.arange(50) * 10**9, 4)
    s = np.tile([1, 0, 0, 0], 50)
    cohort = as_cohort(np.ones((200, 1)), s, groups=np.repeat(np.arange(2), 100), clusters=clusters)
    cohort = cohort.with_values(clusters=clusters)  # as a cohort built by hand might have them
    train, rest = split(cohort, (3, 1), 0)
    assert not set(clusters[train]) & set(clusters[rest])
