import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from relprev.report import plot_check, plot_forest, plot_symptoms, render_page
from relprev.report.figures import style
from tests.report.studies import study


def test_forest_draws_both_methods_and_the_recorded_ratio(race):
    ax = plot_forest(race.estimates)
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["DebiasedPURPLE", "PURPLE", "Recorded"]
    drawn = ax.get_lines()[1].get_xdata()
    np.testing.assert_array_equal(drawn, race.estimates["DebiasedPURPLE"]["estimate"])


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_labels_fit_into_the_figure(awkward):
    for ax in (plot_forest(awkward.estimates), plot_symptoms(awkward.symptoms),
               *(plot_check(check) for check in awkward.checks)):  # fmt: skip
        figure = ax.figure
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert box.x0 > -0.02
        assert box.y0 > -0.02
        assert box.x1 < width + 0.02
        assert box.y1 < height + 0.02


def test_dollar_signs_in_names_are_not_mathematics(awkward):
    frame = awkward.estimates["PURPLE"].assign(group="$\\frac{1}{$")
    plot_forest(frame).figure.draw_without_rendering()


def test_check_is_drawn_on_the_axes_given(race):
    ax = plot_check(race.checks[0])
    assert plot_check(race.checks[0], ax) is ax


def test_legend_of_many_long_names_leaves_room_for_the_figure():
    fig, ax = plt.subplots(layout="constrained", figsize=(5.6, 3.6))
    for k in range(12):
        ax.plot([0, 1], [0, k], label=f"{k}: a metropolitan county of 250,000 to 999,999 people")
    style.legend_above(ax)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the layout gives up with a warning
        fig.draw_without_rendering()
    width, height = ax.get_window_extent().size / fig.dpi
    assert width > 4
    assert height > 2
    plt.close(fig)


def test_every_check_is_drawn_in_its_own_way(race):
    checks = {check.kind: check for check in race.checks}
    assert "diagnosed" in plot_check(checks["calibration"]).get_xlabel()
    assert "mixing" in plot_check(checks["overlap"]).get_xlabel()
    assert plot_check(checks["sensitivity"]).get_xscale() == "log"


def test_hidden_points_are_not_drawn(race, report):
    """A picture must not show what the table hides."""
    (check,) = (one for one in report.variables[0].checks if one.kind == "calibration")
    table = check.table
    assert table["recorded"].isna().any()
    drawn = np.concatenate([line.get_ydata() for line in plot_check(check).get_lines()])
    seen = {round(float(value), 9) for value in drawn if np.isfinite(value)}
    before = next(one for one in race.checks if one.kind == "calibration").table
    lost = before.loc[table["recorded"].isna() & (before["recorded"] > 0), "recorded"]
    assert not seen & {round(value, 9) for value in lost}


def test_writing_leaves_no_figure_open(race):
    before = plt.get_fignums()
    render_page(study(replace(race, checks=race.checks[:1])))
    assert plt.get_fignums() == before


def test_methods_are_drawn_in_the_first_ones_order(race):
    both = race.estimates
    mixed = {"one": both["DebiasedPURPLE"], "two": both["PURPLE"].iloc[::-1]}
    lines = {line.get_label(): line for line in plot_forest(mixed).get_lines()}
    np.testing.assert_array_equal(lines["two"].get_xdata(), both["PURPLE"]["estimate"])


def test_group_without_estimate_is_named_in_the_forest(withheld):
    texts = [text.get_text() for text in plot_forest(withheld.estimates).texts]
    missing = withheld.estimates["DebiasedPURPLE"]["estimate"].isna().sum()
    assert texts.count("no estimate") == missing > 0
    assert "–" not in texts  # once, in the column of the ratios


def test_forest_covers_every_value_and_labels_every_row(frame):
    frame.loc[1, ["ci_low", "ci_high"]] = [0.1, 6.0]
    ax = plot_forest(frame, truth=pd.Series([1.4, 0.9, 1.0, 9.0]))
    low, high = ax.get_xlim()
    assert low < 0.1
    assert high > 9.0
    assert ax.get_xscale() == "log"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c", "d"]
    assert "versus everyone else" in ax.get_xlabel()


def test_forest_of_pairs_names_both_groups(frame):
    ax = plot_forest(frame.assign(versus=["b", "a", "a", "a"]))
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["a versus b", "b versus a"]
