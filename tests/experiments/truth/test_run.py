from __future__ import annotations

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.experiments import run
from relprev.experiments.truth import run as module
from tests.experiments.truth.people import extract


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return str(extract(tmp_path_factory.mktemp("nhanes")))


def test_a_run_has_a_row_per_cell_and_says_what_is_absent(data, tmp_path, monkeypatch):
    plan = module.nhanes_plan()
    wanted = {("prediabetes", "black-white"), ("herpes", "sex")}
    cells = [cell for cell in plan.cells() if (cell.condition, cell.contrast) in wanted
             and cell.recording == "strict" and cell.features == "risk"]  # fmt: skip
    monkeypatch.setattr(type(plan), "cells", lambda self: iter(cells))
    done = run("nhanes", tmp_path, data=data, jobs=1)
    results = done.results.set_index("condition")
    assert len(results) == 2
    assert results.loc["herpes", "notes"] == "not in the data: LBXHE2, SXQ260"
    row = results.loc["prediabetes"]
    assert row["recorded"] < 1 < row["truth"]
    assert row["notes"] == ""
    assert row["verdict"] in ("concern", "cannot tell", "no concern")
    assert {file.name for file in done.folder.iterdir()} >= {
        "results.csv", "results.parquet", "table.csv", "aims.csv", "figure.svg",
    }  # fmt: skip
    calls = []
    monkeypatch.setattr(module, "judged", lambda *given: calls.append(given))
    again = run("nhanes", tmp_path, data=data, jobs=1)  # a second run computes nothing
    assert calls == []
    pd.testing.assert_frame_equal(again.results, done.results)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nhanes needs data"),
        ({"data": "/nowhere/at/all"}, "there is nothing at /nowhere/at/all"),
        ({"data": ".", "seeds": 3}, "leave methods, seeds, splits and variant out"),
        ({"data": ".", "methods": ["purple"]}, "leave methods"),
        ({"data": ".", "variant": "published"}, "leave methods"),
    ],
)
def test_options_that_do_not_apply_are_refused(tmp_path, options, words):
    with pytest.raises(InvalidInputError, match=words):
        run("nhanes", tmp_path, **options)


def test_other_data_are_other_cells(data, tmp_path):
    other = extract(tmp_path, n=600, seed=2)
    marks = {module.data_digest(module.Path(path)) for path in (data, str(other))}
    place = {"condition": "x"}
    keys = {module.TruthCell("nhanes", place, mark, "p").key({}) for mark in marks}
    assert len(keys) == 2
    moved = module.TruthCell("nhanes", place, next(iter(marks)), "elsewhere").key({})
    assert moved in keys


@pytest.mark.parametrize(
    ("file", "words"), [("DEMO_H.XPT", "DEMO_H.XPT is not a readable SAS file"), ("a.txt", "XPT")]
)
def test_data_that_cannot_be_read_are_an_error_not_238_notes(tmp_path, file, words):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / file).write_bytes(b"no transport file" * 20)
    with pytest.raises(InvalidInputError, match=words):
        run("nhanes", tmp_path / "out", data=str(tmp_path / "data"), jobs=1)
    assert not (tmp_path / "out" / "nhanes" / "results.csv").exists()
