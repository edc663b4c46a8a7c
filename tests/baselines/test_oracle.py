import numpy as np
import pytest

from relprev.baselines import Oracle
from relprev.errors import InvalidInputError


def test_oracle_needs_the_true_condition(gauss) -> None:
    with pytest.raises(InvalidInputError, match="condition is required"):
        Oracle().fit(gauss.cohort)


@pytest.mark.parametrize("bad", [[0, 1], np.full(6000, 2), np.zeros(6000)])
def test_condition_must_be_zeros_and_ones(gauss, bad) -> None:
    with pytest.raises(InvalidInputError, match="condition must hold both 0s and 1s"):
        Oracle().fit(gauss.cohort, condition=bad)


def test_oracle_is_right_where_the_recorded_ratio_is_not(gauss) -> None:
    table = (
        Oracle().fit(gauss.cohort, condition=gauss.condition).relative_prevalence("b").to_frame()
    )
    truth = gauss.relative_prevalence("b").to_frame().loc[0, "estimate"]
    assert table.loc[0, "estimate"] == pytest.approx(truth, rel=0.02)
    assert table.loc[0, "observed_ratio"] > 2 * truth
