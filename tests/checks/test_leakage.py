"""Features that record the diagnosis under another name."""

import numpy as np
import pytest
from scipy import stats

from relprev import as_cohort
from relprev.checks import Verdict, check_leakage
from relprev.checks.leakage import wilson
from relprev.errors import InvalidInputError
from tests.checks.conftest import make_cohort


def test_leaking_code_is_found():
    def synonym(s, g, rng):
        return (s & (rng.random(len(s)) < 0.3)).astype(float)

    found = check_leakage(make_cohort(extra=synonym)[0])
    assert found.verdict is Verdict.CONCERN
    assert found.table.loc[0, "feature"] == "column 10"
    assert found.table["suspicious"].sum() == 1


def test_symptoms_do_not_leak(steady):
    assert check_leakage(steady[0]).verdict is Verdict.NO_CONCERN


def test_suspicious_features_are_named_in_an_order_that_says_nothing_of_their_counts():
    """They were named by Wilson's bound, from which counts of few people could be told."""

    def synonyms(s, g, rng):
        return np.column_stack([s & (rng.random(len(s)) < share) for share in (0.02, 0.3, 0.1)])

    found = check_leakage(make_cohort(extra=synonyms)[0])
    assert found.table["feature"][0] == "column 11"
    assert "rows: 3, column 10, column 11, column 12." in str(found.effect)


def test_no_feature_is_given_a_place_in_words(steady):
    found = check_leakage(steady[0])
    assert str(found.table["feature"][0]) not in str(found.effect)
    (share,) = found.effect.counts()
    assert share.value == found.table["predictive_value"][0]
    assert ("n_diagnosed", found.table["feature"][0]) in share.cells


def test_patients_are_counted_where_they_are_known(steady):
    cohort = steady[0]
    assert "patients" not in check_leakage(cohort).table
    patient = np.arange(cohort.n) // 4
    table = check_leakage(cohort.with_values(clusters=patient)).table.set_index("feature")
    X = cohort.X.to_scipy().toarray()
    for j in range(cohort.n_cols):
        has = X[:, j] != 0
        row = table.loc[f"column {j}"]
        assert row["n"] == has.sum()
        assert row["patients"] == len(set(patient[has]))
        assert row["patients_diagnosed"] == len(set(patient[has & (cohort.diagnosed == 1)]))


def test_features_that_are_too_rare_cannot_be_judged():
    X = np.eye(40, 3)
    found = check_leakage(as_cohort(X, [1, 0] * 20, groups=["a"] * 20 + ["b"] * 20))
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.table.empty


@pytest.mark.parametrize("count", [1, 9, 10])
def test_features_of_few_diagnosed_are_not_listed(count):
    """Nine of eleven were suspicious, eight not: of a hidden count it was known to be 9 or 10."""
    has, s = np.arange(400) < 11, (np.arange(400) < count) | (np.arange(400) > 340)
    cohort = as_cohort(has[:, None], s, groups=["a", "b"] * 200)
    assert check_leakage(cohort).table.empty


def test_rare_features_that_carry_many_cases_cannot_be_excluded():
    """Two dozen rows each, half of them diagnosed: every one may be a synonym."""
    rng = np.random.default_rng(0)
    X = np.zeros((600, 20))
    X[np.arange(480), np.arange(480) // 24] = 1.0
    s = np.zeros(600, dtype=int)
    s[:480:2] = 1
    found = check_leakage(as_cohort(X, s, groups=rng.integers(0, 2, 600)))
    assert found.verdict is Verdict.CANNOT_TELL
    assert "too rare" in str(found.effect)
    assert check_leakage(as_cohort(X, s, groups=s), margin=1e9).verdict is Verdict.CANNOT_TELL


def test_wilson_holds_the_share_itself():
    """A feature all of whose rows are diagnosed: rounding put its interval below 1."""
    rows = np.arange(1.0, 200.0)
    for share, (low, high) in ((1.0, wilson(rows, rows, 0.95)), (0.0, wilson(0 * rows, rows, 0.9))):
        assert (low <= share).all()
        assert (high >= share).all()


def test_wilson_by_hand():
    low, high = wilson(np.array([5.0, 0.0]), np.array([10.0, 0.0]), 0.95)
    oracle = stats.binomtest(5, 10).proportion_ci(method="wilson")
    assert (low[0], high[0]) == pytest.approx((oracle.low, oracle.high), rel=1e-6)
    assert (low[1], high[1]) == (0.0, 1.0)


def test_leakage_threshold_is_checked(steady):
    with pytest.raises(InvalidInputError, match="threshold"):
        check_leakage(steady[0], threshold=2.0)


def test_a_number_that_gives_the_diagnosis_away_is_found():
    def laboratory(s, g, rng):
        return rng.normal(size=len(s)) + 6 * (s & (rng.random(len(s)) < 0.3))

    found = check_leakage(make_cohort(extra=laboratory)[0])
    assert found.verdict is Verdict.CONCERN
    assert found.table["feature"][0] == "column 10, highest twentieth"
