import itertools

import pandas as pd
import pytest

from relprev.experiments import EXPERIMENTS, figures
from relprev.experiments.methods import COMPARED, METHODS


def table_of(name: str) -> pd.DataFrame:
    experiment = EXPERIMENTS[name]
    rows = [
        {**scenario, "method": method, "mean": 1.0 + 0.1 * k, "sd": 0.1}
        for scenario in experiment.scenarios(False, "paper", "simulated")
        for k, method in enumerate(experiment.methods)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("name", "panels", "lines"),
    [
        ("gauss", 2, len(EXPERIMENTS["gauss"].methods)),
        ("semisynthetic", 4, len(COMPARED)),
        ("alpha", 2, 3),
        ("group-gap", 1, len(EXPERIMENTS["group-gap"].methods)),
    ],
)
def test_one_panel_a_setting_and_one_line_a_method(name: str, panels: int, lines: int) -> None:
    figure = figures.draw(EXPERIMENTS[name], table_of(name))
    assert len(figure.axes) == panels
    for axis in figure.axes:
        assert len(axis.containers) == lines
        assert axis.get_yscale() == "log"
        assert len(axis.get_xticks()) == 5
    assert len(figure.legends[0].get_texts()) == lines


def test_same_results_same_files(tmp_path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        names = [p.name for p in figures.write(EXPERIMENTS["alpha"], table_of("alpha"), folder)]
    assert names == ["figure.svg", "figure.png", "figure.pdf"]
    assert (first / "figure.png").read_bytes() == (second / "figure.png").read_bytes()
    assert (first / "figure.pdf").read_bytes() == (second / "figure.pdf").read_bytes()


def test_every_method_has_its_own_colour() -> None:
    assert set(figures.COLOURS) == set(METHODS)
    for one, other in itertools.combinations(figures.COLOURS.values(), 2):
        assert one != other
