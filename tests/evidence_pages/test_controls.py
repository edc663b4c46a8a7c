"""The page on control conditions is what its results say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from evidence import controls
from evidence.store import FOLDER


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.read_csv(FOLDER / controls.RUN / "controls.csv").iloc[:-1]


def test_the_page_is_what_the_command_writes() -> None:
    assert (controls.DOCS / "controls.md").read_text(encoding="utf-8") == controls.text()


def test_nine_in_ten_real_controls_are_held_when_calibrated(rows: pd.DataFrame) -> None:
    assert len(rows) >= 20
    assert rows["holds_calibrated"].astype(bool).mean() >= 0.9
    assert rows["holds"].astype(bool).mean() < 0.7  # or there would be nothing to calibrate


def test_without_real_data_the_page_says_so(tmp_path: Path) -> None:
    paths = controls.write(tmp_path, docs=tmp_path)
    assert controls.NOT_RUN in paths[0].read_text(encoding="utf-8")
    assert len(paths) == 1


def test_the_figure_shows_every_control(rows: pd.DataFrame, tmp_path: Path) -> None:
    shutil.copytree(FOLDER / controls.RUN, tmp_path / controls.RUN)
    _, figure = controls.write(tmp_path, docs=tmp_path)
    drawn = figure.read_text(encoding="utf-8")
    assert all(name.split()[0] in drawn for name in rows["control"])  # long names are wrapped
