"""What the paper shows on Gauss-Synth, seen again (one split of two data sets each)."""

from __future__ import annotations

import pandas as pd
import pytest

from relprev.experiments import run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("gauss")
    return run("gauss", folder, seeds=2, splits=1, jobs=1).table


def means(table: pd.DataFrame, method: str, separable: bool | None = None) -> pd.Series:
    rows = table[table["method"] == method]
    if separable is not None:
        rows = rows[rows["separable"] == separable]
    return rows.set_index("rate_b")["mean"]


def test_purple_is_right_everywhere(table: pd.DataFrame) -> None:
    assert (means(table, "purple") - 1).abs().max() < 0.04


def test_recorded_diagnoses_mislead_by_the_ratio_of_the_rates(table: pd.DataFrame) -> None:
    for method in ("observed", "negative"):
        found = means(table, method)
        assert found[0.1].min() > 4.5
        assert found[0.9].max() < 0.6


def test_bbe_is_right_only_on_separable_data(table: pd.DataFrame) -> None:
    assert (means(table, "bbe", True) - 1).abs().max() < 0.03
    assert (means(table, "bbe", False) - 1).min() > 0.03


def test_km2_and_tice_are_off(table: pd.DataFrame) -> None:
    for method in ("km2", "tice"):
        assert (means(table, method, False) - 1).abs().max() > 0.15
