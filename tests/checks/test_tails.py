"""Numbers as 0/1 features: their ends."""

import numpy as np
import pytest
import scipy.sparse as sp

from relprev import as_cohort
from relprev.checks.tails import with_tails
from relprev.cohort import Cohort, write_parts
from tests.parts import cut

N = 1_000


def make(X, **more):
    s = np.random.default_rng(0).random(len(X) if not sp.issparse(X) else X.shape[0]) < 0.3
    return as_cohort(X, s.astype(int), groups=["a", "b"] * (len(s) // 2), **more)


def test_codes_alone_stay_what_they_are():
    cohort = make(sp.csr_array(np.eye(N)))
    assert with_tails(cohort) is cohort


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_number_becomes_its_highest_and_lowest_twentieth(kind):
    x, code = np.random.default_rng(1).permutation(N) - 500.0, np.arange(N) % 3 == 0
    made = with_tails(make(kind(np.column_stack([x, code])), feature_names=["lab", "R51"]))
    assert made.feature_names == ("R51", "lab, highest twentieth", "lab, lowest twentieth")
    expected = np.column_stack([code, x >= 450, x <= -451])
    np.testing.assert_array_equal(made.X.to_scipy().toarray(), expected)


def test_values_that_many_share_are_no_tail():
    """Of a number that is mostly 0, none are lowest, and those above are highest."""
    x = np.where(np.arange(N) < 30, 1.0 + np.arange(N), 0.0)
    made = with_tails(make(x[:, None]))
    assert made.X.nonzero_squares()[1].tolist() == [30, 0]


def test_of_a_curve_only_the_first_column_is_used():
    names = ["x:spline1", "x:spline2", "x:spline10", "y:spline11 mm"]
    X = np.random.default_rng(2).normal(size=(N, 4))
    assert [name.split(",")[0] for name in with_tails(make(X, feature_names=names)).feature_names][
        ::2
    ] == ["x:spline1", "y:spline11 mm"]


def test_parts_have_the_same_tails(tmp_path):
    cohort = make(np.random.default_rng(3).normal(size=(N, 3)))
    write_parts(cut(cohort, 301), tmp_path / "parts")
    one, other = with_tails(cohort), with_tails(Cohort.open(tmp_path / "parts")).collected()
    assert one.feature_names == other.feature_names
    np.testing.assert_array_equal(one.X.indices, other.X.indices)
