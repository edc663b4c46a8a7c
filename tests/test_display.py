import numpy as np
import pandas as pd
import pytest

from relprev.display import MISSING, cell, heading, with_interval


@pytest.mark.parametrize(("value", "column", "text"), [
    (None, "", MISSING), (pd.NA, "", MISSING), (float("nan"), "p_value", MISSING),
    (np.bool_(True), "", "yes"), ("x", "p_value", "x"), (2.0, "", "2.00"),
    (np.int64(1000), "", "1,000"),
    (0.0004, "p_value", "<0.001"), (0.999, "p_value", ">0.99"), (0.05, "p_value", "0.050"),
    (0.25, "reach", "25.0%"), (1234.5, "effective_cases", "1,234"), (0.0012, "", "0.001"),
    (0.05, "", "0.050"), (-0.5, "", "-0.50"), (0.0, "", "0.00"),
])  # fmt: skip
def test_values_as_people_read_them(value, column, text):
    assert cell(value, column) == text


def test_an_estimate_without_interval_stands_alone():
    assert with_interval(2.0, float("nan"), float("nan")) == "2.00"
    assert with_interval(float("nan"), 1.0, 2.0) == MISSING


def test_headings_begin_with_a_capital():
    assert heading("estimate") == "Corrected ratio"
    assert heading("some_new_column") == "Some new column"
