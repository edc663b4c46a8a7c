"""Figures 3 and S3 to S6 are drawn from what `relprev run` writes."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest
from evidence import case_study
from matplotlib.container import ErrorbarContainer

from relprev import Study
from tests.study.conftest import write_tables


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("study")
    file = write_tables(folder, 6000)
    wanted = 'run = ["calibration", "unconstrained"]'
    text = file.read_text(encoding="utf-8").replace('run = ["overlap", "leakage"]', wanted)
    file.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Study.from_toml(file).run(folder / "results")
    return {"Tables": folder / "results"}


def test_all_figures_are_written(folders: dict[str, Path], tmp_path: Path) -> None:
    paths = case_study.write(folders, tmp_path)
    assert [path.stem for path in paths] == ["figure-3", "figure-s3", "figure-s4", "figure-s5-s6"]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_figure_3_shows_estimates_and_their_intervals(folders: dict[str, Path]) -> None:
    (axis,) = case_study.figure_3(folders).axes
    table = pd.read_csv(folders["Tables"] / "estimates.csv")
    table = table[(table["method"] == "DebiasedPURPLE") & (table["versus"] == "complement")]
    (bars,) = (part for part in axis.containers if isinstance(part, ErrorbarContainer))
    assert bars.lines[0].get_ydata().tolist() == pytest.approx(table["estimate"].tolist())
    ends = bars.lines[2][0].get_segments()
    assert [end[0][1] for end in ends] == pytest.approx(table["ci_low"].tolist())
    assert [end[1][1] for end in ends] == pytest.approx(table["ci_high"].tolist())
    assert [text.get_text() for text in axis.get_xticklabels()] == table["group"].tolist()


def test_figure_s4_compares_the_two_models(folders: dict[str, Path]) -> None:
    table = case_study.check_tables(folders, "unconstrained")
    auc = table[table["metric"] == "AUC"]
    axis = case_study.figure_s4(folders).axes[0]
    heights = [bar.get_height() for bar in axis.patches]
    assert heights == pytest.approx([auc["constrained"].mean(), auc["unconstrained"].mean()])


def test_hidden_cells_stay_hidden(folders: dict[str, Path]) -> None:
    table = case_study.check_tables(folders, "calibration")
    shown = table[table["drawn"]].dropna(subset=["predicted", "recorded"])
    axis = case_study.figure_s5(folders).axes[0]
    drawn = sum(
        len(part.lines[0].get_xdata())
        for part in axis.containers
        if isinstance(part, ErrorbarContainer)
    )
    assert drawn == len(shown)


def test_what_is_no_results_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"has no estimates\.csv; give a folder written by"):
        case_study.figure_3({"x": tmp_path})
    with pytest.raises(SystemExit, match="expected NAME=FOLDER, got 'results'"):
        case_study.parse(["results"])
