"""The pages of real data with a known truth show the stored results, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from evidence import truth

from relprev.checks import bias_analysis
from relprev.checks.registry import CHECKS
from relprev.experiments.truth import summary
from relprev.experiments.truth.plan import nhanes_plan
from relprev.experiments.truth.species import species_plan
from relprev.study.file.template import SIGNS


def cell(estimate: float, **more) -> dict:
    verdicts = {f"check_{kind}": "cannot tell" for kind in CHECKS}
    return {
        "truth": 2.0, "truth_low": 1.8, "truth_high": 2.2, "truth_se": 0.05,
        "degrees_of_freedom": 90, "recorded": 1.5, "debiased": estimate,
        "debiased_low": estimate / 1.1, "debiased_high": estimate * 1.1, "calibrated": estimate,
        "calibrated_low": estimate / 1.3, "calibrated_high": estimate * 1.3, "purple": 2.2,
        "negative": 1.5, "elkan-noto": 1.7, "sar-em-group": 2.0, "alpha": 1.1,
        "gamma_group": 2.0, "gamma_versus": float("nan"), "verdict": "cannot tell", "notes": "",
        "seconds": 6.0, "group": "A", "versus": "B", "likeness": "alike", "anyway": estimate,
        "anyway_low": estimate / 1.3, "anyway_high": estimate * 1.3,
    } | verdicts | more  # fmt: skip


def written(folder: Path, name: str, rows: list[dict]) -> Path:
    (folder / "run").mkdir()
    pd.DataFrame(rows).to_parquet(folder / "run" / "results.parquet")
    assert truth.add(name, folder / "run", folder / "kept") == len(rows)
    return folder / "kept"


def of_plan() -> list[dict]:
    names = ("condition", "recording", "features", "contrast")
    rows = []
    for number, one in enumerate(nhanes_plan().cells()):
        place = {name: getattr(one, name) for name in names}
        if one.condition == "copd":
            rows.append(place | {"notes": "not in the data: airflow", "seconds": None})
        else:
            rows.append(place | cell(1.0 + number % 5 / 2))
    return rows


def test_page_of_people_shows_every_cell(tmp_path):
    kept = written(tmp_path, "nhanes", of_plan())
    page = truth.text("nhanes", kept)
    assert "{{" not in page
    assert "Not complete" not in page
    assert len(re.findall(r"\| A vs B \|", page)) == 238 - 28
    assert "| not in the data: airflow | 28 | copd |" in page


def test_page_says_what_was_not_run(tmp_path):
    kept = written(tmp_path, "nhanes", of_plan()[:100])
    assert "**Not complete.** 138 cells of the plan have not been run yet" in truth.text(
        "nhanes", kept
    )


def test_page_of_species_shows_every_cell(tmp_path):
    places = [{"region": region, "parts": parts, "species": f"s{k}"} for k in range(3)
              for region in species_plan().regions for parts in species_plan().parts]  # fmt: skip
    kept = written(tmp_path, "species", [place | cell(1.8) for place in places])
    page = truth.text("species", kept)
    assert "{{" not in page
    assert len(re.findall(r"\| A vs B \|", page)) == len(places)
    assert "New Zealand" in page


def test_files_are_written_with_their_figures(tmp_path):
    kept = written(tmp_path, "nhanes", of_plan())
    paths = truth.write(kept, tmp_path / "docs")
    assert [path.name for path in paths] == ["truth.md", "nhanes.svg", "species.md"]
    assert "Not run yet" in (tmp_path / "docs" / "species.md").read_text(encoding="utf-8")
    again = (tmp_path / "docs" / "figures" / "nhanes.svg").read_bytes()
    truth.write(kept, tmp_path / "docs")
    assert (tmp_path / "docs" / "figures" / "nhanes.svg").read_bytes() == again


def test_an_unknown_run_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="there is no run 'gauss' with a known truth"):
        truth.add("gauss", tmp_path)


def test_defaults_of_the_bias_analysis_are_the_spreads_that_were_measured():
    """Alpha ranged over a factor of 1.5 either way, where 1.7 had been measured."""
    rows = summary.compared(truth.load("nhanes"))
    assert bias_analysis.ALPHA[1] == pytest.approx(summary.spread(rows, "alpha")["size"], rel=0.05)
    allowed = np.sqrt(2) * np.log(bias_analysis.GAMMA) / 3  # SD of e_g - e_v
    assert allowed == pytest.approx(summary.spread(rows, "left")["size"], rel=0.1)


def test_no_cell_would_be_free_by_another_verdict_of_the_controls():
    """What the page says of it: every cell is left open by at least two other checks."""
    rows = summary.compared(truth.load("nhanes"))
    others = [f"check_{kind}" for kind in summary.ASSUMPTIONS if f"check_{kind}" in rows]
    left_open = (rows[others] != "no concern").sum(axis=1)
    assert f"at least {left_open.min()}\nother checks" in truth.text("nhanes")
    assert left_open.min() >= 2


def test_the_example_of_signs_and_causes_is_a_stored_cell():
    """In the docs and in every study file that `relprev init` writes."""
    every = truth.load("nhanes").set_index(["condition", "contrast", "recording", "features"])
    risk, signs = (every.loc[("diabetes", "black-white", "loose", name)]
                   for name in ("risk", "findings"))  # fmt: skip
    assert f"truth {risk['truth']:.2f}." in SIGNS
    assert f"features {risk['debiased']:.2f}, with" in SIGNS
    assert f"shows it {signs['debiased']:.2f}." in SIGNS
    page = (truth.DOCS.parent / "choosing-groups-and-codes.md").read_text(encoding="utf-8")
    words = " ".join(page.split())
    assert f"have it {risk['truth']:.2f} times as often" in words
    assert f"the ratio is {risk['recorded']:.2f}. Corrected" in words
    for row in (risk, signs):
        ends = f"({row['debiased_low']:.2f} to {row['debiased_high']:.2f})"
        assert f"{row['debiased']:.2f} {ends}" in words


@pytest.mark.parametrize("name", truth.PAGES)
def test_stored_pages_are_what_the_command_writes(name):
    page = truth.DOCS / f"{truth.PAGES[name]}.md"
    assert page.read_text(encoding="utf-8") == truth.text(name)
    if (truth.FOLDER / name).is_dir():
        assert (truth.DOCS / "figures" / f"{name}.svg").stat().st_size > 1000
