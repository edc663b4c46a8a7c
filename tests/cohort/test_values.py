from __future__ import annotations

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from relprev.cohort.values import Value, are_numbers


def test_numbers_become_the_text_that_columns_hold():
    read = TypeAdapter(tuple[Value, ...]).validate_python
    assert read((1, 2.5, "north")) == ("1", "2.5", "north")


@pytest.mark.parametrize("wrong", [True, None, ["a"]])
def test_what_no_column_holds_as_text_is_refused(wrong):
    """True would match a column that spells it otherwise (1, yes, TRUE)."""
    with pytest.raises(ValidationError):
        TypeAdapter(Value).validate_python(wrong)


def test_only_finite_numbers_are_numbers():
    assert are_numbers([1, -2.5, np.float64(3)])
    assert not are_numbers([1, float("nan")])
    assert not are_numbers([float("inf")])
    assert not are_numbers(["1"])
