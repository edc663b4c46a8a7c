"""The scan: against fits of their own, in memory and in parts."""

import numpy as np
import pandas as pd
import pytest

from relprev import DebiasedPURPLE
from relprev.atlas import blocks_of_conditions
from relprev.atlas.cases import cases_of
from relprev.atlas.scan import Scan, Start
from relprev.cohort import Cohort, as_cohort, write_parts
from relprev.errors import InvalidInputError
from relprev.inference.folds import fold_of_rows
from relprev.matrix.csr import beside
from tests.atlas.worlds import CONDITIONS, world
from tests.parts import cut


@pytest.fixture(scope="module")
def scanned():
    cohort = world().cohort
    blocks = blocks_of_conditions(cohort.feature_names, CONDITIONS)
    scan = Scan(cohort)
    start = scan.start()
    return scan, start, blocks, scan.table(blocks[1], start, "Group B")


def test_a_condition_is_a_case_only_fit_without_its_block(scanned):
    scan, start, blocks, table = scanned
    block = blocks[1]
    X = scan.cohort.X.to_scipy()
    keep = np.setdiff1d(np.arange(X.shape[1]), block.left_out)
    for name in list(block.conditions)[:3]:
        recorded = np.asarray(X[:, block.conditions[name]].sum(axis=1)).ravel() > 0
        own = as_cohort(X[:, keep], recorded, groups=scan.cohort.group_labels)
        fitted = DebiasedPURPLE(
            risk=None, propensity="ridge", strengths=[start.strength],
            folds=fold_of_rows(scan.folds),
        ).fit(own)  # fmt: skip
        expected = fitted.relative_prevalence("Group B").to_frame().iloc[0]
        row = table.set_index("condition").loc[name]
        assert row["observed_ratio"] == pytest.approx(expected["observed_ratio"], rel=1e-9)
        assert np.log(row["estimate"] / expected["estimate"]) == pytest.approx(
            0, abs=0.03 * expected["std_error"]
        )
        assert 0.95 < row["std_error"] / expected["std_error"] < 1.35
        error = np.log(expected["diagnosis_ci_high"] / expected["diagnosis_ci_low"]) / 4
        assert row["log_diagnosis_error"] == pytest.approx(error, rel=0.1)
        assert row["effective_cases"] == pytest.approx(expected["effective_cases"], rel=0.01)
        assert row["n_recorded"] + row["n_recorded_versus"] == recorded.sum()


def test_parts_give_the_same_as_memory(scanned, tmp_path):
    scan, _, blocks, table = scanned
    write_parts(cut(scan.cohort, 5_000), tmp_path / "visits")
    parted = Scan(Cohort.open(tmp_path / "visits"))
    start = parted.start()
    pd.testing.assert_frame_equal(
        parted.table(blocks[1], start, "Group B"), table, rtol=1e-10, atol=1e-12
    )


def test_start_survives_a_table(scanned):
    _, start, _, _ = scanned
    again = Start.from_frame(start.strength, start.to_frame())
    for one, two in zip(start.models, again.models, strict=True):
        np.testing.assert_array_equal(one.coef, two.coef)
        np.testing.assert_array_equal(one.intercept, two.intercept)


def test_cases_have_any_feature_of_their_condition_and_patients_count_once():
    X = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0]])
    cohort = as_cohort(X, [1, 0, 1, 0], groups=["a", "a", "b", "b"], clusters=[5, 5, 6, 7])
    scan = Scan(cohort)
    conditions = {"one": np.array([0, 1]), "two": np.array([2])}
    found = cases_of(cohort, scan.design, scan.groups, conditions)
    assert found.rows[found.of["one"]].tolist() == [0, 1, 3]
    assert found.rows[found.of["two"]].tolist() == [2]
    assert found.patients["one"].tolist() == [1, 1]


def test_groups_with_few_cases_have_no_contrast():
    cohort = world().cohort
    few = cohort.take(np.flatnonzero((cohort.groups == 1) | (np.arange(cohort.n) % 40 == 0)))
    blocks = blocks_of_conditions(few.feature_names, CONDITIONS)
    scan = Scan(few)
    table = scan.table(blocks[0], scan.start(), "Group B")
    scarce = table["n_recorded"] < 20
    assert scarce.any()
    assert table.loc[scarce, "estimate"].isna().all()
    assert table.loc[~scarce, "estimate"].notna().all()


def test_a_number_is_a_feature_and_no_condition():
    cohort = world().cohort
    rng = np.random.default_rng(0)
    z = rng.normal(cohort.groups == 0, 1.0)[:, None]
    X = beside(cohort.X, z)
    names = [*cohort.feature_names, "pulse:number"]
    more = as_cohort(X, cohort.diagnosed, groups=cohort.group_labels, feature_names=names)
    scan = Scan(more)
    block = blocks_of_conditions(names, CONDITIONS)[1]
    table = scan.table(block, scan.start(), "Group B")
    assert table["estimate"].notna().any()
    assert set(np.unique(scan.others.X.data)) == {1.0}
    (alone,) = blocks_of_conditions(names, ["pulse:number"])
    with pytest.raises(InvalidInputError, match="'pulse:number' includes a number"):
        scan.cases(alone)
