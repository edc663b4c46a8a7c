import numpy as np
import pytest

from relprev.matrix import Dense
from relprev.matrix.base import side_by_side
from relprev.parallel.threads import use_threads
from tests.conftest import design_of

KINDS = ("dense", "float", "binary")


@pytest.fixture
def matrix():
    return (np.random.default_rng(0).random((20_000, 7)) < 0.3).astype(float)


@pytest.mark.parametrize("kind", KINDS)
def test_products_equal_numpy(matrix, kind):
    X = design_of(matrix, kind)
    rng = np.random.default_rng(1)
    w, r = rng.normal(size=7), rng.normal(size=20_000)
    np.testing.assert_allclose(X.matvec(w), matrix @ w, atol=1e-12)
    np.testing.assert_allclose(X.rmatvec(r), matrix.T @ r, atol=1e-9)
    np.testing.assert_allclose(X.rmatvec_sq(r), (matrix**2).T @ r, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 3, 6])
def test_several_predictors_at_once_equal_one_by_one(matrix, kind, count):
    X, rng = design_of(matrix, kind), np.random.default_rng(1)
    coefficients, lo, hi = rng.normal(size=(count, 7)), 100, 9_000
    W = side_by_side(coefficients)
    z, gradient = np.zeros((W.shape[1], 10_000)), np.zeros(W.shape)
    X.dots(W, lo, hi, z)
    np.testing.assert_allclose(z[:count, : hi - lo], coefficients @ matrix[lo:hi].T, atol=1e-12)
    X.add_tdots(z, lo, hi, gradient)
    expected = matrix[lo:hi].T @ z[:, : hi - lo].T
    np.testing.assert_allclose(gradient, expected, atol=1e-9)


def test_float_entries_are_squared_in_rmatvec_sq():
    matrix = np.array([[2.0, 0.0], [0.0, -3.0]])
    for kind in ("dense", "float"):
        np.testing.assert_array_equal(design_of(matrix, kind).rmatvec_sq(np.ones(2)), [4.0, 9.0])


@pytest.mark.parametrize("kind", KINDS)
def test_taken_rows_are_those_rows(matrix, kind):
    rows = np.array([5, 3, 3, 19_999])
    taken = design_of(matrix, kind).take(rows)
    np.testing.assert_array_equal(
        np.asarray(taken.matvec(np.arange(7.0))), matrix[rows] @ np.arange(7.0)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_columns_hold_every_entry_once(matrix, kind):
    rows = np.array([4, 2, 9])
    columns = design_of(matrix, kind).columns(rows)
    rebuilt = np.zeros((3, 7))
    for j in range(7):
        span = slice(columns.indptr[j], columns.indptr[j + 1])
        rebuilt[columns.rows[span], j] = 1.0 if columns.values is None else columns.values[span]
    np.testing.assert_array_equal(rebuilt, matrix[rows])


@pytest.mark.parametrize("kind", KINDS)
def test_sums_do_not_depend_on_the_number_of_threads(matrix, kind, monkeypatch):
    X = design_of(matrix, kind)
    r = np.random.default_rng(2).normal(size=20_000)
    results = []
    for threads in (1, 2, 5):
        with use_threads(threads):
            results.append(X.rmatvec(r).tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_to_scipy_gives_the_matrix_back(matrix, kind):
    back = design_of(matrix, kind).to_scipy()
    np.testing.assert_array_equal(back if kind == "dense" else back.toarray(), matrix)


def test_typical_size_is_the_root_mean_square_of_nonzero_values():
    matrix = np.array([[3.0, 0.0, 1.0], [4.0, 0.0, 0.0]])
    expected = [np.sqrt(12.5), 1.0, 1.0]
    for kind in ("dense", "float"):
        np.testing.assert_allclose(design_of(matrix, kind).typical_size(), expected)


def test_repr_shows_size_not_content():
    assert repr(Dense(np.ones((2, 3)))) == "<Dense 2 x 3, 6 stored, 0.0 MiB>"
