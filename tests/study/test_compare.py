from __future__ import annotations

import json

import pandas as pd

from relprev.disclosure.rendering import DIFFERENCING
from relprev.study.compare import compare_runs
from tests.cli.commands import invoke, refused


def test_compare_keeps_contrasts_of_one_run_only(tmp_path):
    frame = pd.DataFrame({"variable": "v", "method": "m", "group": ["a", "b"],
                          "versus": "complement", "estimate": [1.0, 2.0]})  # fmt: skip
    for name, part in (("one", frame), ("two", frame.iloc[1:])):
        (tmp_path / name).mkdir()
        part.to_csv(tmp_path / name / "estimates.csv", index=False)
    both = compare_runs(tmp_path / "one", tmp_path / "two")
    assert both["group"].tolist() == ["a", "b"]
    assert both["estimate_b"].isna().tolist() == [True, False]
    assert "has no estimates.csv" in refused("compare", tmp_path, tmp_path)
    (tmp_path / "estimates.csv").write_text("a,b\n1,2\n")
    assert "was it made by 'relprev run'" in refused("compare", tmp_path, tmp_path / "one")


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
