"""The files: complete, the same every time, and without small counts."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.report import write_report, write_results
from tests.report.conftest import LONG
from tests.report.pages import texts
from tests.report.studies import study


def test_all_files_are_there(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "report.html", "estimates.csv", "estimates.parquet", "checks.csv", "attrition.csv",
        "symptoms.csv", "methods.txt", "manifest.json", "figures", "tables",
    }  # fmt: skip
    figures = {path.stem for path in (folder / "figures").iterdir()}
    for stem in figures:
        assert all((folder / "figures" / f"{stem}.{kind}").stat().st_size > 500
                   for kind in ("svg", "pdf", "png"))  # fmt: skip
    assert {"forest-race", "check-race-calibration", "sensitivity-race-1", "symptoms-race"} <= (
        figures
    )
    tables = {path.stem for path in (folder / "tables").iterdir()}
    assert {"estimates-race", "decomposition-race", "attrition-race"} <= tables
    assert {path.suffix for path in (folder / "tables").iterdir()} == {".html", ".tex", ".csv"}


def test_same_report_gives_the_same_bytes(awkward, tmp_path):
    report = study(replace(awkward, checks=awkward.checks[-1:]))
    first, second = (write_report(report, tmp_path / name) for name in ("one", "two"))
    assert len(first) > 20
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name


def test_csv_and_parquet_hold_the_same_estimates_in_full(folder, race):
    table = pd.read_csv(folder / "estimates.csv")
    parquet = pd.read_parquet(folder / "estimates.parquet")
    assert list(table) == list(parquet)
    part = table[(table["variable"] == "race") & (table["method"] == "DebiasedPURPLE")]
    expected = race.estimates["DebiasedPURPLE"]
    np.testing.assert_array_equal(part["estimate"], expected["estimate"])
    np.testing.assert_array_equal(parquet["estimate"], table["estimate"])


def test_checks_file_names_every_check_with_its_verdict(folder, report):
    table = pd.read_csv(folder / "checks.csv")
    assert len(table) == sum(len(found.checks) for found in report.variables)
    assert set(table["verdict"]) <= {"concern", "no concern", "cannot tell"}
    assert "concern" in set(table["verdict"])


def test_manifest_is_the_reports(folder, report):
    assert json.loads((folder / "manifest.json").read_text()) == report.manifest


def test_nothing_is_written_if_the_page_cannot_be_made(race, tmp_path):
    broken = replace(race, symptoms=pd.DataFrame({"feature": ["S00"], "weight": ["heavy"]}))
    with pytest.raises(ValueError, match="heavy"):
        write_report(study(broken), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_hidden_numbers_stand_in_no_file(findings_of_four, report, folder):
    """Neither in full nor as they would be read."""
    secrets, known = set(), set()
    for before, after in zip(findings_of_four.variables, report.variables, strict=True):
        pairs = [(before.estimates[name], after.estimates[name]) for name in before.estimates]
        pairs += [(one.table, two.table) for one, two in
                  zip(before.checks, after.checks, strict=True)]  # fmt: skip
        for whole, seen in pairs:
            if "feature" in whole:
                seen = seen.set_index("feature").loc[whole["feature"]]
            for column in whole.select_dtypes("float"):
                lost = whole[column].notna() & seen[column].isna().to_numpy()
                values = [value for value in whole.loc[lost, column] if value not in (0.0, 1.0)]
                secrets |= {f"{value!r}" for value in values}
                known |= {f"{value!r}" for value in seen[column].dropna()}
    secrets -= known  # another feature of as many people is shown
    secrets = {secret for secret in secrets if len(secret) > 8}  # 0.12 begins other numbers
    assert len(secrets) > 30
    for path, text in texts(folder):
        assert not any(secret in text for secret in secrets), path.name


def test_small_group_has_no_count_anywhere(folder, awkward):
    count = awkward.groups.set_index("group").loc[LONG, "n_diagnosed"]
    assert 1 <= count <= 10
    for path in folder.rglob("*.csv"):
        for row in csv.DictReader(io.StringIO(path.read_text())):
            if LONG in row.values() and "n_diagnosed" in row:
                assert row["n_diagnosed"] == "", path.name


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


def test_figures_are_written_in_the_formats_asked_for_only(single, race, tmp_path):
    """A PDF file's fonts take longer than the rest of the report."""
    assert {path.suffix for path in (single / "figures").iterdir()} == {".svg", ".png"}
    write_report(study(race), tmp_path, formats=["pdf"])
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".pdf"}
    with pytest.raises(InvalidInputError, match="formats must be of svg, png, pdf, got 'eps'"):
        write_report(study(race), tmp_path, formats=["eps"])
