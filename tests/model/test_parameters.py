"""Parameters that make no sense are refused by name."""

import numpy as np
import pytest

from relprev.errors import InvalidInputError
from relprev.model.parameters import (
    require_finite,
    require_reference,
    require_share,
    require_whole,
)
from relprev.simulate import gauss_synth


@pytest.mark.parametrize("value", [1, 2.0, "5", None])
def test_a_whole_number_is_asked_for(value):
    with pytest.raises(
        InvalidInputError, match=f"folds must be a whole number >= 2, got {value!r}"
    ):
        require_whole(2, n_starts=3, folds=value)


def test_whole_numbers_of_numpy_will_do():
    require_whole(2, folds=np.int32(2))


@pytest.mark.parametrize("value", [0, 1, -0.5, np.nan])
def test_a_share_lies_between_0_and_1(value):
    with pytest.raises(InvalidInputError, match="tolerance must be between 0 and 1, got"):
        require_share(validation_share=0.5, tolerance=value)


@pytest.mark.parametrize("value", [-1e-9, np.inf, np.nan])
def test_a_penalty_is_finite_and_not_negative(value):
    with pytest.raises(InvalidInputError, match="l2 must be 0 or more, got"):
        require_finite(l2=value)


def test_the_reference_is_a_group():
    cohort = gauss_synth(n=(20, 30), seed=1).cohort
    require_reference(None, cohort)
    require_reference("b", cohort)
    with pytest.raises(InvalidInputError, match="reference='nobody' is not a group; groups: "):
        require_reference("nobody", cohort)
