import numpy as np
import pytest

from relprev.matrix import Dense

X = np.random.default_rng(1).normal(size=(7, 3))
SHIFT = np.array([1.0, -2.0, 0.5])
W, R = np.arange(3.0), np.arange(7.0)


def test_products_are_numpys():
    matrix = Dense(np.asfortranarray(X))
    assert matrix.matvec(W) == pytest.approx(X @ W, abs=1e-14)
    assert matrix.rmatvec(R) == pytest.approx(X.T @ R, abs=1e-14)
    squares, counts = matrix.nonzero_squares()
    assert squares == pytest.approx((X**2).sum(axis=0))
    assert counts.tolist() == [7, 7, 7]


def test_products_about_an_origin_are_of_the_shifted_matrix_and_the_matrix_is_given_back():
    matrix = Dense(X).about(SHIFT)
    assert matrix.matvec(W) == pytest.approx((X - SHIFT) @ W, abs=1e-13)
    assert matrix.take(np.array([5, 0])).to_scipy() == pytest.approx(X[[5, 0]], abs=1e-14)


def test_columns_list_every_entry():
    columns = Dense(X).columns(np.array([1, 4]))
    assert columns.indptr.tolist() == [0, 2, 4, 6]
    assert columns.rows.tolist() == [0, 1] * 3
    assert columns.values == pytest.approx(X[[1, 4]].T.ravel())
