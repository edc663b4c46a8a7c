"""Blocks left out, against full refits."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from relprev import DebiasedPURPLE, as_cohort
from relprev.checks import Verdict, benchmarks, check_benchmarks
from relprev.checks.sensitivity import compared
from relprev.errors import InvalidInputError
from tests.checks.conftest import FAST, make_cohort

BLOCKS = {"first": ["column 0", "column 1", "column 2"], "last": ["column 8", "column 9"]}


@pytest.fixture(scope="module")
def apart():
    """Groups with different symptoms, so that leaving some out matters."""
    cohort, _ = make_cohort(n=30_000, shift=0.15)
    return cohort, DebiasedPURPLE(**FAST).fit(cohort)


def test_movements_are_those_of_full_refits(apart):
    cohort, fitted = apart
    found = check_benchmarks(fitted, cohort, BLOCKS, "b").table.set_index("block")
    for name, block in BLOCKS.items():
        columns = [int(feature.split()[1]) for feature in block]
        X = np.delete(cohort.X.to_scipy().toarray(), columns, axis=1)
        again = DebiasedPURPLE(**FAST).fit(X, cohort.diagnosed, groups=cohort.group_labels)
        estimate = again.relative_prevalence("b").rows[0]["estimate"]
        assert np.log(found.loc[name, "without"] / estimate) == pytest.approx(0, abs=0.02)
    assert abs(np.log(found.loc["last", "movement"])) > 0.03  # there is something to compare


def test_a_sample_with_all_cases_is_enough(apart, monkeypatch):
    cohort, fitted = apart
    pairs = compared(fitted, "b")
    columns = {"last": [8, 9]}
    whole = benchmarks.movements(fitted, cohort, columns, pairs, 0)
    monkeypatch.setattr(benchmarks, "OTHERS", 8_000)
    sampled = benchmarks.movements(fitted, cohort, columns, pairs, 0)
    assert sampled != whole
    assert sampled == pytest.approx(whole, abs=0.02)


def test_tipping_point_is_told_in_units_of_the_strongest_block(apart):
    cohort, fitted = apart
    found = check_benchmarks(fitted, cohort, BLOCKS, "b")
    row = fitted.relative_prevalence("b").rows[0]
    strongest = np.abs(np.log(found.table["movement"])).max()
    assert found.statistic == pytest.approx(np.log(row["ci_low"]) / strongest)
    said = f"matter {found.statistic:.1f} times as much for the interval to reach 1"
    assert said in str(found.effect)
    expected = Verdict.NO_CONCERN if found.statistic >= 2 else Verdict.CANNOT_TELL
    assert found.verdict is (Verdict.CONCERN if found.statistic < 1 else expected)


def test_where_no_difference_is_found_it_is_the_recorded_ratio_that_would_be_right():
    """ "To change the answer", it said of an interval that barely includes 1."""
    rng = np.random.default_rng(0)
    g = rng.integers(0, 2, 20_000)
    X = (rng.random((20_000, 4)) < 0.3).astype(float)
    s = rng.random(20_000) < (0.05 + 0.3 * X[:, 0]) * np.where(g == 1, 1.0, 0.4)
    cohort = as_cohort(X, s.astype(int), groups=np.array(["b", "a"])[g])
    found = check_benchmarks(DebiasedPURPLE(**FAST).fit(cohort), cohort, versus="b")
    assert "times as much for the recorded ratio to be right." in str(found.effect)


def test_an_answer_that_one_block_makes_is_a_concern():
    """Groups differ in the last symptom only; without it the ratio is near 1."""
    rng = np.random.default_rng(0)
    g = rng.integers(0, 2, 20_000)
    X = (rng.random((20_000, 4)) < 0.3).astype(float)
    X[:, 3] = rng.random(20_000) < np.where(g == 1, 0.6, 0.2)
    s = rng.random(20_000) < 0.05 + 0.3 * X[:, 3] + 0.05 * X[:, 0]
    cohort = as_cohort(X, s.astype(int), groups=np.array(["b", "a"])[g])
    found = check_benchmarks(DebiasedPURPLE(**FAST).fit(cohort), cohort, versus="b")
    assert found.verdict is Verdict.CONCERN
    table = found.table.set_index("block")
    assert table["movement"].idxmax() == "column 3"
    assert table.loc["column 3", "without"] == pytest.approx(1, abs=0.05)
    assert table.loc["column 1", "movement"] == pytest.approx(1, abs=0.02)


def test_rows_outside_the_domain_and_groups_without_cases_are_left_out():
    cohort, _ = make_cohort(n=8_000, shift=0.15)
    names = np.array(["a", "b", "c"])[np.where(np.arange(8_000) % 50 == 0, 2, cohort.groups)]
    s = np.where(names == "c", 0, cohort.diagnosed)
    three = as_cohort(cohort.X, s, groups=names)
    domain = np.arange(8_000) < 6_000
    with pytest.warns(Warning, match="no estimate for c"):
        fitted = DebiasedPURPLE(**FAST).fit(three, domain=domain)
    found = check_benchmarks(fitted, three, {"last": ["column 9"]}, "b")
    assert found.table["group"].tolist() == ["a"]
    assert np.isfinite(found.table["movement"]).all()


def test_features_without_blocks_cannot_be_left_out():
    cohort, _ = make_cohort(n=3000, extra=lambda s, g, rng: rng.random((len(s), 30)) < 0.2)
    found = check_benchmarks(DebiasedPURPLE(**FAST).fit(cohort), cohort, versus="b")
    assert found.verdict is Verdict.CANNOT_TELL
    assert "name blocks" in str(found.effect)


def test_an_answer_that_is_none_has_nothing_to_tip():
    cohort, _ = make_cohort(n=2000, rates=(0.5, 0.5), shift=-0.03, seed=4)
    found = check_benchmarks(DebiasedPURPLE(**FAST).fit(cohort), cohort, BLOCKS, "b")
    assert found.verdict is Verdict.CANNOT_TELL
    assert "No answer is there to tip" in str(found.effect)


def test_a_classifier_of_the_groups_is_refused():
    cohort, _ = make_cohort(n=3000)
    fitted = DebiasedPURPLE(LogisticRegression(), None).fit(cohort)
    with pytest.raises(InvalidInputError, match="propensity='ridge'"):
        check_benchmarks(fitted, cohort, BLOCKS)
