import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from relprev.errors import InvalidInputError
from relprev.matrix import BinaryCSR, Dense, FloatCSR, as_matrix


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_column_names(frame):
    X, names = as_matrix(frame({"fever": [0, 1], "age": [3.5, 4.0]}))
    assert names == ("fever", "age")
    np.testing.assert_array_equal(X.to_scipy(), [[0, 3.5], [1, 4.0]])


@pytest.mark.parametrize("kind", [bool, np.int8, np.float32, np.float64])
def test_sparse_ones_of_any_type_become_binary(kind):
    X, _ = as_matrix(sp.csr_array(np.eye(3)).astype(kind))
    assert isinstance(X, BinaryCSR)
    np.testing.assert_array_equal(X.to_scipy().toarray(), np.eye(3))


def test_sparse_with_other_values_becomes_float():
    X, _ = as_matrix(sp.coo_array(np.diag([1.0, 2.0])))
    assert isinstance(X, FloatCSR)


def test_stored_zeros_are_dropped_and_doubles_added_up():
    doubled = sp.coo_array(([1.0, 1.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    X, _ = as_matrix(doubled)
    np.testing.assert_array_equal(X.to_scipy().toarray(), [[0, 2], [0, 0]])
    assert X.nnz == 1


def test_input_is_not_changed():
    original = sp.csr_array(([0.0, 1.0], [0, 1], [0, 2]), shape=(1, 2))
    as_matrix(original)
    assert original.nnz == 2


def test_nullable_numbers_without_gaps_are_numbers():
    X, _ = as_matrix(pd.DataFrame({"a": pd.array([1, 2], dtype="Int64")}))
    assert isinstance(X, Dense)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_values_are_located_not_shown(bad):
    values = np.zeros((4, 3))
    values[2, 1] = bad
    with pytest.raises(InvalidInputError, match=r"1 missing or infinite.*row 2.*columns 1"):
        as_matrix(values)
    with pytest.raises(InvalidInputError, match="'fever'"):
        as_matrix(pd.DataFrame(values, columns=["a", "fever", "c"]))
    with pytest.raises(InvalidInputError, match="row 2"):
        as_matrix(sp.csr_array(values))


def test_gaps_in_nullable_columns_are_located():
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})
    with pytest.raises(InvalidInputError, match=r"missing or infinite.*row 1.*'a'"):
        as_matrix(frame)


def test_text_columns_are_named():
    with pytest.raises(InvalidInputError, match="not numeric: 'sex'"):
        as_matrix(pd.DataFrame({"sex": ["f", "m"], "age": [1, 2]}))
    with pytest.raises(InvalidInputError, match="not numeric: 'sex'"):
        as_matrix(pl.DataFrame({"sex": ["f", "m"], "age": [1, 2]}))
    with pytest.raises(InvalidInputError, match="must be numeric"):
        as_matrix(np.array([["a"]]))


def test_one_dimension_is_refused_with_the_remedy():
    with pytest.raises(InvalidInputError, match="reshape"):
        as_matrix(np.zeros(3))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_values_beyond_reason_are_refused(make):
    """Their squares are infinite: eigenvalues did not converge."""
    X = np.ones((4, 3))
    X[2, 1] = -1e308
    with pytest.raises(InvalidInputError, match=r"1 value beyond 1e\+100.*row 2.*columns 1"):
        as_matrix(make(X))
    assert as_matrix(make(X.clip(-1e100)))[0].shape == (4, 3)
