import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from relprev.cli import app
from relprev.disclosure import Rule
from relprev.estimates import RelativePrevalence
from relprev.report import disclosed_estimates, plot_forest, render_text, write_results


def suppress(frame):
    return disclosed_estimates(frame, frame, Rule())


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "group": ["a", "b", "c", "d"],
            "versus": "complement",
            "estimate": [1.5, 0.8, 1.0, 2.0],
            "ci_low": np.nan,
            "ci_high": np.nan,
            "observed_ratio": [0.5, 1.2, 1.0, 3.0],
            "diagnosis_ratio": [0.33, 1.5, 1.0, 1.5],
            "n": [500, 400, 300, 200],
            "n_diagnosed": [40, 30, 20, 5],
        }
    )


def test_small_count_and_the_next_smallest_are_hidden(frame):
    shown = suppress(frame).set_index("group")
    assert shown["n_diagnosed"].isna().tolist() == [False, False, True, True]


def test_ratios_that_reveal_hidden_counts_are_hidden_but_the_estimate_stays(frame):
    shown = suppress(frame).set_index("group")
    for column in ("observed_ratio", "diagnosis_ratio"):
        assert shown[column].isna().tolist() == [False, False, True, True]
    assert shown["estimate"].notna().all()


def test_intervals_of_hidden_ratios_are_hidden(frame):
    frame = frame.assign(observed_ci_low=0.4, diagnosis_ci_high=2.0)
    shown = suppress(frame).set_index("group")
    for column in ("observed_ci_low", "diagnosis_ci_high"):
        assert shown[column].isna().tolist() == [False, False, True, True]


def test_column_that_nobody_declared_is_not_shown(frame):
    """Whoever adds a column to the estimates has to say what it holds."""
    assert "sentence" not in suppress(frame.assign(sentence="Recorded diagnoses give 3.00."))


def test_two_small_groups_need_no_third(frame):
    frame["n_diagnosed"] = [40, 30, 6, 5]
    assert suppress(frame)["n_diagnosed"].isna().sum() == 2


def test_small_groups_whose_sum_is_small_need_a_third(frame):
    """The total less the others is the two groups' sum: with 1 and 1 it would give both away."""
    frame["n_diagnosed"] = [40, 30, 1, 1]
    assert suppress(frame)["n_diagnosed"].isna().tolist() == [False, True, True, True]


def test_zero_is_shown_and_is_no_cover_for_another_group(frame):
    frame["n_diagnosed"] = [40, 30, 0, 5]
    shown = suppress(frame)["n_diagnosed"]
    assert shown.isna().tolist() == [False, True, False, True]
    assert shown[2] == 0


def test_nothing_is_hidden_when_all_counts_are_large(frame):
    frame["n_diagnosed"] = 11
    assert suppress(frame).notna().drop(columns=["ci_low", "ci_high"]).all(axis=None)


def test_no_hidden_count_follows_from_the_table(frame):
    """With two groups the other one's row would give the hidden count away."""
    two = frame.iloc[[0, 3]].reset_index(drop=True)
    shown = suppress(two)
    assert shown["n_diagnosed"].isna().all()
    assert shown["observed_ratio"].isna().all()


def test_named_reference_with_hidden_count_hides_the_ratios(frame):
    frame = frame.iloc[:3].assign(versus="d", n_diagnosed=[40, 30, 5])
    shown = suppress(frame)
    assert shown["observed_ratio"].isna().tolist() == [False, True, True]


def test_original_table_is_not_changed(frame):
    suppress(frame)
    assert frame["n_diagnosed"].notna().all()


def test_text_table_shows_dashes_for_hidden_values(frame):
    text = render_text(suppress(frame), "Title")
    assert "everyone else" in text
    assert "–" in text
    assert " 5 " not in text


def test_interval_is_shown_when_there_is_one(frame):
    frame.loc[0, ["ci_low", "ci_high"]] = [1.2, 1.9]
    assert "1.50 (1.20 to 1.90)" in render_text(frame, "Title")


def test_markup_in_group_names_is_printed_as_it_is(frame):
    frame.loc[0, "group"] = "[bold]x[/bold]"
    assert "[bold]x[/bold]" in render_text(frame, "Title")


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
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["a vs b", "b vs a"]


def test_result_in_a_notebook_is_escaped_and_readable(frame):
    frame = frame.assign(group="<b>", ci_low=1.0, ci_high=2.0, estimate=1.5)
    html = RelativePrevalence(tuple(frame.to_dict("records")), "x")._repr_html_()
    assert "&lt;b&gt;" in html
    assert "1.50 (1.00 to 2.00)" in html
    assert "Corrected ratio" in html
    assert "everyone else" in html


def test_files_are_the_same_bytes_every_time(frame, tmp_path):
    first = write_results(frame, tmp_path / "one", {"seed": 1})
    second = write_results(frame, tmp_path / "two", {"seed": 1})
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes(), a.name
    assert {path.name for path in first} == {
        "estimates.csv",
        "forest.svg",
        "forest.png",
        "forest.pdf",
        "run.json",
    }


def test_settings_and_versions_are_written(frame, tmp_path):
    write_results(frame, tmp_path, {"seed": 7})
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["seed"] == 7
    assert {"relprev", "numpy", "numba", "python"} <= set(run["versions"])


def test_csv_keeps_numbers_in_full(frame, tmp_path):
    write_results(frame, tmp_path, {})
    back = pd.read_csv(Path(tmp_path) / "estimates.csv")
    np.testing.assert_array_equal(back["estimate"], frame["estimate"])


def test_command_line_covers_a_reference_group_with_few_diagnosed(tmp_path):
    """The others' recorded ratios against it would give its count away."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [2000, 1500, 500])
    x = rng.random((4000, 5)) < 0.3
    diagnosed = (rng.random(4000) < 0.3 * x[:, 0]).astype(int)
    diagnosed[np.flatnonzero((group == "c") & (diagnosed == 1))[6:]] = 0
    table = pd.DataFrame(x.astype(int), columns=[f"dx_{j}" for j in range(5)])
    table.assign(s=diagnosed, g=group).to_csv(tmp_path / "visits.csv", index=False)
    done = CliRunner().invoke(app, [
        "estimate", str(tmp_path / "visits.csv"), "--diagnosed", "s", "--group", "g", "--features",
        "dx_*", "--versus", "c", "--lambda", "0.001", "--quiet", "--out", str(tmp_path / "out"),
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    written = pd.read_csv(tmp_path / "out" / "estimates.csv")
    assert written["estimate"].notna().all()
    assert written["observed_ratio"].isna().all()
