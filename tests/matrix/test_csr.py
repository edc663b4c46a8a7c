"""Column indices take as few bytes as they can; numbers beside codes."""

import numpy as np
import scipy.sparse as sp

from relprev.matrix import BinaryCSR
from relprev.matrix.csr import beside, index_dtype, pointer_dtype


def test_indices_take_two_bytes_below_65536_columns():
    assert index_dtype(65_536) is np.uint16
    assert index_dtype(65_537) is np.uint32
    assert pointer_dtype(2**32 - 1) is np.uint32
    assert pointer_dtype(2**32) is np.uint64


def test_last_column_of_a_two_byte_index_is_reached():
    X = BinaryCSR(np.array([0, 1]), np.array([65_535]), 65_536)
    w = np.zeros(65_536)
    w[-1] = 7.0
    assert X.matvec(w)[0] == 7.0


def test_more_than_65536_columns_work():
    X = BinaryCSR(np.array([0, 2]), np.array([1, 70_000]), 70_001)
    assert X.rmatvec(np.array([2.0]))[70_000] == 2.0


def test_numbers_beside_codes():
    rng = np.random.default_rng(5)
    codes, values = rng.random((50, 7)) < 0.3, rng.normal(size=(50, 3)).round(0)
    own = sp.csr_array(codes)
    made = beside(BinaryCSR(own.indptr, own.indices, 7), values)
    np.testing.assert_array_equal(made.to_scipy().toarray(), np.hstack([codes, values]))
    assert made.nnz == np.count_nonzero(codes) + np.count_nonzero(values)
    alone = beside(BinaryCSR(np.zeros(51, int), np.empty(0, int), 0), values)
    np.testing.assert_array_equal(alone.to_scipy().toarray(), values)
