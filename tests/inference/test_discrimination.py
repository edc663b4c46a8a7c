"""Ranks within groups and folds, against scikit-learn and finite differences."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from relprev.inference.discrimination import _influences, _ranks, discrimination
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, ScorePart
from relprev.rows import Rows
from relprev.rows.memory import InMemory


def made_up(n=600, seed=0):
    """Groups, folds, diagnoses, risks with many ties, and weights."""
    rng = np.random.default_rng(seed)
    g, fold = rng.integers(0, 2, n).astype(np.uint8), rng.integers(0, 3, n)
    s = (rng.random(n) < 0.2).astype(float)
    m = np.round(0.5 * rng.random(n) + 0.2 * s, 2)
    w = rng.uniform(0.5, 2.0, n)
    return g, fold, s, m, w / w.sum()


def by_hand(g, fold, s, m, w, group=None):
    """Mean over the diagnosed of their strata's AUC, by scikit-learn."""
    total = cases = 0.0
    for a in range(2) if group is None else [group]:
        for k in range(3):
            own = (g == a) & (fold == k)
            weight = (w * s)[own].sum()
            total += weight * roc_auc_score(s[own], m[own], sample_weight=w[own])
            cases += weight
    return total / cases


def design(n):
    return SamplingDesign(np.arange(n), np.zeros(n, dtype=int))


def rows_of(g, s, w, m):
    return ScoreData.of(g, s, w, np.full((len(g), 2), 0.5), m)


def test_auc_is_scikit_learns_within_groups_and_folds():
    g, fold, s, m, w = made_up()
    found = discrimination(rows_of(g, s, w, m), fold, design(len(g)))
    expected = [by_hand(g, fold, s, m, w, group) for group in (None, 0, 1)]
    np.testing.assert_allclose(found.auc, expected, rtol=1e-12)
    assert found.cases.tolist() == [s.sum(), s[g == 0].sum(), s[g == 1].sum()]


@pytest.mark.parametrize("group", [None, 0, 1])
def test_influence_is_the_derivative_in_the_weights(group):
    g, fold, s, m, w = made_up()
    data = rows_of(g, s, w, m)
    found = discrimination(data, fold, design(len(g)))
    columns = list(_influences(data.in_memory(), fold, _ranks(data, [fold], 3), found.auc, 3))
    column = columns[0 if group is None else 1 + group]
    for i in range(30):
        more = w.copy()
        more[i] *= 1 + 1e-6
        moved = by_hand(g, fold, s, m, more, group) - by_hand(g, fold, s, m, w, group)
        assert moved / 1e-6 == pytest.approx(column[i], abs=1e-8)
    assert column.sum() == pytest.approx(0, abs=1e-12)


def test_standard_error_is_that_of_replicated_samples():
    aucs, errors = [], []
    for seed in range(200):
        g, fold, s, m, w = made_up(300, seed)
        found = discrimination(rows_of(g, s, w, m), fold, design(300))
        aucs.append(found.auc[0])
        errors.append(found.std_error[0])
    assert np.mean(errors) == pytest.approx(np.std(aucs), rel=0.15)


def test_a_patient_with_all_rows_twice_counts_once():
    g, fold, s, m, w = made_up()
    twice = np.repeat(np.arange(len(g)), 2)
    data = rows_of(g[twice], s[twice], w[twice] / 2, m[twice])
    patients = SamplingDesign(twice, np.zeros(len(g), dtype=int))
    one = discrimination(rows_of(g, s, w, m), fold, design(len(g)))
    two = discrimination(data, fold[twice], patients)
    np.testing.assert_allclose(two.auc, one.auc, rtol=1e-12)
    np.testing.assert_allclose(two.std_error, one.std_error, rtol=1e-12)


def test_rows_in_parts_give_the_same_numbers():
    g, fold, s, m, w = made_up()
    whole = rows_of(g, s, w, m)
    pi = np.full((len(g), 2), 0.5)
    pieces = [slice(0, 100), slice(100, 450), slice(450, 600)]
    parts = [ScorePart(g[k], s[k], w[k], pi[k], m[k]) for k in pieces]
    cut = ScoreData.made_of(Rows(InMemory(parts), (100, 350, 150)), 2, 0)
    one, other = (discrimination(rows, fold, design(len(g))) for rows in (whole, cut))
    for name in ("auc", "std_error", "lift"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-12)


def test_a_fold_that_was_predicted_too_low_does_not_pull_the_auc_down():
    """Constant risks: pairs across folds would rank models, and find less than one half."""
    g, fold, s, _, w = made_up()
    level = np.array([(w * s)[fold != k].sum() / w[fold != k].sum() for k in range(3)])
    found = discrimination(rows_of(g, s, w, level[fold]), fold, design(len(g)))
    np.testing.assert_allclose(found.auc, 0.5, rtol=1e-14)
    np.testing.assert_allclose(found.std_error, 0.0, atol=1e-14)
    assert roc_auc_score(s, level[fold], sample_weight=w) < 0.5


def test_groups_without_pairs_have_no_auc():
    g, fold, s, m, w = made_up()
    silent = np.where(g == 1, 0.0, s)
    found = discrimination(rows_of(g, silent, w, m), fold, design(len(g)))
    assert np.isnan(found.auc).tolist() == [False, False, True]
    assert np.isnan(found.std_error[2])
    everybody = np.where(g == 1, 1.0, s)
    found = discrimination(rows_of(g, everybody, w, m), fold, design(len(g)))
    assert np.isnan(found.auc).tolist() == [False, False, True]
    assert found.auc[0] == pytest.approx(found.auc[1])
