from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relprev.disclosure.rendering import DIFFERENCING
from relprev.study.compare import across_runs, compare_runs
from tests.cli.commands import invoke, refused

FRAME = pd.DataFrame({
    "variable": "v", "method": "m", "group": ["a", "b"], "versus": "complement",
    "estimate": [1.0, 2.0], "ci_low": [0.8, 1.5], "ci_high": [1.25, 2.6667],
})  # fmt: skip


def write(folder, frame, level=None):
    folder.mkdir()
    frame.to_csv(folder / "estimates.csv", index=False)
    if level is not None:
        manifest = {"study": {"estimate": {"level": level}}}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_compare_keeps_contrasts_of_one_run_only(tmp_path):
    one, two = write(tmp_path / "one", FRAME), write(tmp_path / "two", FRAME.iloc[1:])
    both = compare_runs(one, two, names=["x", "y"])
    assert both[["group", "run"]].to_numpy().tolist() == [
        ["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"],
    ]  # fmt: skip
    assert both["estimate"].isna().tolist() == [False, True, False, False]
    assert both["ratio"].isna().tolist() == [True, True, True, False]
    assert "has no estimates.csv" in refused("compare", tmp_path, tmp_path / "one")
    (tmp_path / "estimates.csv").write_text("a,b\n1,2\n")
    assert "was it made by 'relprev run'" in refused("compare", tmp_path, tmp_path / "one")


def test_ratios_over_the_first_run_have_intervals_and_p_values(tmp_path):
    """Standard errors are those published or, where they are hidden, those of the intervals."""
    later = FRAME.assign(estimate=[1.5, 2.0], ci_low=[1.2, 1.5], ci_high=[1.875, 2.6667])
    folders = [write(tmp_path / "a", FRAME), write(tmp_path / "b", later)]
    row = compare_runs(*folders).query("group == 'a'").iloc[1]
    error = np.log(1.25) / 1.959964 * np.sqrt(2)
    assert row["ratio"] == pytest.approx(1.5)
    assert np.log(row["ratio_ci_high"] / 1.5) == pytest.approx(1.959964 * error, rel=1e-4)
    assert row["ratio_p_value"] == pytest.approx(2 * stats.norm.sf(np.log(1.5) / error), rel=1e-4)
    known = [write(tmp_path / name, frame.assign(std_error=0.2, degrees_of_freedom=np.inf))
             for name, frame in (("c", FRAME), ("d", later))]  # fmt: skip
    row = compare_runs(*known).query("group == 'a'").iloc[1]
    expected = 2 * stats.norm.sf(np.log(1.5) / np.hypot(0.2, 0.2))
    assert row["ratio_p_value"] == pytest.approx(expected)


def test_intervals_of_another_level_have_the_same_standard_error(tmp_path):
    narrow = FRAME.assign(ci_low=FRAME["estimate"] / 1.2, ci_high=FRAME["estimate"] * 1.2)
    nine = write(tmp_path / "nine", narrow, level=0.9)
    ends = FRAME["estimate"].to_numpy() * np.exp(np.log(1.2) / 1.644854 * 1.959964)
    wide = FRAME.assign(ci_low=FRAME["estimate"] ** 2 / ends, ci_high=ends)
    folders = [write(tmp_path / "wide", wide), nine]
    row = compare_runs(*folders).iloc[1]
    error = np.log(1.2) / 1.644854
    assert np.log(row["ratio_ci_high"]) == pytest.approx(1.959964 * error * np.sqrt(2), rel=1e-5)


def test_runs_named_by_years_have_a_test_for_trend(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k, year in enumerate((2016, 2017, 2018)):
        factor = 1.2**k
        columns = ["estimate", "ci_low", "ci_high"]
        write(tmp_path / str(year), FRAME.assign(**(FRAME[columns] * factor)))
    result = invoke("compare", "2016", "2017", "2018", "--out", "all.csv")
    assert "change per unit" in result.output.lower()
    found = pd.read_csv("all.csv")
    assert found["per_unit"].tolist() == pytest.approx([1.2] * 6)
    assert found["p_line"].min() > 0.99
    named = invoke("compare", "2016", "2018", "--name", "before", "--name", "after").output
    assert "1 (first)" in named  # in place of a dash
    assert "–" not in named
    assert "before" in named
    assert "change per unit" not in named.lower()


def test_two_years_have_one_interval(tmp_path):
    """The ratio's end was 1.49 and that of the change per unit, the same number, 1.48."""
    few = FRAME.assign(std_error=0.2, degrees_of_freedom=12.0)
    folders = [write(tmp_path / year, few) for year in ("2018", "2019")]
    table = compare_runs(*folders, names=["2018", "2019"])
    ratios, change = table.query("run == '2019'"), across_runs(table)
    assert change["per_unit_ci_high"].tolist() == pytest.approx(ratios["ratio_ci_high"].tolist())
    assert change["p_trend"].tolist() == pytest.approx(ratios["ratio_p_value"].tolist())
    assert change["p_equal"].tolist() == pytest.approx(ratios["ratio_p_value"].tolist())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["one"], "two or more results folders"),
        (["one", "two", "--name", "x"], "expected one for each of 2 folders, got 1"),
        (["one", "one"], "runs need different names"),
    ],
)
def test_impossible_comparisons_are_refused(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        write(tmp_path / name, FRAME)
    assert words in refused("compare", *arguments)


def test_compare_says_that_two_runs_ask_different_questions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # short names, so that the table's cells are not broken
    frame = pd.DataFrame({"variable": "v", "method": "m", "group": ["a"], "versus": "complement",
                          "estimate": [1.0], "ci_low": [0.5], "ci_high": [2.0]})  # fmt: skip
    for name, kind in (("burns", "neds"), ("falls", "omop")):
        (tmp_path / name).mkdir()
        frame.to_csv(tmp_path / name / "estimates.csv", index=False)
        cohort = {"condition": {"name": name, "codes": []}, "include": []}
        manifest = {"study": {"source": {"kind": kind}, "cohort": cohort}}
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
    result = invoke("compare", "burns", "falls")
    assert "everyone else" in result.stdout
    said = result.stderr
    assert "the conditions differ (burns and falls)" in said
    assert "the sources differ (neds and omop)" in said
    assert "the rules" not in said
    (tmp_path / "falls" / "manifest.json").write_text("{}")
    assert invoke("compare", "burns", "falls").stderr.strip() == f"warning: {DIFFERENCING}"
