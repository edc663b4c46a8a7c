"""Folds of whole patients and primary sampling units; every group stays in all training parts."""

import numpy as np
import pytest

from relprev import as_cohort
from relprev.cohort import Cohort, write_parts
from relprev.errors import DataWarning, TooFewCasesError
from relprev.inference import DebiasedPURPLE, SamplingDesign
from relprev.inference.folds import fold_of_rows, make_folds
from tests.parts import cut


def world(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    g = rng.integers(0, 2, n)
    x = (rng.random((n, 6)) < 0.25 + 0.1 * g[:, None]).astype(float)
    s = (rng.random(n) < 0.2 + 0.2 * x[:, 0]).astype(int)
    return x, s, np.array(["a", "b"])[g]


def folds_of(cohort, count=5, seed=0, rows=None):
    design = SamplingDesign.from_cohort(cohort)
    if rows is None:
        return make_folds(cohort, design, count, seed)
    return make_folds(cohort.take(rows), design.take(rows), count, seed)


def assert_trainable(cohort, folds):
    assert sorted(np.concatenate(folds)) == list(range(cohort.n))
    for fold in folds:
        rest = np.setdiff1d(np.arange(cohort.n), fold)
        hit = cohort.groups[rest][cohort.diagnosed[rest] == 1]
        assert len(np.unique(hit)) == cohort.n_groups


def test_psus_are_dealt_as_ever_where_that_works():
    x, s, g = world()
    cohort = as_cohort(x, s, groups=g, psus=np.arange(3000) % 40, strata=np.arange(3000) % 4)
    design = SamplingDesign.from_cohort(cohort)
    order = np.random.default_rng(3).permutation(40)
    order = order[np.argsort(design.stratum[order], kind="stable")]
    fold = np.empty(40, dtype=int)
    fold[order] = np.arange(40) % 5
    for k, rows in enumerate(folds_of(cohort, seed=3)):
        np.testing.assert_array_equal(rows, np.flatnonzero(fold[design.psu] == k))


def test_a_group_in_one_psu_is_refused_by_name():
    """Its propensities would come from models that never saw the group."""
    x, s, g = world()
    psus = np.where(g == "a", np.arange(3000) % 20, 20)
    with pytest.raises(TooFewCasesError, match=r"group 'b' .* single primary sampling unit"):
        DebiasedPURPLE().fit(x, s, groups=g, psus=psus)


def test_rows_without_diagnosis_do_not_help_a_group():
    x, s, g = world()
    psus = np.arange(3000) % 20
    s[(g == "b") & (psus != 7)] = 0
    with pytest.raises(TooFewCasesError, match="group 'b'"):
        folds_of(as_cohort(x, s, groups=g, psus=psus))


@pytest.mark.parametrize("count", [2, 5])
def test_a_group_in_two_psus_has_them_in_different_folds(count):
    x, s, g = world()
    hits = np.flatnonzero((g == "b") & (s == 1))
    psus = np.where(g == "a", np.arange(3000) % 20, 20)
    psus[hits[::2]] = 21
    cohort = as_cohort(x, s, groups=g, psus=psus)
    for seed in range(20):
        assert_trainable(cohort, folds_of(cohort, count, seed))


def test_many_groups_in_three_psus_each():
    rng = np.random.default_rng(0)
    g, s = np.repeat(np.arange(20), 6), np.tile([0, 1], 60)
    psus = rng.permuted(np.tile(np.arange(12), (20, 1)), axis=1)[:, :3].ravel().repeat(2)
    cohort = as_cohort(rng.normal(size=(120, 2)), s, groups=g, psus=psus)
    for seed in range(10):
        assert_trainable(cohort, folds_of(cohort, 4, seed))


def test_groups_that_no_deal_keeps_apart_are_refused():
    """Three groups, each in two of three units, over two folds: one is always in one fold."""
    g, psus = np.array([0, 0, 1, 1, 2, 2, 0]), np.array([0, 1, 1, 2, 2, 0, 0])
    cohort = as_cohort(np.eye(7), np.array([1, 1, 1, 1, 1, 1, 0]), groups=g, psus=psus)
    with pytest.raises(TooFewCasesError, match=r"2 folds .* more folds"):
        folds_of(cohort, 2)


def test_the_same_deal_in_parts(tmp_path):
    x, s, g = world(600)
    psus = np.where(g == "a", np.arange(600) % 20, 20 + np.arange(600) % 9)
    patients = np.maximum(np.arange(600), 3)  # the first in several PSUs
    cohort = as_cohort(x, s, groups=g, psus=psus, clusters=patients)
    write_parts(cut(cohort, 250), tmp_path / "parts")
    parts = Cohort.open(tmp_path / "parts")
    for one, other in zip(folds_of(cohort), folds_of(parts), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_domain_deals_only_its_own_psus():
    """Folds of PSUs outside the domain were empty, and nothing could be fitted on them."""
    x, s, g = world()
    psus = np.arange(3000) % 40
    cohort = as_cohort(x, s, groups=g, psus=psus)
    with pytest.warns(DataWarning, match=r"fewer folds are used than the 5 .*4 primary"):
        folds = folds_of(cohort, rows=np.flatnonzero(psus < 4))
    assert [len(fold) for fold in folds] == [75] * 4
    with pytest.warns(DataWarning, match="fewer folds"):
        fitted = DebiasedPURPLE().fit(x, s, groups=g, psus=psus, domain=psus < 4)
    assert np.isfinite(fitted.relative_prevalence("b").to_frame()["estimate"]).all()


def test_one_psu_cannot_be_cross_fitted():
    x, s, g = world()
    cohort = as_cohort(x, s, groups=g, psus=np.arange(3000) % 40)
    with pytest.raises(TooFewCasesError, match="single primary sampling unit"):
        folds_of(cohort, rows=np.arange(0, 3000, 40))


def test_patients_seen_in_several_psus_are_not_split():
    x, s, g = world()
    patients = np.arange(3000) // 3
    psus = patients % 40
    psus[:30] = np.arange(30) % 4  # the first ten patients visit PSUs 0 to 3
    cohort = as_cohort(x, s, groups=g, clusters=patients, psus=psus)
    folds = folds_of(cohort)
    held = [set(patients[fold]) for fold in folds]
    assert sum(map(len, held)) == 1000
    assert {len({k for k, fold in enumerate(folds) if np.isin(psu, psus[fold])})
            for psu in range(40)} == {1}  # fmt: skip


def test_nested_patients_change_nothing():
    x, s, g = world()
    psus = np.arange(3000) % 40
    plain = folds_of(as_cohort(x, s, groups=g, psus=psus))
    nested = folds_of(as_cohort(x, s, groups=g, psus=psus, clusters=np.arange(3000) % 400))
    for one, other in zip(plain, nested, strict=True):
        np.testing.assert_array_equal(one, other)


def test_psus_that_all_share_patients_cannot_be_cross_fitted():
    x, s, g = world()
    cohort = as_cohort(x, s, groups=g, clusters=np.arange(3000) // 3, psus=np.arange(3000) % 40)
    with pytest.raises(TooFewCasesError, match="share patients"):
        folds_of(cohort)


def test_given_folds_are_used():
    x, s, g = world()
    first = DebiasedPURPLE(risk=None, strengths=(1.0,), random_state=4).fit(x, s, groups=g)
    again = DebiasedPURPLE(risk=None, strengths=(1.0,), folds=3 * first.folds_.astype(int) + 2)
    np.testing.assert_array_equal(again.fit(x, s, groups=g).folds_, first.folds_)
    np.testing.assert_array_equal(again.propensity_, first.propensity_)


def test_given_folds_of_all_rows_go_with_a_domain():
    x, s, g = world()
    folds, inside = np.arange(3000) % 4, np.arange(3000) % 3 > 0
    fitted = DebiasedPURPLE(risk=None, strengths=(1.0,), folds=folds)
    np.testing.assert_array_equal(fitted.fit(x, s, groups=g, domain=inside).folds_, folds[inside])


def test_given_folds_must_leave_every_group_to_train_on():
    x, s, g = world()
    with pytest.raises(TooFewCasesError, match="group 'b' has recorded diagnoses in one fold only"):
        DebiasedPURPLE(folds=np.where(g == "b", 3, np.arange(3000) % 3)).fit(x, s, groups=g)


def test_more_folds_than_a_byte_can_number():
    assert fold_of_rows([np.array([k]) for k in range(300)]).tolist() == list(range(300))
