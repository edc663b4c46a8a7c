"""The page on atlases of real data is what its results say, and shows no small count."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from evidence import atlas
from evidence.readings import BOTH, BROKEN, READINGS, RECORDING
from evidence.store import FOLDER

SURVEYS = list(atlas.TITLES)


def rows(name: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / f"atlas-{name}" / "table.csv")


def test_the_page_is_what_the_command_writes() -> None:
    assert (atlas.DOCS / "atlas.md").read_text(encoding="utf-8") == atlas.text()


@pytest.mark.parametrize("name", SURVEYS)
def test_no_count_of_few_people_is_kept(name: str) -> None:
    counts = rows(name)[["n_recorded", "n_recorded_versus"]]
    assert (counts.min() > 10).all()


@pytest.mark.parametrize("name", SURVEYS)
def test_few_conditions_stand_out_from_many_that_are_significant(name: str) -> None:
    for _, own in rows(name).groupby("variable"):
        out = (own["null_q_value"] <= atlas.STANDS_OUT).sum()
        assert out < 0.05 * len(own)
        assert (own["q_value"] <= atlas.STANDS_OUT).sum() > 5 * out


@pytest.mark.parametrize("name", SURVEYS)
def test_everything_that_stands_out_has_a_reading(name: str) -> None:
    own = rows(name)
    out = own[own["null_q_value"] <= atlas.STANDS_OUT]
    keys = {(name, *key) for key in zip(out["variable"], out["condition"], strict=True)}
    assert keys <= set(READINGS)
    assert {kind for kind, _ in READINGS.values()} <= {BROKEN, BOTH, RECORDING}


def test_without_real_data_the_page_says_so(tmp_path: Path) -> None:
    (page,) = atlas.write(tmp_path, tmp_path, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.count(atlas.NOT_RUN) == len(SURVEYS)
    assert "stand out from the others" not in text


def test_the_figure_names_what_stands_out(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "atlas-nhds", tmp_path / "atlas-nhds")
    _, figure = atlas.write(tmp_path, tmp_path, tmp_path)
    drawn = figure.read_text(encoding="utf-8")
    assert "HIV infection" in drawn
    assert "Cancer of breast" in drawn


def test_the_guide_quotes_the_stored_atlas() -> None:
    own = rows("nhds").query("variable == 'race'")
    out = own[own["null_q_value"] <= atlas.STANDS_OUT].set_index("description")
    guide = " ".join((atlas.DOCS.parent / "atlas.md").read_text(encoding="utf-8").split())
    assert set(out.index) == {"HIV infection", "Sickle cell anemia"}
    assert f"two conditions of {len(own)} stand out: sickle cell anemia, and HIV" in guide
    assert f"ratio of {out.loc['HIV infection', 'robust_diagnosis_ratio']:.1f}. Nobody" in guide
    nulls = pd.read_csv(FOLDER / "atlas-nhds" / "nulls.csv").query("variable == 'race'")
    factor = float(np.exp(1.96 * nulls["spread"].iloc[0]))
    assert f"With a scatter of a factor of {factor:.1f} either way" in guide
