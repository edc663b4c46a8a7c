import numpy as np
import pytest

from relprev import PURPLE, repeated_splits
from relprev.errors import InvalidInputError


def test_five_splits_choose_their_own_penalty_and_estimate_on_test_rows(visits):
    result = repeated_splits(visits.cohort, versus="Group B")
    assert result.splits.groupby("split").size().tolist() == [3] * 5
    assert set(result.splits["lambda_"]) <= {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0.0}
    share = (
        result.splits.groupby("group")["n"].mean()["Group A"] / (visits.cohort.groups == 0).sum()
    )
    assert share == pytest.approx(0.2, abs=0.02)


def test_frame_holds_mean_and_deviation_over_splits(visits):
    result = repeated_splits(visits.cohort, versus="Group B", n_splits=3)
    row = result.to_frame().set_index("group").loc["Group A"]
    values = result.splits.query("group == 'Group A'")["estimate"]
    assert row["estimate"] == pytest.approx(values.mean())
    assert row["sd"] == pytest.approx(np.std(values, ddof=1))


def test_mean_over_splits_is_near_the_truth(gauss):
    result = repeated_splits(gauss.cohort, estimator=PURPLE(lambdas=0.0), versus="b")
    truth = gauss.relative_prevalence("b").to_frame().loc[0, "estimate"]
    assert result.to_frame().loc[0, "estimate"] == pytest.approx(truth, rel=0.15)


def test_plain_arrays_and_weights_are_accepted(gauss):
    cohort = gauss.cohort
    result = repeated_splits(
        cohort.X.values, cohort.diagnosed, groups=cohort.group_labels,
        sample_weight=np.ones(cohort.n), estimator=PURPLE(lambdas=0.0), n_splits=2,
    )  # fmt: skip
    again = repeated_splits(cohort, estimator=PURPLE(lambdas=0.0), n_splits=2)
    np.testing.assert_allclose(result.splits["estimate"], again.splits["estimate"], rtol=1e-10)


def test_one_split_has_no_deviation_and_is_refused(gauss):
    with pytest.raises(InvalidInputError, match="n_splits must be 2 or more"):
        repeated_splits(gauss.cohort, n_splits=1)
    with pytest.raises(InvalidInputError, match="shares"):
        repeated_splits(gauss.cohort, shares=(0.5, 0.5))
