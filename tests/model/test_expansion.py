"""New features: what they are, and that they are the same wherever the rows are kept."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from relprev import as_cohort
from relprev.cohort import Cohort, write_parts
from relprev.matrix import BinaryCSR, FloatCSR, as_matrix
from relprev.model import expansion
from relprev.model.expansion import all_pairs, basic_expansion, telling_pairs
from relprev.model.likelihood import Problem
from tests.parts import cut


def problem_of(X):
    n = X.shape[0]
    s, g = np.arange(n) % 2, np.where(np.arange(n) % 3 == 0, "a", "b")
    return Problem.from_cohort(as_cohort(X, s, groups=g))


def numbers(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([np.exp(rng.normal(size=n)), rng.normal(size=n), rng.random(n) < 0.3])


def test_normal_score_of_a_skewed_feature_is_its_logarithm():
    X = numbers()
    recipe = basic_expansion(problem_of(X))
    t = recipe.bases(as_matrix(X)[0])
    inside = np.abs(np.log(X[:, 0])) < 1.5
    np.testing.assert_allclose(t[inside, 0], np.log(X[inside, 0]), atol=0.12)
    assert recipe.codes.tolist() == [False, False, True]


def test_new_features_are_what_the_module_says():
    X = numbers()
    recipe = basic_expansion(problem_of(X)).with_pairs(np.array([[0, 2]]))
    made = recipe.matrix(as_matrix(X)[0]).values
    t = recipe.bases(as_matrix(X)[0])
    assert made.shape[1] == X.shape[1] + recipe.n_added
    np.testing.assert_array_equal(made[:, :3], X)
    np.testing.assert_allclose(made[:, 3], t[:, 0])
    np.testing.assert_allclose(made[:, 4], t[:, 0] ** 2 - 1)
    np.testing.assert_allclose(made[:, 5], np.maximum(t[:, 0] + 0.84, 0))
    np.testing.assert_allclose(made[:, -1], t[:, 0] * X[:, 2])


def test_codes_stay_binary_and_none_at_all_is_a_feature():
    rng = np.random.default_rng(1)
    X = sp.csr_array(rng.random((3000, 6)) < 0.2)
    recipe = basic_expansion(problem_of(X)).with_pairs(np.array([[0, 1]]))
    made = recipe.matrix(as_matrix(X)[0])
    assert isinstance(made, BinaryCSR)
    dense, own = made.to_scipy().toarray(), X.toarray()
    assert recipe.edges[0] == 0
    np.testing.assert_array_equal(dense[:, 6], own.sum(axis=1) == 0)
    np.testing.assert_array_equal(dense[:, -1], own[:, 0] & own[:, 1])


def test_sparse_numbers_stay_sparse_and_zero_stays_zero():
    rng = np.random.default_rng(2)
    X = sp.csr_array(np.where(rng.random((2000, 4)) < 0.1, rng.random((2000, 4)), 0.0))
    recipe = basic_expansion(problem_of(X)).with_pairs(np.array([[0, 1]]))
    made = recipe.matrix(as_matrix(X)[0])
    assert isinstance(made, FloatCSR)
    assert made.nnz < 0.2 * made.n_rows * made.n_cols
    empty = np.flatnonzero(np.diff(X.indptr) == 0)
    assert not made.to_scipy()[empty].toarray().any()


def test_spans_of_rows_have_the_same_features(monkeypatch):
    """Several are expanded at a time, on as many threads."""
    rng = np.random.default_rng(1)
    codes = rng.random((30_000, 6)) < 0.2
    for X in (sp.csr_array(codes), sp.csr_array(np.column_stack([codes, numbers(30_000)]))):
        recipe = basic_expansion(problem_of(X)).with_pairs(np.array([[0, 1]]))
        whole = recipe.matrix(as_matrix(X)[0])
        monkeypatch.setattr(expansion, "AT_ONCE", 4_000)
        spans = recipe.matrix(as_matrix(X)[0])
        monkeypatch.undo()
        assert type(spans) is type(whole)
        for name, values in whole.to_arrays().items():
            np.testing.assert_array_equal(spans.to_arrays()[name], values)


def test_parts_have_the_same_features(tmp_path):
    X = numbers()
    s, g = np.arange(2000) % 2, np.where(np.arange(2000) % 3 == 0, "a", "b")
    cohort = as_cohort(X, s, groups=g)
    write_parts(cut(cohort, 700), tmp_path / "visits")
    kept = Cohort.open(tmp_path / "visits")
    recipes = [basic_expansion(Problem.from_cohort(one)) for one in (cohort, kept)]
    for one, other in zip(recipes[0].scores, recipes[1].scores, strict=True):
        np.testing.assert_array_equal(one.x, other.x)
    made = recipes[1].of(Problem.from_cohort(kept))
    whole = recipes[0].of(Problem.from_cohort(cohort)).together().X.values
    np.testing.assert_array_equal(made.together().X.values, whole)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_pair_that_matters_is_found_and_others_are_not(sparse):
    rng = np.random.default_rng(3)
    t = (rng.random((6000, 25)) < 0.3).astype(float)
    residual = rng.normal(size=6000) + 1.0 * (t[:, 3] * t[:, 7] - 0.09)
    line = np.column_stack([np.ones(6000), t])  # what a linear model leaves over
    residual -= line @ np.linalg.lstsq(line, residual, rcond=None)[0]
    given = sp.csc_array(t) if sparse else t
    found = telling_pairs(given, np.arange(25), residual[:, None], 0 * residual[:, None])
    assert found.tolist() == [[3, 7]]


def test_z_of_a_pair_is_the_formula():
    rng = np.random.default_rng(4)
    t, r = rng.normal(size=(500, 2)), rng.normal(size=500)
    f = t[:, 0] * t[:, 1]
    f = f - (r**2 @ f) / (r**2).sum()
    z = abs(r @ f) / np.sqrt(r**2 @ f**2)
    found = len(telling_pairs(t, np.arange(2), r[:, None], 0 * r[:, None]))
    assert found == int(z > norm.isf(0.025))
    assert all_pairs(np.array([4, 6, 9])).tolist() == [[4, 6], [4, 9], [6, 9]]
